#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <hdf5.h>

#include "base/error.h"
#include "dataset/hdf5_file.h"
#include "dataset/hdf5_handle.h"

namespace kc {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";

// The core driver refuses the name of a file that exists, where nothing can exist below this one, and takes two open
// files of one name for the same.
std::string image_name() {
  static std::atomic<unsigned> count{0};
  return fmt::format("/dev/null/store{}", count++);
}

constexpr std::size_t kMemoryStep = 1 << 20;
constexpr std::size_t kMaxColumn = std::size_t{1} << 32;  // elements: more only stands in a damaged header

template <class T>
hid_t native_type() {
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
  if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
  if constexpr (std::is_same_v<T, std::uint32_t>) return H5T_NATIVE_UINT32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
}

std::string unpadded(const char* text, std::size_t width) {
  return std::string(text, std::find(text, text + width, '\0'));
}

}  // namespace

Hdf5Reader::Hdf5Reader(std::string bytes, std::filesystem::path name)
    : bytes_(std::move(bytes)), name_(std::move(name)), file_(-1) {
  if (!bytes_.starts_with(kSignature)) {
    fail("it is not an HDF5 file; give a file written by `measure label` or `dataset import`");
  }
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.get(), kMemoryStep, false);
  H5Pset_file_image(access.get(), bytes_.data(), bytes_.size());
  file_ = H5Fopen(image_name().c_str(), H5F_ACC_RDONLY, access.get());
  if (file_ < 0) fail("it is truncated or damaged; take it from a backup or make it again");
}

Hdf5Reader::~Hdf5Reader() {
  if (file_ >= 0) H5Fclose(file_);
}

void Hdf5Reader::fail(const std::string& what) const {
  throw Error(ErrorKind::bad_data, "cannot read " + name_.string() + ": " + what);
}

// H5Lexists answers for the last part of a path only, and fails when an earlier part is missing.
bool Hdf5Reader::has(const std::string& path) const {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    if (H5Lexists(file_, path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return H5Lexists(file_, path.c_str(), H5P_DEFAULT) > 0;
}

bool Hdf5Reader::has_attribute(const std::string& object, const std::string& name) const {
  return (object == "/" || has(object)) && H5Aexists_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

std::int64_t Hdf5Reader::integer_attribute(const std::string& object, const std::string& name) const {
  const Hdf5Handle attribute(H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  std::int64_t value = 0;
  if (!attribute.valid() || H5Aread(attribute.get(), H5T_NATIVE_INT64, &value) < 0) {
    fail(fmt::format("attribute {} of {} is missing or no integer", name, object));
  }
  return value;
}

std::string Hdf5Reader::text_attribute(const std::string& object, const std::string& name) const {
  const auto refuse = [&] { fail(fmt::format("attribute {} of {} is missing or no fixed-length text", name, object)); };
  const Hdf5Handle attribute(H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) refuse();
  const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0) refuse();
  const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) refuse();
  std::string text(H5Tget_size(type.get()), '\0');
  if (H5Aread(attribute.get(), type.get(), text.data()) < 0) refuse();
  return unpadded(text.data(), text.size());
}

std::int64_t Hdf5Reader::open_dataset(const std::string& path, std::size_t& count) const {
  if (!has(path)) fail("the column " + path + " is missing");
  Hdf5Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set.valid()) fail("the column " + path + " is damaged");
  const Hdf5Handle space(H5Dget_space(set.get()), H5Sclose);
  hsize_t extent = 0;
  if (H5Sget_simple_extent_ndims(space.get()) != 1 || H5Sget_simple_extent_dims(space.get(), &extent, nullptr) != 1 ||
      extent > kMaxColumn) {
    fail("the column " + path + " is not a list of usual length");
  }
  count = static_cast<std::size_t>(extent);
  return set.release();
}

template <class T>
std::vector<T> Hdf5Reader::column(const std::string& path) const {
  std::size_t count = 0;
  const Hdf5Handle set(open_dataset(path, count), H5Dclose);
  std::vector<T> values(count);
  if (count > 0 && H5Dread(set.get(), native_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    fail("the column " + path + " is damaged or of another type");
  }
  return values;
}
template std::vector<float> Hdf5Reader::column(const std::string&) const;
template std::vector<double> Hdf5Reader::column(const std::string&) const;
template std::vector<std::uint8_t> Hdf5Reader::column(const std::string&) const;
template std::vector<std::uint32_t> Hdf5Reader::column(const std::string&) const;
template std::vector<std::uint64_t> Hdf5Reader::column(const std::string&) const;
template std::vector<std::int64_t> Hdf5Reader::column(const std::string&) const;

std::vector<std::string> Hdf5Reader::names(const std::string& path) const {
  std::size_t count = 0;
  const Hdf5Handle set(open_dataset(path, count), H5Dclose);
  const Hdf5Handle type(H5Dget_type(set.get()), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0) {
    fail("the column " + path + " does not hold fixed-length text");
  }
  const std::size_t width = H5Tget_size(type.get());
  if (width > kMaxColumn / std::max<std::size_t>(count, 1)) fail("the column " + path + " is damaged");
  std::string padded(width * count, '\0');
  if (count > 0 && H5Dread(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()) < 0) {
    fail("the column " + path + " is damaged");
  }
  std::vector<std::string> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(unpadded(&padded[i * width], width));
  return values;
}

std::vector<std::string> Hdf5Reader::texts(const std::string& path) const {
  const auto bytes = column<std::uint8_t>(path + "_bytes");
  const auto offsets = column<std::uint64_t>(path + "_offsets");
  check_offsets(*this, path + "_offsets", offsets, bytes.size());
  std::vector<std::string> values;
  values.reserve(offsets.size() - 1);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    values.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                        bytes.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
  }
  return values;
}

void check_offsets(const Hdf5Reader& reader, const std::string& path, const std::vector<std::uint64_t>& offsets,
                   std::size_t end) {
  const bool good = !offsets.empty() && offsets.front() == 0 && offsets.back() == end &&
                    std::is_sorted(offsets.begin(), offsets.end());
  if (!good) reader.fail(fmt::format("the column {} does not hold rising positions from 0 to {}", path, end));
}

}  // namespace kc
