#pragma once
// What a candidate's text must not contain, told in words before it is compiled. This is a courtesy: what keeps a
// source from doing harm is the compile worker's isolation and the contract (device code that we launch).
#include <optional>
#include <string_view>

#include "cuda/contract.h"
#include "cuda/cubin.h"

namespace kc {

// The first thing that the contract does not allow: a file outside the toolkit (absolute, "..", computed), host code
// (main, <<< >>>, calls of the CUDA runtime or driver, PyTorch), device printf.
std::optional<Refusal> check_source(std::string_view device_source);

// The same for a host part, by the lines of the whole source: headers by a path or of CUDA, loading a library. What
// keeps host code from harm is its process's isolation.
std::optional<Refusal> check_host_source(const CudaContract& contract);

// The same for what was compiled: a kernel of the launches is missing, writable __device__ variables keep results
// between launches, a function of the driver (vprintf, malloc, free, assertions) is called.
std::optional<Refusal> check_binary(const CudaContract& contract, const CubinFacts& facts);

// Comments and the contents of string literals blanked, continued lines joined at the position of the first: as many
// lines as before.
std::string code_only(std::string_view source);

// The same with every character at its place in `source`: a continued line is joined by blanks.
std::string code_in_place(std::string_view source);

// The line on which a comment or a literal begins that the source ends in, where there is one.
std::optional<int> endless_line(std::string_view source);

}  // namespace kc
