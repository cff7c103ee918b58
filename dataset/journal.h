#pragma once
// The append-only journal beside a store: finished labels that are not yet in the HDF5 file. A record is a mark, its
// length, its SHA-256 and the bytes of record.h; the reader finds the next whole record after any damage.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "forecast/measurement.h"

namespace kc {

std::filesystem::path journal_path(const std::filesystem::path& store_file);

struct JournalContents {
  std::vector<Measurement> measurements;
  std::uint64_t whole_bytes = 0;     // end of the last whole record: what follows is a torn tail
  std::uint64_t damaged_places = 0;  // stretches between whole records that are no record
};

// Empty when the file does not exist. Error{bad_data} when it is no journal.
JournalContents read_journal(const std::filesystem::path& journal);

class JournalWriter {
 public:
  // Creates the file, or goes on after its last whole record. Error{environment}.
  explicit JournalWriter(const std::filesystem::path& journal);
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // Durable when it returns. After a failure (Error{environment}: a full disk) the journal is as it was before.
  void append(const Measurement& measurement);

 private:
  std::filesystem::path path_;
  int fd_;
  std::uint64_t size_;
};

}  // namespace kc
