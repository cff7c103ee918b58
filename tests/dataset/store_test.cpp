#include "dataset/label_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "dataset/hdf5_file.h"
#include "dataset/record.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::TemporaryFolder;

Store varied_store() {
  Store store = examples::spread_store(2, 3);
  Measurement failed = examples::measurement("task0", "void broken(", 0);
  failed.status = MeasurementStatus::compile_error;
  failed.log = "error: expected ')'\n\xff\x80 not UTF-8";
  failed.cases.clear();
  store.measurements.push_back(failed);
  Measurement tuned = examples::measurement("task1", "int tile = TILE;", 1);
  tuned.kernel.parameters = {{"TILE", "8"}, {"ALPHA", "1.5f"}};
  tuned.kernel.prologue = "#define grid_size_x 4\n";
  tuned.cases[0].reference_ns.clear();
  tuned.cases[1].reference_ns.clear();
  tuned.facts = {{"load_1min", 1.25}, {"registers", 32}};
  store.measurements.push_back(tuned);
  RatioRow ratio;
  ratio.task = "level1/3";
  ratio.device = "NVIDIA H20";
  ratio.kernel = tuned.kernel;
  ratio.baseline = "torch_eager";
  ratio.value = 1.394;
  ratio.n = 100;
  ratio.source = "somewhere";
  store.ratios.push_back(ratio);
  ratio.reference = failed.kernel;
  store.ratios.push_back(ratio);
  return store;
}

TEST(Store, KeepsEveryFieldOfEveryRow) {
  const TemporaryFolder folder;
  const Store written = varied_store();
  write_store(folder / "a.h5", written);
  const Store read = read_store(folder / "a.h5");
  ASSERT_EQ(read.measurements.size(), written.measurements.size());
  for (std::size_t i = 0; i < written.measurements.size(); ++i) {
    EXPECT_EQ(encode(read.measurements[i]), encode(written.measurements[i])) << "row " << i;
  }
  ASSERT_EQ(read.ratios.size(), 2U);
  EXPECT_EQ(row_hashes(read), row_hashes(written));
  EXPECT_EQ(read.ratios[0].value, 1.394);
  EXPECT_TRUE(read.ratios[0].reference.source.empty());
  EXPECT_EQ(read.ratios[1].reference.source, "void broken(");
  EXPECT_EQ(read.content_hash.size(), 64U);
}

// The recording was written under version 1, which knew no facts: its rows still match its content hash.
TEST(Store, ReadsAFileOfTheFirstSchemaVersion) {
  const std::filesystem::path recording = std::filesystem::path(KC_SOURCE_DIR) / "dataset/recordings/host.h5";
  const Hdf5Reader file(read_file(recording), recording);
  if (file.integer_attribute("/", "schema_version") != 1) GTEST_SKIP() << "the recording has been written anew";
  const Store store = read_store(recording);
  EXPECT_GT(store.measurements.size(), 1000U);
  EXPECT_TRUE(store.measurements.front().facts.empty());
}

TEST(Store, RowsWithoutFactsKeepTheHashesOfTheFirstRecordVersion) {
  const Measurement plain = examples::measurement("task", "void f();", 1);
  Measurement with_facts = plain;
  with_facts.facts["threads"] = 1;
  EXPECT_EQ(encode(plain).front(), 1);
  EXPECT_EQ(encode(with_facts).front(), 2);
  EXPECT_EQ(decode(encode(with_facts)).facts, with_facts.facts);
  EXPECT_EQ(decode(encode(plain)).facts, Facts{});
}

TEST(Store, HoldsNoRowsToo) {
  const TemporaryFolder folder;
  write_store(folder / "a.h5", Store{});
  EXPECT_TRUE(read_store(folder / "a.h5").measurements.empty());
}

TEST(Store, ContentHashFollowsTheRowsAndNothingElse) {
  const TemporaryFolder folder;
  Store store = varied_store();
  write_store(folder / "a.h5", store);
  store.content_hash = "something else";
  write_store(folder / "b.h5", store);
  store.measurements[0].cases[0].candidate_ns[0] = std::nextafter(store.measurements[0].cases[0].candidate_ns[0], 0.F);
  write_store(folder / "c.h5", store);
  const std::string a = read_store(folder / "a.h5").content_hash;
  EXPECT_EQ(a, read_store(folder / "b.h5").content_hash);
  EXPECT_NE(a, read_store(folder / "c.h5").content_hash);
}

TEST(Store, SourcesAreStoredOnce) {
  const TemporaryFolder folder;
  std::string source;
  for (int i = 0; i < 20000; ++i) source += fmt::format("{:x}", i * 2654435761U);
  Store store;
  for (int i = 0; i < 50; ++i) {
    store.measurements.push_back(examples::measurement("task", source, 0));
    store.measurements.back().kernel.parameters = {{"N", std::to_string(i)}};
  }
  write_store(folder / "a.h5", store);
  EXPECT_LT(std::filesystem::file_size(folder / "a.h5"), 2 * source.size());
}

TEST(Store, ThreeThousandMeasurementsStayUnderSixMegabytes) {
  const TemporaryFolder folder;
  Store store = examples::spread_store(10, 300);
  std::uint32_t noise = 1;
  for (Measurement& m : store.measurements) {
    for (CaseTiming& timing : m.cases) {
      const float candidate = timing.candidate_ns[0], reference = timing.reference_ns[0];
      timing.candidate_ns.clear();
      timing.reference_ns.clear();
      for (int round = 0; round < 30; ++round) {
        for (auto [side, base] : {std::pair(&timing.candidate_ns, candidate), {&timing.reference_ns, reference}}) {
          noise = noise * 1664525U + 1013904223U;
          side->push_back(base * (1.F + static_cast<float>(noise >> 8) * 0x1p-30F));
        }
      }
    }
  }
  write_store(folder / "a.h5", store);
  EXPECT_LT(std::filesystem::file_size(folder / "a.h5"), 6'000'000U);
}

TEST(Store, OpensInH5pyWithoutOurCode) {
  if (!examples::has_h5py()) GTEST_SKIP() << "no Python with h5py here";
  const TemporaryFolder folder;
  write_store(folder / "a.h5", varied_store());
  const std::string output = examples::run_h5py(R"(
import h5py, json, sys
f = h5py.File(sys.argv[1])
assert f.attrs['schema_version'] == 2 and f['cases'].attrs['schema_version'] == 2
def texts(name):
    data, at = f[name + '_bytes'][:].tobytes(), f[name + '_offsets'][:]
    return [data[a:b] for a, b in zip(at[:-1], at[1:])]
m, c, k = f['measurements'], f['cases'], f['kernels']
row = 7
kernel = m['kernel'][row]
print(m['task'].asstr()[row], m['status'].asstr()[6], texts('sources/text')[k['source'][kernel]].decode())
print(json.loads(texts('kernels/parameters')[kernel]))
case = m['case_offsets'][0]
print(c['candidate_ns'][c['candidate_offsets'][case]:c['candidate_offsets'][case + 1]].dtype, texts('runs/device')[0].decode())
first, end = m['fact_offsets'][row:row + 2]
print(dict(zip(f['facts/name'].asstr()[first:end], f['facts/value'][first:end].tolist())))
print(c['name'].asstr()[case], len(f['ratios/value']), f['ratios/value'][0])
)",
                                                (folder / "a.h5").string());
  EXPECT_EQ(output,
            "task1 compile_error int tile = TILE;\n[['TILE', '8'], ['ALPHA', '1.5f']]\nfloat32 host\n{'load_1min': "
            "1.25, 'registers': 32.0}\nsmall 2 1.394\n");
}

TEST(Store, IsNotReplacedWhileAJournalHoldsLabels) {
  const TemporaryFolder folder;
  LabelWriter(folder / "a.h5").append(examples::measurement("task", "x", 0));
  EXPECT_THROW(write_store(folder / "a.h5", Store{}), Error);
  EXPECT_EQ(read_store(folder / "a.h5").measurements.size(), 1U);
}

}  // namespace
}  // namespace kc
