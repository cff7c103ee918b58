#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <hdf5.h>

#include "base/error.h"
#include "dataset/hdf5_file.h"
#include "dataset/hdf5_handle.h"

namespace kc {
namespace {

constexpr hsize_t kChunkBytes = 1 << 18;
constexpr unsigned kDeflateLevel = 6;
constexpr std::size_t kMemoryStep = 1 << 20;

Hdf5Handle checked(Hdf5Handle handle, const std::string& what) {
  if (!handle.valid()) throw Error(ErrorKind::internal, "HDF5 could not make " + what);
  return handle;
}

void check(herr_t status, const std::string& what) {
  if (status < 0) throw Error(ErrorKind::internal, "HDF5 could not write " + what);
}

template <class T>
hid_t native_type();
template <>
hid_t native_type<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
hid_t native_type<double>() {
  return H5T_NATIVE_DOUBLE;
}
template <>
hid_t native_type<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
hid_t native_type<std::uint32_t>() {
  return H5T_NATIVE_UINT32;
}
template <>
hid_t native_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}
template <>
hid_t native_type<std::int64_t>() {
  return H5T_NATIVE_INT64;
}

Hdf5Handle string_type(std::size_t size) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  check(H5Tset_size(type.get(), std::max<std::size_t>(size, 1)), "a string type");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "a string type");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "a string type");
  return type;
}

void write_attribute(hid_t file, const std::string& object, const std::string& name, hid_t type, const void* value) {
  const std::string what = "attribute " + name + " of " + object;
  const auto space = checked({H5Screate(H5S_SCALAR), H5Sclose}, what);
  const auto attribute = checked(
      {H5Acreate_by_name(file, object.c_str(), name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
       H5Aclose},
      what);
  check(H5Awrite(attribute.get(), type, value), what);
}

// An empty dataset can be neither chunked nor filtered.
Hdf5Handle creation_properties(hid_t type, hsize_t count) {
  Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_obj_track_times(properties.get(), false), "dataset properties");
  if (count == 0) return properties;
  const hsize_t chunk = std::clamp<hsize_t>(kChunkBytes / H5Tget_size(type), 1, count);
  check(H5Pset_chunk(properties.get(), 1, &chunk), "dataset properties");
  check(H5Pset_shuffle(properties.get()), "dataset properties");
  check(H5Pset_deflate(properties.get(), kDeflateLevel), "dataset properties");
  check(H5Pset_fletcher32(properties.get()), "dataset properties");
  return properties;
}

}  // namespace

Hdf5Writer::Hdf5Writer() : file_(-1) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check(H5Pset_fapl_core(access.get(), kMemoryStep, false), "a file in memory");
  file_ = H5Fcreate("kernelcast-store", H5F_ACC_TRUNC, H5P_DEFAULT, access.get());
  if (file_ < 0) throw Error(ErrorKind::internal, "HDF5 could not make a file in memory");
}

Hdf5Writer::~Hdf5Writer() {
  if (file_ >= 0) H5Fclose(file_);
}

void Hdf5Writer::group(const std::string& path) {
  checked({H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose}, "group " + path);
}

void Hdf5Writer::attribute(const std::string& object, const std::string& name, std::int64_t value) {
  write_attribute(file_, object, name, H5T_NATIVE_INT64, &value);
}

void Hdf5Writer::attribute(const std::string& object, const std::string& name, const std::string& value) {
  const Hdf5Handle type = string_type(value.size());
  write_attribute(file_, object, name, type.get(), value.c_str());
}

void Hdf5Writer::dataset(const std::string& path, std::int64_t type, const void* data, std::size_t count) {
  const hsize_t extent = count;
  const auto space = checked({H5Screate_simple(1, &extent, nullptr), H5Sclose}, "the extent of " + path);
  const Hdf5Handle properties = creation_properties(type, extent);
  const auto set = checked(
      {H5Dcreate2(file_, path.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Dclose}, path);
  if (count > 0) check(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), path);
}

template <class T>
void Hdf5Writer::column(const std::string& path, const std::vector<T>& values) {
  dataset(path, native_type<T>(), values.data(), values.size());
}
template void Hdf5Writer::column(const std::string&, const std::vector<float>&);
template void Hdf5Writer::column(const std::string&, const std::vector<double>&);
template void Hdf5Writer::column(const std::string&, const std::vector<std::uint8_t>&);
template void Hdf5Writer::column(const std::string&, const std::vector<std::uint32_t>&);
template void Hdf5Writer::column(const std::string&, const std::vector<std::uint64_t>&);
template void Hdf5Writer::column(const std::string&, const std::vector<std::int64_t>&);

void Hdf5Writer::names(const std::string& path, const std::vector<std::string>& values) {
  std::size_t width = 1;
  for (const std::string& value : values) {
    if (value.find('\0') != std::string::npos) {
      throw Error(ErrorKind::bad_data, fmt::format("{}: '{}' holds a NUL byte; names may not", path, value.c_str()));
    }
    width = std::max(width, value.size());
  }
  std::string padded(width * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&padded[i * width], values[i].data(), values[i].size());
  const Hdf5Handle type = string_type(width);
  dataset(path, type.get(), padded.data(), values.size());
}

void Hdf5Writer::texts(const std::string& path, const std::vector<std::string>& values) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> offsets = {0};
  offsets.reserve(values.size() + 1);
  for (const std::string& value : values) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    offsets.push_back(bytes.size());
  }
  column(path + "_bytes", bytes);
  column(path + "_offsets", offsets);
}

std::string Hdf5Writer::finish() {
  check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "the file");
  const ssize_t size = H5Fget_file_image(file_, nullptr, 0);
  if (size < 0) throw Error(ErrorKind::internal, "HDF5 could not give the file's bytes");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (H5Fget_file_image(file_, bytes.data(), bytes.size()) != size) {
    throw Error(ErrorKind::internal, "HDF5 could not give the file's bytes");
  }
  return bytes;
}

}  // namespace kc
