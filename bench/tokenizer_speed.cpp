// Processor time of encoding and decoding on one core; bench/tokenizer_speed.py runs it beside tiktoken.
//   tokenizer_speed VOCABULARY FILE ROUNDS      prints one line of JSON
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "tokenizer/tokenizer.h"

namespace kc {
namespace {

// Of this process: a shared machine disturbs it least.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void run(const char* vocabulary, const char* file, int rounds) {
  const std::string text = read_file(file);
  double start = processor_seconds();
  const auto tokenizer = load_tokenizer(vocabulary);
  const double load_s = processor_seconds() - start;
  double encode_s = 1e30;
  double decode_s = 1e30;
  std::vector<TokenId> ids;
  bool same = true;
  for (int round = 0; round < rounds; ++round) {
    start = processor_seconds();
    ids = tokenizer->encode(text, false);
    encode_s = std::min(encode_s, processor_seconds() - start);
    start = processor_seconds();
    const std::string back = tokenizer->decode(ids);
    decode_s = std::min(decode_s, processor_seconds() - start);
    same = same && back == text;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(TokenId));
  std::printf(
      "{\"bytes\": %zu, \"tokens\": %zu, \"load_s\": %.4f, \"encode_s\": %.6f, \"decode_s\": %.6f, "
      "\"same\": %s, \"ids_sha256\": \"%s\"}\n",
      text.size(), ids.size(), load_s, encode_s, decode_s, same ? "true" : "false", sha256_hex(bytes).c_str());
}

}  // namespace
}  // namespace kc

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tokenizer_speed VOCABULARY FILE ROUNDS\n");
    return 2;
  }
  try {
    kc::run(argv[1], argv[2], std::max(1, std::atoi(argv[3])));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
  return 0;
}
