#include "dataset/label_store.h"

#include <unordered_set>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"
#include "dataset/journal.h"
#include "dataset/record.h"
#include "dataset/store_lock.h"
#include "dataset/store_tables.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

Store read_hdf5_part(const fs::path& file) {
  Store store = store_of(parse_hdf5(read_file(file), file), file);
  if (content_hash_of(row_hashes(store)) != store.content_hash) {
    throw Error(ErrorKind::bad_data, "cannot read " + file.string() +
                                         ": its rows do not match its content hash; the file was damaged or edited");
  }
  return store;
}

void merge_journal(Store& store, const fs::path& file) {
  JournalContents journal = read_journal(journal_path(file));
  if (journal.damaged_places > 0) {
    log::warning(fmt::format("{}: {} damaged places were skipped; the kernels in them will be measured again",
                             journal_path(file).string(), journal.damaged_places));
  }
  if (journal.measurements.empty()) return;
  // A process killed while folding leaves rows that stand in both places.
  Store added;
  added.measurements = std::move(journal.measurements);
  const std::vector<std::string> known = row_hashes(store);
  std::unordered_set<std::string> seen(known.begin(), known.end());
  const std::vector<std::string> hashes = row_hashes(added);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (seen.insert(hashes[i]).second) store.measurements.push_back(std::move(added.measurements[i]));
  }
}

}  // namespace

Store read_store(const fs::path& file) {
  const bool has_file = fs::exists(file);
  if (!has_file && !fs::exists(journal_path(file))) {
    throw Error(ErrorKind::bad_data, "no measurements at " + file.string() +
                                         ": the file does not exist; make it with `measure label` or `dataset import`");
  }
  Store store;
  if (has_file) store = read_hdf5_part(file);
  merge_journal(store, file);
  store.content_hash = content_hash_of(row_hashes(store));
  return store;
}

void write_store(const fs::path& file, const Store& store) {
  const StoreLock lock(file);
  if (!read_journal(journal_path(file)).measurements.empty()) {
    throw Error(ErrorKind::environment,
                journal_path(file).string() +
                    " holds labels that are not yet in the file; let `measure label` finish, or write to another file");
  }
  StoreTables tables = tables_of(store);
  tables.content_hash = content_hash_of(row_hashes(store));
  write_file_atomically(file, hdf5_bytes(tables));
}

}  // namespace kc
