#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "dataset/journal.h"
#include "dataset/label_store.h"
#include "dataset/record.h"
#include "dataset/store_lock.h"
#include "dataset/store_tables.h"
#include "forecast/task_revision.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

// Without the state of the task.
std::string build_key_of(const Measurement& m) {
  const Provenance& p = m.provenance;
  std::string key = m.task;
  for (const std::string* part : {&p.device, &p.compiler, &p.compiler_flags, &p.harness_version}) {
    key += '\0';
    key += *part;
  }
  return key + '\0' + kernel_id(m.kernel);
}

std::string key_of(const Measurement& m) {
  const auto revision = task_revision(m);
  return build_key_of(m) + (revision ? fmt::format(" of {:.0f}", *revision) : "");
}

Store read_if_any(const fs::path& file) {
  return fs::exists(file) || fs::exists(journal_path(file)) ? read_store(file) : Store{};
}

}  // namespace

struct LabelWriter::Impl {
  explicit Impl(const fs::path& path) : file(path), lock(path) {
    for (const Measurement& m : read_if_any(file).measurements) keys.insert(key_of(m));
  }

  fs::path file;
  StoreLock lock;
  std::unordered_set<std::string> keys;
  std::optional<JournalWriter> journal;
};

LabelWriter::LabelWriter(const fs::path& file) : impl_(std::make_unique<Impl>(file)) {}

LabelWriter::~LabelWriter() = default;

void LabelWriter::append(const Measurement& measurement) {
  check_storable(measurement);
  if (!impl_->journal) impl_->journal.emplace(journal_path(impl_->file));
  impl_->journal->append(measurement);
  impl_->keys.insert(key_of(measurement));
}

bool LabelWriter::contains(const Measurement& key) const {
  return impl_->keys.contains(key_of(key)) || impl_->keys.contains(build_key_of(key));
}

void LabelWriter::compact() {
  const fs::path journal = journal_path(impl_->file);
  if (!fs::exists(journal) && fs::exists(impl_->file)) return;
  const Store store = read_if_any(impl_->file);
  StoreTables tables = tables_of(store);
  tables.content_hash = content_hash_of(row_hashes(store));
  write_file_atomically(impl_->file, hdf5_bytes(tables));
  impl_->journal.reset();
  std::error_code error;
  fs::remove(journal, error);
  if (error) throw Error(ErrorKind::environment, "cannot remove " + journal.string() + ": " + error.message());
}

}  // namespace kc
