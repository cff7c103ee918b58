#pragma once
// The store of measurements: an HDF5 file (schema version 2, docs/data-format.md) and, while it is being written, a
// checksummed append-only journal beside it (FILE.journal).
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "forecast/measurement.h"

namespace kc {

inline constexpr int kStoreSchemaVersion = 2;

// Rows that hold only a speedup against a named baseline.
struct RatioRow {
  std::string task;
  std::string device;
  KernelText kernel;
  KernelText reference;  // the baseline's own text where it is known; an empty source otherwise
  std::string baseline;
  double value = 0;    // t_baseline / t_candidate
  std::int64_t n = 0;  // timed repeats behind it; 0 = unknown
  std::string source;
};

struct Store {
  std::vector<Measurement> measurements;
  std::vector<RatioRow> ratios;
  std::string content_hash;  // SHA-256 over the rows: names the data in manifests
};

// Reads FILE and whatever whole records a journal beside it still holds (a damaged one is left out with a warning).
// Error{bad_data} for a missing, truncated or
// foreign file or a newer schema, naming the file and what to do.
Store read_store(const std::filesystem::path& file);

// Writes a whole store at once (imports, tests), atomically; the content hash is taken anew. Error{environment} when
// labels wait in a journal beside the file, a writer is at work, or the disk is full: the old file then stays.
void write_store(const std::filesystem::path& file, const Store& store);

class LabelWriter {
 public:
  // Opens or creates; takes over a journal left by a killed run. One writer at a time (a lock file;
  // Error{environment}).
  explicit LabelWriter(const std::filesystem::path& file);
  ~LabelWriter();  // does not compact: an interrupted run leaves the journal, which readers understand
  LabelWriter(const LabelWriter&) = delete;
  LabelWriter& operator=(const LabelWriter&) = delete;

  // Durable when it returns (written and fsynced to the journal). Error{environment} when the disk is full: what was
  // stored before stays stored.
  void append(const Measurement& measurement);

  // Whether a measurement of this task, device and kernel made by this compiler, flags and harness version is stored.
  bool contains(const Measurement& key) const;

  // Folds the journal into the HDF5 file, which is replaced by rename, and removes the journal. A kill between the two
  // is harmless: rows that stand in both are read once.
  void compact();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
