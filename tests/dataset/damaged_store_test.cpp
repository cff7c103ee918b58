#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "dataset/hdf5_file.h"
#include "dataset/label_store.h"
#include "dataset/store_tables.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    return error.what();
  }
  return "no error";
}

TEST(DamagedStore, MissingFileIsNamedWithWhatToDo) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { read_store(folder / "a.h5"); }),
              AllOf(HasSubstr((folder / "a.h5").string()), HasSubstr("measure label")));
}

TEST(DamagedStore, ForeignFilesAreRefused) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.h5", "hello");
  EXPECT_THAT(message_of([&] { read_store(folder / "a.h5"); }), HasSubstr("not an HDF5 file"));
  write_file_atomically(folder / "empty.h5", "");
  EXPECT_THAT(message_of([&] { read_store(folder / "empty.h5"); }), HasSubstr("not an HDF5 file"));
  Hdf5Writer other;
  other.column("numbers", std::vector<double>{1, 2});
  write_file_atomically(folder / "b.h5", other.finish());
  EXPECT_THAT(message_of([&] { read_store(folder / "b.h5"); }), HasSubstr("another program"));
}

TEST(DamagedStore, EveryTruncationGivesOneMessage) {
  const TemporaryFolder folder;
  write_store(folder / "a.h5", examples::spread_store(2, 20));
  const std::string bytes = read_file(folder / "a.h5");
  for (std::size_t i = 1; i <= 40; ++i) {
    write_file_atomically(folder / "cut.h5", bytes.substr(0, bytes.size() * i / 41));
    EXPECT_THAT(message_of([&] { read_store(folder / "cut.h5"); }), HasSubstr("cut.h5")) << i;
  }
}

TEST(DamagedStore, FlippedBytesAreNeverReadAsOtherRows) {
  const TemporaryFolder folder;
  const Store store = examples::spread_store(2, 20);
  write_store(folder / "a.h5", store);
  const std::string bytes = read_file(folder / "a.h5");
  const std::string hash = read_store(folder / "a.h5").content_hash;
  for (std::size_t i = 1; i <= 200; ++i) {
    std::string damaged = bytes;
    damaged[bytes.size() * i / 201] ^= 0x10;
    write_file_atomically(folder / "b.h5", damaged);
    std::optional<Store> read;
    const std::string message = message_of([&] { read = read_store(folder / "b.h5"); });
    // A byte that no column uses may change without harm.
    if (read) {
      EXPECT_EQ(read->content_hash, hash) << i;
    } else {
      EXPECT_THAT(message, HasSubstr("b.h5"));
    }
  }
}

TEST(DamagedStore, NewerSchemaAsksForANewerProgram) {
  const TemporaryFolder folder;
  Hdf5Writer file;
  file.attribute("/", "format", "kernelcast store");
  for (const char* table : {"sources", "kernels", "runs", "measurements", "cases", "ratios"}) {
    file.group(table);
    file.attribute(table, "schema_version", std::string(table) == "cases" ? kStoreSchemaVersion + 1 : 1);
  }
  write_file_atomically(folder / "a.h5", file.finish());
  EXPECT_THAT(message_of([&] { read_store(folder / "a.h5"); }),
              AllOf(HasSubstr("cases"), HasSubstr("newer"), HasSubstr("update the program")));
}

TEST(DamagedStore, AMissingTableIsNamed) {
  const TemporaryFolder folder;
  Hdf5Writer file;
  file.attribute("/", "format", "kernelcast store");
  file.group("sources");
  file.attribute("sources", "schema_version", std::int64_t{1});
  write_file_atomically(folder / "a.h5", file.finish());
  EXPECT_THAT(message_of([&] { read_store(folder / "a.h5"); }), HasSubstr("table kernels is missing"));
}

TEST(DamagedStore, TablesThatContradictEachOtherAreRefused) {
  const StoreTables good = tables_of(examples::spread_store(1, 3));
  const std::vector<std::function<void(StoreTables&)>> faults = {
      [](StoreTables& t) { t.measurements.kernel[1] = 77; },
      [](StoreTables& t) { t.measurements.run[1] = 77; },
      [](StoreTables& t) { t.kernels.source[0] = 77; },
      [](StoreTables& t) { t.kernels.parameters[0] = "{"; },
      [](StoreTables& t) { t.measurements.task.pop_back(); },
      [](StoreTables& t) { t.measurements.status[0] = "fine"; },
      [](StoreTables& t) { t.cases.work.pop_back(); },
      [](StoreTables& t) { t.measurements.case_offsets[1] = 99; },
      [](StoreTables& t) { t.cases.candidate_ns.pop_back(); },
      [](StoreTables& t) { t.measurements.fact_offsets[1] = 99; },
      [](StoreTables& t) { t.facts.value.push_back(1); },
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    StoreTables tables = good;
    faults[i](tables);
    EXPECT_NE(message_of([&] { store_of(parse_hdf5(hdf5_bytes(tables), "x.h5"), "x.h5"); }), "no error") << i;
  }
  EXPECT_NO_THROW(store_of(parse_hdf5(hdf5_bytes(good), "x.h5"), "x.h5"));
}

}  // namespace
}  // namespace kc

// The HDF5 library loses a few bytes of its own when it gives up on a damaged file.
extern "C" const char* __lsan_default_suppressions();                            // NOLINT
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }  // NOLINT
