#pragma once
// The store as tables of columns, the form in which it stands in the file (docs/data-format.md): each source text and
// each kernel once, rows that refer to them by index.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dataset/label_store.h"

namespace kc {

struct KernelTable {
  std::vector<std::string> id, language, template_id;
  std::vector<std::uint32_t> source;    // index into the source texts
  std::vector<std::string> parameters;  // JSON: [["NAME", "value"], ...]
  std::vector<std::string> prologue;
};

struct RunTable {
  std::vector<std::string> run_id, device, processor, compiler, compiler_flags, harness_version, started_at, source;
  std::vector<double> noise_floor;
};

struct MeasurementTable {
  std::vector<std::string> task, status, kernel_name, log;
  std::vector<std::uint32_t> kernel, run;
  std::vector<std::uint8_t> is_seed;
  std::vector<std::uint64_t> case_offsets = {0};  // rows of the case table
  std::vector<std::uint64_t> fact_offsets = {0};  // rows of the fact table
};

struct CaseTable {
  std::vector<std::string> name;
  std::vector<double> work;
  std::vector<std::uint64_t> candidate_offsets = {0}, reference_offsets = {0};
  std::vector<float> candidate_ns, reference_ns;
};

struct FactTable {
  std::vector<std::string> name;
  std::vector<double> value;
};

struct RatioTable {
  std::vector<std::string> task, device, baseline, source;
  std::vector<std::uint32_t> kernel;
  std::vector<std::int64_t> reference;  // a kernel, or -1
  std::vector<double> value;
  std::vector<std::int64_t> n;
};

struct StoreTables {
  std::vector<std::string> sources;
  KernelTable kernels;
  RunTable runs;
  MeasurementTable measurements;
  CaseTable cases;
  FactTable facts;
  RatioTable ratios;
  std::string content_hash;
};

StoreTables tables_of(const Store& store);
// Error{bad_data} naming `file` when columns of one table differ in length or an index points nowhere.
Store store_of(const StoreTables& tables, const std::filesystem::path& file);

// The HDF5 file's bytes, and back. Error{bad_data} as read_store says.
std::string hdf5_bytes(const StoreTables& tables);
StoreTables parse_hdf5(std::string bytes, const std::filesystem::path& file);

}  // namespace kc
