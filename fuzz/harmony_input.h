#pragma once
// What the fuzzer does with one input, and what the test does with every input of the corpus. Torch-free.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kc {

// One byte of settings, then a token a byte: below 0xA0 the byte itself, from 0xA0 words of headers and of the tool's
// arguments, Harmony's special tokens among them; the escape 0xFF stands for the next byte as it is.
//
// The settings choose what is done with the tokens: reading them as an answer in the `tool` wire, parsing them at once
// and one at a time, or reading their text as an answer in `tool` or `compact`. Whatever comes out must hold together
// (both parses alike; a forecast's probabilities sum to 1, its bin exists, it has a rationale): otherwise the program
// aborts and says what was wrong.
void check_harmony_input(std::span<const std::uint8_t> input);

// The input whose tokens spell `text`, longest words first: how the corpus is made.
std::string harmony_input(std::string_view text, std::uint8_t settings);

}  // namespace kc
