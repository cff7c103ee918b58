#pragma once
// HDF5 files as named columns, built and read in memory: what reaches the disk is one atomic write, and no lock of the
// HDF5 library stands in the way of a reader. A column is a one-dimensional dataset; PATH below is "table/column".
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kc {

// Every failure is Error{internal}, except bad text in `names`.
class Hdf5Writer {
 public:
  Hdf5Writer();
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void group(const std::string& path);
  // Attributes of the group or dataset at `object` ("/" is the file).
  void attribute(const std::string& object, const std::string& name, std::int64_t value);
  void attribute(const std::string& object, const std::string& name, const std::string& value);

  // T: float, double, std::uint8_t, std::uint32_t, std::uint64_t, std::int64_t. Shuffled, compressed, checksummed.
  template <class T>
  void column(const std::string& path, const std::vector<T>& values);
  // Short strings: fixed-length, NUL-padded UTF-8. Error{bad_data} for a NUL inside.
  void names(const std::string& path, const std::vector<std::string>& values);
  // Long strings of any bytes: PATH_bytes (all, joined) and PATH_offsets (count + 1 byte positions).
  void texts(const std::string& path, const std::vector<std::string>& values);

  // The file's bytes; the writer is spent.
  std::string finish();

 private:
  void dataset(const std::string& path, std::int64_t type, const void* data, std::size_t count);
  std::int64_t file_;
};

// Every failure is Error{bad_data} that names the file and the column.
class Hdf5Reader {
 public:
  // `name` stands for the bytes in messages.
  Hdf5Reader(std::string bytes, std::filesystem::path name);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  bool has(const std::string& path) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::int64_t integer_attribute(const std::string& object, const std::string& name) const;
  std::string text_attribute(const std::string& object, const std::string& name) const;

  template <class T>
  std::vector<T> column(const std::string& path) const;
  std::vector<std::string> names(const std::string& path) const;
  std::vector<std::string> texts(const std::string& path) const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::int64_t open_dataset(const std::string& path, std::size_t& count) const;
  std::string bytes_;
  std::filesystem::path name_;
  std::int64_t file_;
};

// Throws Error{bad_data} through `reader` unless `offsets` are count + 1 rising positions from 0 to `end`.
void check_offsets(const Hdf5Reader& reader, const std::string& path, const std::vector<std::uint64_t>& offsets,
                   std::size_t end);

}  // namespace kc
