#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/safetensors_torch.h"

namespace kc {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLongestHeader = 100'000'000;

struct DtypeName {
  const char* name;
  at::ScalarType type;
};
constexpr DtypeName kDtypes[] = {{"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16},
                                 {"I64", at::kLong},   {"I32", at::kInt},   {"U8", at::kByte},  {"BOOL", at::kBool}};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& problem) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: {}", file.string(), problem));
}

struct Entry {
  std::string name;
  at::ScalarType type;
  std::vector<std::int64_t> shape;
  std::uint64_t from, to;
};

at::ScalarType dtype_of(const std::filesystem::path& file, const std::string& tensor, const std::string& name) {
  for (const DtypeName& d : kDtypes)
    if (name == d.name) return d.type;
  fail(file, fmt::format("tensor \"{}\": dtype \"{}\" is not known", tensor, name));
}

Entry parse_entry(const std::filesystem::path& file, const std::string& name, const json& value) {
  Entry e;
  e.name = name;
  try {
    e.type = dtype_of(file, name, value.at("dtype").get<std::string>());
    e.shape = value.at("shape").get<std::vector<std::int64_t>>();
    const auto offsets = value.at("data_offsets").get<std::vector<std::uint64_t>>();
    if (offsets.size() != 2) fail(file, fmt::format("tensor \"{}\": data_offsets must be two numbers", name));
    e.from = offsets[0];
    e.to = offsets[1];
  } catch (const json::exception&) {
    fail(file, fmt::format("tensor \"{}\": its header entry needs dtype, shape and data_offsets", name));
  }
  std::uint64_t bytes = at::elementSize(e.type);
  for (const std::int64_t size : e.shape) {
    if (size < 0 || (size > 0 && bytes > (std::uint64_t{1} << 48) / static_cast<std::uint64_t>(size)))
      fail(file, fmt::format("tensor \"{}\": impossible shape", name));
    bytes *= static_cast<std::uint64_t>(size);
  }
  if (e.to < e.from || e.to - e.from != bytes)
    fail(file, fmt::format("tensor \"{}\": its offsets span {} bytes, its shape and dtype need {}", name, e.to - e.from,
                           bytes));
  return e;
}

void check_layout(const std::filesystem::path& file, std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.from < b.from; });
  std::uint64_t end = 0;
  for (const Entry& e : entries) {
    if (e.to > data_bytes)
      fail(file, fmt::format("tensor \"{}\" ends at byte {} of the data, which has {}: the file is truncated", e.name,
                             e.to, data_bytes));
    if (e.from < end) fail(file, fmt::format("tensor \"{}\" overlaps the one before it", e.name));
    if (e.from > end) fail(file, fmt::format("{} unused bytes before tensor \"{}\"", e.from - end, e.name));
    end = e.to;
  }
  if (end != data_bytes) fail(file, fmt::format("{} bytes after the last tensor", data_bytes - end));
}

std::vector<Entry> read_header(const std::filesystem::path& file, std::ifstream& in, std::uint64_t size) {
  std::uint64_t length = 0;
  if (size < 8 || !in.read(reinterpret_cast<char*>(&length), 8)) fail(file, "shorter than a safetensors header");
  if (length > kLongestHeader || length > size - 8)
    fail(file,
         fmt::format("the header claims {} bytes, but the file has {}: truncated or not safetensors", length, size));
  std::string text(length, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(length))) fail(file, "cannot read the header");
  const json header = json::parse(text, nullptr, false);
  if (!header.is_object()) fail(file, "the header is not a JSON object");
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items())
    if (name != "__metadata__") entries.push_back(parse_entry(file, name, value));
  check_layout(file, entries, size - 8 - length);
  return entries;
}

std::string dtype_name(at::ScalarType type) {
  for (const DtypeName& d : kDtypes)
    if (type == d.type) return d.name;
  throw Error(ErrorKind::internal, "write_safetensors: a tensor's type has no name in the format");
}

}  // namespace

std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(file, error);
  if (!in || error) fail(file, "cannot be opened");
  std::map<std::string, at::Tensor> tensors;
  for (const Entry& e : read_header(file, in, size)) {  // in the order of the data
    at::Tensor t = at::empty(e.shape, at::TensorOptions().dtype(e.type));
    if (e.to > e.from &&
        !in.read(static_cast<char*>(t.mutable_data_ptr()), static_cast<std::streamsize>(e.to - e.from)))
      fail(file, fmt::format("tensor \"{}\": cannot read its data", e.name));
    tensors[e.name] = t;
  }
  return tensors;
}

void write_safetensors(const std::filesystem::path& file, const std::map<std::string, at::Tensor>& tensors) {
  json header = {{"__metadata__", {{"format", "pt"}}}};
  std::uint64_t end = 0;
  for (const auto& [name, t] : tensors) {
    const std::uint64_t bytes = t.nbytes();
    header[name] = {
        {"dtype", dtype_name(t.scalar_type())}, {"shape", t.sizes().vec()}, {"data_offsets", {end, end + bytes}}};
    end += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // data aligned to 8 bytes
  const std::uint64_t length = text.size();
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(&length), 8);
  out.write(text.data(), static_cast<std::streamsize>(length));
  for (const auto& [name, t] : tensors) {
    const at::Tensor data = t.detach().cpu().contiguous();
    out.write(static_cast<const char*>(data.const_data_ptr()), static_cast<std::streamsize>(data.nbytes()));
  }
  out.flush();
  if (!out) throw Error(ErrorKind::environment, fmt::format("{}: cannot write; is the disk full?", file.string()));
}

}  // namespace kc
