#include "weights/checkpoint_commands.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "weights/conversion.h"
#include "weights/inspection.h"
#include "weights/verification.h"

namespace kc {
namespace {

struct Arguments {
  CommandLine* line = nullptr;
  std::string model, out, dtype, experts;
  double shard_gb = static_cast<double>(kDefaultShardBytes) / 1e9;
};

constexpr const char* kModelHelp =
    "model folder: Hugging Face's layout or the original one (config.json, *.safetensors)";

int inspect_folder(const Arguments& arguments) {
  const CheckpointFiles files(arguments.model);
  const Inspection inspection = inspect(files);
  std::cout << (arguments.line->common().json ? to_json(inspection, files).dump() + "\n" : to_text(inspection));
  return 0;
}

int verify_folder(const Arguments& arguments) {
  const Verification result = verify_checkpoint(arguments.model);
  if (arguments.line->common().json) {
    std::cout << nlohmann::json{{"problems", result.problems},
                                {"tensors", result.tensors},
                                {"bytes", result.bytes},
                                {"hashes", result.hashes}}
                     .dump()
              << "\n";
  } else {
    for (const std::string& problem : result.problems) std::cout << problem << "\n";
    std::cout << fmt::format("{} tensors, {} bytes, {} recorded SHA-256 compared: {}\n", result.tensors, result.bytes,
                             result.hashes,
                             result.problems.empty() ? "sound" : fmt::format("{} problem(s)", result.problems.size()));
  }
  return result.problems.empty() ? 0 : exit_code(ErrorKind::check_failed);
}

ConversionOptions conversion_options(const Arguments& arguments) {
  ConversionOptions options;
  options.dtype = arguments.dtype;
  if (arguments.experts == "bf16") {
    options.experts = ExpertStorage::expanded;
  } else if (arguments.experts == "mxfp4") {
    options.experts = ExpertStorage::mxfp4;
  } else if (!arguments.experts.empty()) {
    throw Error(ErrorKind::usage, fmt::format("unknown --experts '{}': expected bf16 or mxfp4", arguments.experts));
  }
  if (!(arguments.shard_gb > 0 && arguments.shard_gb < 1e6))
    throw Error(ErrorKind::usage, "--shard-gb must be a positive number of gigabytes");
  options.shard_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(arguments.shard_gb * 1e9));
  return options;
}

int convert_folder(const Arguments& arguments) {
  const Conversion done =
      convert_checkpoint(arguments.model, arguments.out, conversion_options(arguments), interrupt_token());
  if (arguments.line->common().json) {
    std::cout << nlohmann::json{{"out", printable(arguments.out)},
                                {"tensors", done.tensors},
                                {"bytes", done.bytes},
                                {"files", done.files}}
                     .dump()
              << "\n";
  } else {
    std::cout << fmt::format("{}: {} tensors, {} bytes in {} file(s), {}, experts {}\n", arguments.out, done.tensors,
                             done.bytes, done.files.size(), done.config.dtype,
                             done.config.experts == ExpertStorage::mxfp4 ? "mxfp4" : done.config.dtype);
  }
  return 0;
}

// Shared with the action, so that it lives as long as the line.
std::shared_ptr<Arguments> add(CommandLine& line, const char* name, const char* summary, const char* examples,
                               int (*action)(const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  arguments->line =
      &line.subcommand(name, summary, examples, false, [arguments, action] { return action(*arguments); });
  arguments->line->option("--model", arguments->model, kModelHelp, true);
  return arguments;
}

}  // namespace

void add_inspect_command(CommandLine& line) {
  add(line, "inspect", "Count a checkpoint's parameters, from its headers alone",
      "  checkpoint inspect --model gpt-oss-20b\n  checkpoint inspect --model gpt-oss-20b --json", inspect_folder);
}

void add_verify_command(CommandLine& line) {
  add(line, "verify", "Look at every byte: names, shapes, offsets, NaN, MXFP4 scales, recorded hashes",
      "  checkpoint verify --model gpt-oss-20b", verify_folder);
}

void add_convert_command(CommandLine& line) {
  const auto arguments = add(line, "convert", "Rewrite a checkpoint as a Hugging Face folder of another type or layout",
                             "  checkpoint convert --model gpt-oss-20b --out gpt-oss-20b-bf16 --experts bf16\n"
                             "  checkpoint convert --model gpt-oss-20b/original --out hf --experts mxfp4\n"
                             "  checkpoint convert --model small --out small-fp32 --dtype float32 --experts bf16",
                             convert_folder);
  arguments->line->option("--out", arguments->out, kOutputHelp, true)
      .option("--dtype", arguments->dtype, "float32 or bfloat16; default: as stored")
      .option("--experts", arguments->experts, "bf16 (expanded to --dtype) or mxfp4 (kept packed); default: as stored")
      .option("--shard-gb", arguments->shard_gb, "largest size of one file");
}

}  // namespace kc
