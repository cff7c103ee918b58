// dataset: import, inspect and compare measurements; show pairs as the model reads them.
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "pipeline/dataset_views.h"
#include "pipeline/resources.h"

namespace {

constexpr const char* kExamples =
    "  dataset inspect dataset/recordings/host.h5            counts by task, device, status and bin; noise\n"
    "  dataset pairs dataset/recordings/host.h5 --count 3    pairs as the model reads them\n"
    "  dataset split --config configs/brier.yaml             what trains and what tests; checks for leaks\n"
    "  dataset import rows --from gpu-timings --out gpu.h5   the public GPU timings bundle\n"
    "  dataset compare monday.h5 tuesday.h5                  do two labellings agree?";

struct Arguments {
  std::vector<std::string> files;
  std::string from, out, task;
  std::int64_t count = 4, seed = 1;
  bool across_devices = false;
};

std::string only_file(const Arguments& arguments) {
  if (arguments.files.size() != 1) throw kc::Error(kc::ErrorKind::usage, "give one file of measurements (HDF5)");
  return kc::find_resource(arguments.files.front()).string();
}

int import(const Arguments& arguments, bool published, bool json) {
  kc::ImportReport report;
  const kc::Store store =
      published ? kc::import_published_rows(arguments.from, report) : kc::import_timing_rows(arguments.from, report);
  kc::write_store(arguments.out, store);
  std::cout << (json ? kc::to_json(report).dump() + "\n" : kc::import_text(report, arguments.out));
  return 0;
}

int inspect(const Arguments& arguments, bool json) {
  const kc::StoreSummary summary = kc::summarise(kc::read_store(only_file(arguments)));
  std::cout << (json ? kc::to_json(summary).dump() + "\n" : kc::summary_text(summary));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("dataset", "Import, inspect and compare measurements", kExamples, false);
  Arguments arguments;
  kc::CommandLine& importing = line.subcommand("import", "Bring other formats into the store", kExamples, false, [] {
    throw kc::Error(kc::ErrorKind::usage,
                    "dataset import needs a format: rows or published; dataset import --help shows examples");
    return 0;
  });
  kc::CommandLine* rows = nullptr;
  kc::CommandLine* published = nullptr;
  rows = &importing.subcommand("rows", "Rows and kernels of the GPU timings bundle", kExamples, false,
                               [&] { return import(arguments, false, rows->common().json); });
  published =
      &importing.subcommand("published", "A file of published pairs (evaluation set, training pool, discovery)",
                            kExamples, false, [&] { return import(arguments, true, published->common().json); });
  for (kc::CommandLine* command : {rows, published}) {
    command->option("--from", arguments.from, "folder of the bundle, or the file of pairs", true)
        .option("--out", arguments.out, "store to write (HDF5)", true);
  }
  kc::CommandLine* inspecting = nullptr;
  inspecting = &line.subcommand("inspect", "What a store holds", kExamples, false,
                                [&] { return inspect(arguments, inspecting->common().json); });
  inspecting->option("file", arguments.files, "measurements (HDF5)", true);
  kc::CommandLine* pairs = nullptr;
  pairs = &line.subcommand("pairs", "Balanced pairs as the model reads them", kExamples, true, [&] {
    return kc::show_pairs(only_file(arguments), pairs->common(),
                          {arguments.task, arguments.count, static_cast<std::uint64_t>(arguments.seed)});
  });
  pairs->option("file", arguments.files, "measurements (HDF5)", true)
      .option("--count", arguments.count, "how many pairs")
      .option("--task", arguments.task, "of this task only")
      .option("--seed", arguments.seed, "seed of the draw");
  kc::CommandLine* split = nullptr;
  split =
      &line.subcommand("split", "Parts by a config's data section, and the check that no kernel stands on two sides",
                       kExamples, true, [&] { return kc::show_split(split->common()); });
  kc::CommandLine* comparing = nullptr;
  comparing = &line.subcommand("compare", "Do two labellings of the same kernels agree?", kExamples, false, [&] {
    return kc::show_comparison(arguments.files, arguments.seed, arguments.across_devices, comparing->common().json);
  });
  comparing->option("files", arguments.files, "two stores (HDF5)", true)
      .flag("--across-devices", arguments.across_devices, "compare labels of two devices")
      .option("--seed", arguments.seed, "seed of the bootstrap");
  return line.run(argc, argv);
}
