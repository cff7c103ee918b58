#pragma once
// TensorBoard event files: TFRecord framing around protobuf Event messages, encoded by hand for the few fields needed.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace kc {

// CRC-32C (Castagnoli), rotated and offset as the TFRecord format asks.
std::uint32_t masked_crc32c(std::string_view bytes);

// length (u64), its masked CRC (u32), bytes, their masked CRC (u32); little-endian.
std::string tfrecord(std::string_view bytes);

class EventWriter {
 public:
  // Opens a new file in `folder`. With `first_step` > 0 it tells TensorBoard to discard what older files hold from
  // that step on: an interrupted run wrote it. Error{environment} when the file cannot be written.
  EventWriter(const std::filesystem::path& folder, std::int64_t first_step);
  void write(std::int64_t step, const std::map<std::string, double>& scalars);

 private:
  void append(const std::string& event);
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace kc
