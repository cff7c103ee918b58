#include "model/checkpoint_logits.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/progress.h"
#include "model/language_model.h"
#include "model/model_files_torch.h"
#include "model/sampler.h"
#include "model/transformer_torch.h"
#include "weights/safetensors.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNumbers = std::int64_t{1} << 24;  // logits computed at a time: 64 MB

[[noreturn]] void bad_tokens(const fs::path& file, const std::string& problem) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: {}", file.string(), problem));
}

bool holds_logits(const fs::path& file) {
  try {
    const SafetensorsFile opened(file);
    return opened.tensors().size() == 1 && opened.tensors().front().spec.name == "logits";
  } catch (const Error&) {
    return false;
  }
}

// Only a file of logits is ever replaced: never a device, a folder or a model's own weights.
void check_target(const fs::path& out) {
  const fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw Error(ErrorKind::usage, fmt::format("--out {}: the folder {} is not there", out.string(), folder.string()));
  if (fs::exists(out, ignored) && !holds_logits(out))
    throw Error(ErrorKind::usage,
                fmt::format("--out {}: is there and is no file of logits; name a new one", out.string()));
}

struct Loaded {
  GptOssConfig config;
  GptOssWeights weights;
};

Loaded load(const LogitsJob& job) {
  const CheckpointFiles files(job.model);
  Loaded loaded{files.config(), {}};
  if (job.experts) loaded.config.experts = *job.experts;
  loaded.weights = load_weights(files, loaded.config, "");
  return loaded;
}

// Of all the arithmetic: what it is spent on changes with the length, so neither tokens nor layers give an estimate.
class LogitsProgress {
 public:
  LogitsProgress(const GptOssConfig& config, std::int64_t tokens)
      : total_(whole(forward_flops(config, tokens) + head_flops(config, tokens))),
        progress_(fmt::format("logits of {} tokens", tokens), total_, "GFLOP") {}

  static double head_flops(const GptOssConfig& config, std::int64_t tokens) {
    return 2.0 * static_cast<double>(config.vocab_size * config.hidden_size) * static_cast<double>(tokens);
  }
  void advance(double flops) {
    const std::scoped_lock lock(mutex_);
    flops_ += flops;
    show(std::min(total_, static_cast<std::int64_t>(flops_ / kGiga)));
  }
  void finish() {
    show(total_);
    progress_.finish();
  }

 private:
  static constexpr double kGiga = 1e9;
  static std::int64_t whole(double flops) { return static_cast<std::int64_t>(std::ceil(flops / kGiga)); }
  void show(std::int64_t done) {
    progress_.advance(done - shown_);
    shown_ = done;
  }

  std::int64_t total_;
  Progress progress_;
  std::mutex mutex_;
  double flops_ = 0;
  std::int64_t shown_ = 0;
};

at::Tensor hidden_states(const Loaded& model, const std::vector<TokenId>& tokens, LogitsProgress& progress) {
  const std::vector<std::int64_t> ids(tokens.begin(), tokens.end());
  const at::Tensor ids_BT = at::tensor(ids, at::kLong).unsqueeze(0);
  return forward_hidden(model.config, model.weights, {ids_BT, at::full({1}, ids_BT.size(1), at::kLong)},
                        [&](double flops) { progress.advance(flops); })[0];
}

struct Arguments {
  CommandLine* line = nullptr;
  std::string model, tokens, out, experts;
};

std::optional<ExpertStorage> expert_storage(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "bf16") return ExpertStorage::expanded;
  if (name == "mxfp4") return ExpertStorage::mxfp4;
  throw Error(ErrorKind::usage, fmt::format("unknown --experts '{}': expected bf16 or mxfp4", name));
}

int run(const Arguments& a) {
  set_compute_threads(0);
  const std::int64_t tokens = write_logits({a.model, a.tokens, a.out, expert_storage(a.experts)});
  if (a.line->common().json)
    std::cout << nlohmann::json{{"out", printable(a.out)}, {"tokens", tokens}}.dump() << "\n";
  else
    std::cout << fmt::format("{}: logits of {} token(s)\n", a.out, tokens);
  return 0;
}

}  // namespace

std::vector<TokenId> read_token_file(const fs::path& file, std::int64_t vocabulary) {
  const nlohmann::json root = read_json_file(file);
  const auto key = root.is_object() ? root.find("tokens") : root.end();
  if (root.is_object() && key == root.end()) bad_tokens(file, "expected a list of token ids, or {\"tokens\": [...]}");
  const nlohmann::json& list = root.is_object() ? *key : root;
  if (!list.is_array()) bad_tokens(file, "expected a list of token ids, or {\"tokens\": [...]}");
  if (list.empty()) bad_tokens(file, "the list of token ids is empty");
  std::vector<TokenId> tokens;
  for (const nlohmann::json& entry : list) {
    // Unsigned numbers beyond int64 would wrap around.
    const bool whole = entry.is_number_integer();
    const bool inside = whole && (entry.is_number_unsigned()
                                      ? entry.get<std::uint64_t>() < static_cast<std::uint64_t>(vocabulary)
                                      : entry.get<std::int64_t>() >= 0 && entry.get<std::int64_t>() < vocabulary);
    if (!inside)
      bad_tokens(file, fmt::format("entry {} of the token ids is {}: expected a whole number from 0 to {}",
                                   tokens.size(), shown(entry), vocabulary - 1));
    tokens.push_back(entry.get<TokenId>());
  }
  return tokens;
}

std::int64_t write_logits(const LogitsJob& job) {
  const at::NoGradGuard no_grad;
  const std::vector<TokenId> tokens = read_token_file(job.tokens, load_checkpoint_config(job.model).vocab_size);
  check_target(job.out);
  const Loaded model = load(job);
  LogitsProgress progress(model.config, static_cast<std::int64_t>(tokens.size()));
  const at::Tensor hidden_TH = hidden_states(model, tokens, progress);
  const std::int64_t count = hidden_TH.size(0);
  const std::int64_t rows = std::max<std::int64_t>(1, kNumbers / model.config.vocab_size);
  AtomicFile file(job.out);
  SafetensorsWriter writer(file.staging(), {{"logits", Dtype::f32, {count, model.config.vocab_size}}});
  for (std::int64_t from = 0; from < count; from += rows) {
    const at::Tensor part = hidden_TH.narrow(0, from, std::min(rows, count - from));
    const at::Tensor logits = unembed(model.config, model.weights, part).to(at::kFloat).contiguous();
    if (!at::isfinite(logits).all().item<bool>()) throw LogitsNotFinite();
    writer.write(std::as_bytes(std::span(logits.const_data_ptr<float>(), static_cast<std::size_t>(logits.numel()))));
    progress.advance(LogitsProgress::head_flops(model.config, part.size(0)));
  }
  writer.finish();
  file.commit();
  progress.finish();
  return count;
}

void add_logits_command(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  arguments->line =
      &line.subcommand("logits", "Compute a checkpoint's logits of given tokens",
                       "  checkpoint logits --model gpt-oss-20b --tokens ids.json --out logits.safetensors", false,
                       [arguments] { return run(*arguments); });
  arguments->line
      ->option("--model", arguments->model,
               "model folder: Hugging Face's layout or the original one (config.json, *.safetensors)", true)
      .option("--tokens", arguments->tokens, "JSON: a list of token ids, or {\"tokens\": [...]}", true)
      .option("--out", arguments->out,
              "safetensors file with one tensor, logits [T, V] in fp32; replaced when it exists", true)
      .option("--experts", arguments->experts, "bf16 or mxfp4: how experts are kept in memory; default: as stored");
}

}  // namespace kc
