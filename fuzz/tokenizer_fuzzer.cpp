// libFuzzer's entry: any bytes as text, as ids and as vocabulary files. Aborts when text does not come back, when a
// stream differs from the whole, or when a reader does anything but return or throw Error{bad_data}.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace kc {
namespace {

const Tokenizer& tokenizer() {
  static const auto loaded = load_tokenizer(KC_SOURCE_DIR "/tests/golden/tokenizer/tiny.tiktoken");
  return *loaded;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void check_stream(const std::vector<TokenId>& ids) {
  StreamDecoder decoder(tokenizer());
  std::string together;
  for (const TokenId id : ids) together += decoder.push(id);
  require(together + decoder.finish() == tokenizer().decode(ids));
}

void check_text(const std::string& text) {
  for (const bool allow : {false, true}) {
    const std::vector<TokenId> ids = tokenizer().encode(text, allow);
    const bool second_name = allow && text.find("<|reserved_681|>") != std::string::npos;  // comes back as the first
    require(second_name || tokenizer().decode(ids) == text);
    check_stream(ids);
  }
}

void check_ids(const std::string& bytes) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
    ids.push_back(static_cast<unsigned char>(bytes[i]) % 4 << 8 | static_cast<unsigned char>(bytes[i + 1]));
  check_stream(ids);
}

void check_reader(ByteVocabulary (*read)(const std::string&), const std::string& bytes) {
  try {
    make_byte_pair_tokenizer(read(bytes), "fuzz")->encode("for (int i = 0; i < n; ++i)", true);
  } catch (const Error& e) {
    require(e.kind() == ErrorKind::bad_data);
  }
}

}  // namespace
}  // namespace kc

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      kc::check_text(bytes);
      break;
    case 1:
      kc::check_ids(bytes);
      break;
    case 2:
      kc::check_reader([](const std::string& text) { return kc::parse_tiktoken(text, "fuzz"); }, bytes);
      break;
    default:
      kc::check_reader([](const std::string& text) { return kc::parse_tokenizer_json(text, "fuzz"); }, bytes);
  }
  return 0;
}
