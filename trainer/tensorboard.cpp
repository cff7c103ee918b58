#include "trainer/tensorboard.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>

#include "base/error.h"

namespace kc {
namespace {

// Field numbers of tensorboard's event.proto and summary.proto.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kSummaryValue = 1, kTag = 1, kSimpleValue = 2, kSessionStatus = 1;
constexpr std::uint64_t kSessionStart = 1;
enum WireType { varint_type = 0, fixed64_type = 1, bytes_type = 2, fixed32_type = 5 };

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0U);
    table[byte] = value;
  }
  return table;
}

template <class Integer>
void put_little_endian(std::string& out, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, int field, WireType type) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_key(out, field, bytes_type);
  put_varint(out, bytes.size());
  out += bytes;
}

std::string event_head(std::int64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  put_key(event, kWallTime, fixed64_type);
  put_little_endian(event, std::bit_cast<std::uint64_t>(std::chrono::duration<double>(now).count()));
  put_key(event, kStep, varint_type);
  put_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

std::string scalar_value(const std::string& tag, double value) {
  std::string message;
  put_bytes(message, kTag, tag);
  put_key(message, kSimpleValue, fixed32_type);
  put_little_endian(message, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  return message;
}

// TensorBoard reads the files of a folder in the order of their names.
std::filesystem::path free_event_path(const std::filesystem::path& folder) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  for (int number = 0;; ++number) {
    const auto path = folder / fmt::format("events.out.tfevents.{:010}.kernelcast.{}", seconds, number);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = make_crc_table();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

std::string tfrecord(std::string_view bytes) {
  std::string length;
  put_little_endian(length, std::uint64_t{bytes.size()});
  std::string record = length;
  put_little_endian(record, masked_crc32c(length));
  record += bytes;
  put_little_endian(record, masked_crc32c(bytes));
  return record;
}

EventWriter::EventWriter(const std::filesystem::path& folder, std::int64_t first_step) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  path_ = free_event_path(folder);
  file_.open(path_, std::ios::binary | std::ios::trunc);
  std::string version = event_head(0);
  put_bytes(version, kFileVersion, "brain.Event:2");
  append(version);
  if (first_step <= 0) return;
  std::string status;
  put_key(status, kSessionStatus, varint_type);
  put_varint(status, kSessionStart);
  std::string restart = event_head(first_step);
  put_bytes(restart, kSessionLog, status);
  append(restart);
}

void EventWriter::write(std::int64_t step, const std::map<std::string, double>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) put_bytes(summary, kSummaryValue, scalar_value(tag, value));
  std::string event = event_head(step);
  put_bytes(event, kSummary, summary);
  append(event);
}

void EventWriter::append(const std::string& event) {
  const std::string record = tfrecord(event);
  file_.write(record.data(), static_cast<std::streamsize>(record.size()));
  file_.flush();
  if (!file_) throw Error(ErrorKind::environment, fmt::format("cannot write {}; check free space", path_.string()));
}

}  // namespace kc
