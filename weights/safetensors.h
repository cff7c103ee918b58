#pragma once
// The safetensors container: u64 little-endian header length n, n bytes of JSON {name: {dtype, shape, data_offsets}},
// raw row-major data. Without a tensor library: bytes in place for reading, a stream of bytes for writing.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "weights/mapped_file.h"

namespace kc {

enum class Dtype { f64, f32, f16, bf16, i64, i32, u8, boolean };

std::int64_t size_of(Dtype dtype);      // bytes of one element
std::string_view name_of(Dtype dtype);  // "BF16", as the container writes it
std::optional<Dtype> dtype_named(std::string_view name);

struct TensorHeader {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;

  std::int64_t elements() const;  // 1 for a scalar
  std::int64_t bytes() const;
};
std::string shape_text(const std::vector<std::int64_t>& shape);  // "[32, 2880]"

struct TensorEntry {
  TensorHeader spec;
  std::uint64_t from = 0, to = 0;  // bytes of the file's data part
};

class SafetensorsFile {
 public:
  // Maps the file and checks its header. Error{bad_data} names file and, where one is to blame, tensor: truncated file,
  // header longer than the file or than 100 MB, a name given twice, unknown dtype, offsets that overlap, leave gaps,
  // leave the file or do not fit shape and dtype.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const MappedFile& mapped() const { return file_; }
  const std::vector<TensorEntry>& tensors() const { return tensors_; }  // in the order of the data
  std::span<const std::byte> data(const TensorEntry& entry) const;

 private:
  MappedFile file_;
  std::size_t data_start_ = 0;
  std::vector<TensorEntry> tensors_;
};

// Writes one file: the header at once, then the tensors' bytes in the given order, in pieces of any size. Equal tensors
// give equal bytes. Not atomic: write into an AtomicFolder. Error{environment} names the file when the disk is full.
class SafetensorsWriter {
 public:
  SafetensorsWriter(std::filesystem::path path, const std::vector<TensorHeader>& tensors);
  void write(std::span<const std::byte> bytes);
  std::string finish();  // the file's SHA-256; Error{internal} when bytes are missing

 private:
  std::filesystem::path path_;
  std::ofstream out_;
  Sha256 hash_;
  std::int64_t left_ = 0;
};

}  // namespace kc
