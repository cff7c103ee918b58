#include "weights/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace kc {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLongestHeader = 100'000'000;

struct DtypeInfo {
  std::string_view name;
  Dtype dtype;
  std::int64_t size;
};
constexpr std::array<DtypeInfo, 8> kDtypes = {{{"F64", Dtype::f64, 8},
                                               {"F32", Dtype::f32, 4},
                                               {"F16", Dtype::f16, 2},
                                               {"BF16", Dtype::bf16, 2},
                                               {"I64", Dtype::i64, 8},
                                               {"I32", Dtype::i32, 4},
                                               {"U8", Dtype::u8, 1},
                                               {"BOOL", Dtype::boolean, 1}}};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& problem) {
  throw Error(ErrorKind::bad_data, printable(fmt::format("{}: {}", file.string(), problem)));
}

// The byte count of a shape; fails on what no file can hold.
std::uint64_t checked_bytes(const std::filesystem::path& file, const TensorHeader& spec) {
  auto bytes = static_cast<std::uint64_t>(size_of(spec.dtype));
  for (const std::int64_t size : spec.shape) {
    if (size > 0 && bytes > (std::uint64_t{1} << 48) / static_cast<std::uint64_t>(size))
      fail(file, fmt::format("tensor \"{}\": impossible shape {}", spec.name, shape_text(spec.shape)));
    bytes *= static_cast<std::uint64_t>(size);
  }
  return bytes;
}

// A JSON list of whole numbers from 0 on; the library would wrap negative ones and cut fractions.
bool is_list_of_sizes(const json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const json& v) {
           return v.is_number_unsigned() && v.get<std::uint64_t>() < std::uint64_t{1} << 63;
         });
}

TensorEntry parse_entry(const std::filesystem::path& file, const std::string& name, const json& value) {
  TensorEntry e;
  e.spec.name = name;
  const bool complete = value.is_object() && value.contains("dtype") && value["dtype"].is_string() &&
                        value.contains("shape") && value.contains("data_offsets");
  if (!complete) fail(file, fmt::format("tensor \"{}\": its header entry needs dtype, shape and data_offsets", name));
  const json &shape = value["shape"], &offsets = value["data_offsets"];
  if (!is_list_of_sizes(shape)) fail(file, fmt::format("tensor \"{}\": impossible shape {}", name, shown(shape)));
  if (!is_list_of_sizes(offsets) || offsets.size() != 2)
    fail(file, fmt::format("tensor \"{}\": data_offsets must be two whole numbers from 0 on, found {}", name,
                           shown(offsets)));
  e.spec.shape = shape.get<std::vector<std::int64_t>>();
  e.from = offsets[0];
  e.to = offsets[1];
  const auto dtype = value["dtype"].get<std::string>();
  const std::optional<Dtype> known = dtype_named(dtype);
  if (!known) fail(file, fmt::format("tensor \"{}\": dtype \"{}\" is not known", name, dtype));
  e.spec.dtype = *known;
  const std::uint64_t bytes = checked_bytes(file, e.spec);
  if (e.to < e.from || e.to - e.from != bytes)
    fail(file, fmt::format("tensor \"{}\": its offsets [{}, {}] do not span the bytes that its shape and dtype need {}",
                           name, e.from, e.to, bytes));
  return e;
}

void check_layout(const std::filesystem::path& file, std::vector<TensorEntry>& entries, std::uint64_t data_bytes) {
  // Empty tensors share their offset with the next one.
  std::sort(entries.begin(), entries.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  std::uint64_t end = 0;
  for (const TensorEntry& e : entries) {
    if (e.to > data_bytes)
      fail(file, fmt::format("tensor \"{}\" ends at byte {} of the data, which has {}: the file is truncated",
                             e.spec.name, e.to, data_bytes));
    if (e.from < end) fail(file, fmt::format("tensor \"{}\" overlaps the one before it", e.spec.name));
    if (e.from > end) fail(file, fmt::format("{} unused bytes before tensor \"{}\"", e.from - end, e.spec.name));
    end = e.to;
  }
  if (end != data_bytes) fail(file, fmt::format("{} bytes after the last tensor", data_bytes - end));
}

std::string header_text(const std::vector<TensorHeader>& tensors) {
  json header = {{"__metadata__", {{"format", "pt"}}}};
  std::int64_t end = 0;
  for (const TensorHeader& t : tensors) {
    header[t.name] = {{"dtype", name_of(t.dtype)}, {"shape", t.shape}, {"data_offsets", {end, end + t.bytes()}}};
    end += t.bytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // data aligned to 8 bytes
  return text;
}

}  // namespace

std::int64_t size_of(Dtype dtype) {
  for (const DtypeInfo& d : kDtypes)
    if (d.dtype == dtype) return d.size;
  throw Error(ErrorKind::internal, "size_of: no such dtype");
}

std::string_view name_of(Dtype dtype) {
  for (const DtypeInfo& d : kDtypes)
    if (d.dtype == dtype) return d.name;
  throw Error(ErrorKind::internal, "name_of: no such dtype");
}

std::optional<Dtype> dtype_named(std::string_view name) {
  for (const DtypeInfo& d : kDtypes)
    if (d.name == name) return d.dtype;
  return std::nullopt;
}

std::int64_t TensorHeader::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::int64_t TensorHeader::bytes() const { return elements() * size_of(dtype); }

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  const std::span<const std::byte> bytes = file_.bytes();
  std::uint64_t length = 0;
  if (bytes.size() < 8) fail(path, "shorter than a safetensors header: truncated or not safetensors");
  std::memcpy(&length, bytes.data(), 8);
  if (length > kLongestHeader || length > bytes.size() - 8)
    fail(path, fmt::format("the header claims {} bytes, but the file has {} (and at most {} are allowed): truncated or "
                           "not safetensors",
                           length, bytes.size(), kLongestHeader));
  data_start_ = 8 + static_cast<std::size_t>(length);
  const json header = parse_json({reinterpret_cast<const char*>(bytes.data()) + 8, static_cast<std::size_t>(length)},
                                 path.string() + ": header");
  if (!header.is_object()) fail(path, "the header is not a JSON object");
  for (const auto& [name, value] : header.items())
    if (name != "__metadata__") tensors_.push_back(parse_entry(path, name, value));
  check_layout(path, tensors_, bytes.size() - data_start_);
}

std::span<const std::byte> SafetensorsFile::data(const TensorEntry& entry) const {
  return file_.bytes().subspan(data_start_ + entry.from, entry.to - entry.from);
}

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, const std::vector<TensorHeader>& tensors)
    : path_(std::move(path)), out_(path_, std::ios::binary | std::ios::trunc) {
  const std::string header = header_text(tensors);
  const std::uint64_t length = header.size();
  left_ = 8 + static_cast<std::int64_t>(length);
  for (const TensorHeader& t : tensors) left_ += t.bytes();
  write(std::as_bytes(std::span(&length, 1)));
  write(std::as_bytes(std::span(header)));
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out_) throw Error(ErrorKind::environment, fmt::format("{}: cannot write; is the disk full?", path_.string()));
  hash_.update(text);
  left_ -= static_cast<std::int64_t>(bytes.size());
}

std::string SafetensorsWriter::finish() {
  if (left_ != 0)
    throw Error(ErrorKind::internal,
                fmt::format("{}: {} bytes of its tensors were not written", path_.string(), left_));
  out_.close();
  if (!out_) throw Error(ErrorKind::environment, fmt::format("{}: cannot write; is the disk full?", path_.string()));
  return hash_.hex();
}

}  // namespace kc
