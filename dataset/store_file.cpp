#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "dataset/hdf5_file.h"
#include "dataset/store_tables.h"

namespace kc {
namespace {

constexpr const char* kFormat = "kernelcast store";
constexpr const char* kTables[] = {"sources", "kernels", "runs", "measurements", "cases", "ratios"};
constexpr const char* kFactTable = "facts";  // since version 2

// One list of columns for both directions: `Io` is a Writer or a Reader below, `Tables` is const for the writer.
struct Writer {
  Hdf5Writer& file;
  template <class T>
  void column(const char* path, const std::vector<T>& values) {
    file.column(path, values);
  }
  void names(const char* path, const std::vector<std::string>& values) { file.names(path, values); }
  void texts(const char* path, const std::vector<std::string>& values) { file.texts(path, values); }
};

struct Reader {
  const Hdf5Reader& file;
  template <class T>
  void column(const char* path, std::vector<T>& values) {
    values = file.column<T>(path);
  }
  void names(const char* path, std::vector<std::string>& values) { values = file.names(path); }
  void texts(const char* path, std::vector<std::string>& values) { values = file.texts(path); }
};

template <class Io, class Tables>
void each_kernel_and_run_column(Io& io, Tables& t) {
  io.texts("sources/text", t.sources);
  io.names("kernels/id", t.kernels.id);
  io.names("kernels/language", t.kernels.language);
  io.names("kernels/template_id", t.kernels.template_id);
  io.column("kernels/source", t.kernels.source);
  io.texts("kernels/parameters", t.kernels.parameters);
  io.texts("kernels/prologue", t.kernels.prologue);
  io.texts("runs/run_id", t.runs.run_id);
  io.texts("runs/device", t.runs.device);
  io.texts("runs/processor", t.runs.processor);
  io.texts("runs/compiler", t.runs.compiler);
  io.texts("runs/compiler_flags", t.runs.compiler_flags);
  io.texts("runs/harness_version", t.runs.harness_version);
  io.texts("runs/started_at", t.runs.started_at);
  io.texts("runs/source", t.runs.source);
  io.column("runs/noise_floor", t.runs.noise_floor);
}

template <class Io, class Tables>
void each_row_column(Io& io, Tables& t) {
  io.names("measurements/task", t.measurements.task);
  io.names("measurements/status", t.measurements.status);
  io.texts("measurements/kernel_name", t.measurements.kernel_name);
  io.texts("measurements/log", t.measurements.log);
  io.column("measurements/kernel", t.measurements.kernel);
  io.column("measurements/run", t.measurements.run);
  io.column("measurements/is_seed", t.measurements.is_seed);
  io.column("measurements/case_offsets", t.measurements.case_offsets);
  io.names("cases/name", t.cases.name);
  io.column("cases/work", t.cases.work);
  io.column("cases/candidate_offsets", t.cases.candidate_offsets);
  io.column("cases/reference_offsets", t.cases.reference_offsets);
  io.column("cases/candidate_ns", t.cases.candidate_ns);
  io.column("cases/reference_ns", t.cases.reference_ns);
  io.texts("ratios/task", t.ratios.task);
  io.texts("ratios/device", t.ratios.device);
  io.texts("ratios/baseline", t.ratios.baseline);
  io.texts("ratios/source", t.ratios.source);
  io.column("ratios/kernel", t.ratios.kernel);
  io.column("ratios/reference", t.ratios.reference);
  io.column("ratios/value", t.ratios.value);
  io.column("ratios/n", t.ratios.n);
}

template <class Io, class Tables>
void each_fact_column(Io& io, Tables& t) {
  io.column("measurements/fact_offsets", t.measurements.fact_offsets);
  io.names("facts/name", t.facts.name);
  io.column("facts/value", t.facts.value);
}

std::int64_t checked_version(const Hdf5Reader& file, const char* table) {
  if (!file.has(table)) file.fail(fmt::format("the table {} is missing; the file is damaged or foreign", table));
  const std::int64_t version = file.integer_attribute(table, "schema_version");
  if (version > kStoreSchemaVersion) {
    file.fail(fmt::format("its table {} has schema version {}, newer than the {} of this program; update the program",
                          table, version, kStoreSchemaVersion));
  }
  if (version < 1) file.fail(fmt::format("its table {} has schema version {}; versions begin at 1", table, version));
  return version;
}

// Reads the columns of the file's version and brings them to kStoreSchemaVersion. A new version adds its step here:
// read the old columns, fill the new ones. There is none before version 1.
StoreTables read_and_upgrade(const Hdf5Reader& file) {
  std::int64_t version = kStoreSchemaVersion;
  for (const char* table : kTables) version = std::min(version, checked_version(file, table));
  StoreTables tables;
  Reader reader{file};
  each_kernel_and_run_column(reader, tables);
  each_row_column(reader, tables);
  if (version >= 2) {
    checked_version(file, kFactTable);
    each_fact_column(reader, tables);
  } else {
    tables.measurements.fact_offsets.assign(tables.measurements.case_offsets.size(), 0);
  }
  return tables;
}

void check_positions(const Hdf5Reader& file, const StoreTables& t) {
  check_offsets(file, "measurements/case_offsets", t.measurements.case_offsets, t.cases.name.size());
  check_offsets(file, "cases/candidate_offsets", t.cases.candidate_offsets, t.cases.candidate_ns.size());
  check_offsets(file, "cases/reference_offsets", t.cases.reference_offsets, t.cases.reference_ns.size());
  check_offsets(file, "measurements/fact_offsets", t.measurements.fact_offsets, t.facts.name.size());
}

}  // namespace

std::string hdf5_bytes(const StoreTables& tables) {
  Hdf5Writer file;
  file.attribute("/", "format", kFormat);
  file.attribute("/", "schema_version", std::int64_t{kStoreSchemaVersion});
  file.attribute("/", "content_hash", tables.content_hash);
  const auto add_table = [&file](const char* table) {
    file.group(table);
    file.attribute(table, "schema_version", std::int64_t{kStoreSchemaVersion});
  };
  for (const char* table : kTables) add_table(table);
  add_table(kFactTable);
  std::vector<std::string> hashes;
  for (const std::string& source : tables.sources) hashes.push_back(sha256_hex(source));
  file.names("sources/sha256", hashes);
  Writer writer{file};
  each_kernel_and_run_column(writer, tables);
  each_row_column(writer, tables);
  each_fact_column(writer, tables);
  return file.finish();
}

StoreTables parse_hdf5(std::string bytes, const std::filesystem::path& path) {
  const Hdf5Reader file(std::move(bytes), path);
  if (!file.has_attribute("/", "format") || file.text_attribute("/", "format") != kFormat) {
    file.fail("it is an HDF5 file of another program; give one written by `measure label` or `dataset import`");
  }
  StoreTables tables = read_and_upgrade(file);
  check_positions(file, tables);
  tables.content_hash = file.text_attribute("/", "content_hash");
  return tables;
}

}  // namespace kc
