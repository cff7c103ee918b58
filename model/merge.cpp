#include "model/merge.h"

#include <algorithm>
#include <iostream>
#include <memory>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/mm.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/progress.h"
#include "model/language_model.h"
#include "model/lora_files_torch.h"
#include "model/model_files_torch.h"
#include "weights/checkpoint_writer.h"
#include "weights/conversion.h"
#include "weights/tensor_loading.h"
#include "weights/tensor_tables.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

at::ScalarType type_of(const TensorHeader& spec) {
  if (spec.dtype == Dtype::bf16) return at::kBFloat16;
  if (spec.dtype == Dtype::f32) return at::kFloat;
  return at::kByte;
}

at::Tensor read(const TensorSource& source, const TensorHeader& spec, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> shape = spec.shape;
  shape[0] = to - from;
  at::Tensor out = at::empty(shape, type_of(spec));
  read_rows(source, spec, from, to, static_cast<std::byte*>(out.mutable_data_ptr()));
  return out;
}

// The adapter's pair of a stored tensor; undefined when it leaves the tensor alone.
LowRank pair_of(const LoraAdapter& adapter, const std::string& tensor) {
  if (tensor.ends_with(".mlp.experts.gate_up_proj"))
    return gate_up_low_rank(adapter, tensor.substr(0, tensor.rfind('.')));
  const std::string weight = ".weight";
  return low_rank(adapter, tensor.ends_with(weight) ? tensor.substr(0, tensor.size() - weight.size()) : tensor);
}

// Rows [from, to) of s B A: of a linear weight [out, in] its rows, of experts [E, in, out] its experts.
at::Tensor delta(const LowRank& pair, std::int64_t from, std::int64_t to) {
  if (pair.a.dim() == 2) return at::mm(pair.b.narrow(0, from, to - from), pair.a).mul(pair.scale);
  at::Tensor out = at::empty({to - from, pair.a.size(2), pair.b.size(1)}, pair.a.options());
  for (std::int64_t e = from; e < to; ++e) {
    const LowRank one = of_expert(pair, e);
    at::Tensor target = out.select(0, e - from);
    at::mm_out(target, one.a.t(), one.b.t());
  }
  return out.mul_(pair.scale);
}

bool adapts_experts(const LoraAdapter& adapter, std::int64_t layer) {
  const std::string module = layer_name(layer, "mlp.experts.");
  return std::any_of(adapter.tensors.begin(), adapter.tensors.end(),
                     [&](const auto& entry) { return entry.first.starts_with(module); });
}

// The base's storage, but for what the adapter cannot be folded into: of a layer whose experts it changes both matrices
// are expanded, since config.json can only say so of a whole layer.
GptOssConfig merged_config(const CheckpointFiles& files, const LoraAdapter& adapter) {
  GptOssConfig config = files.config();
  std::vector<bool> expanded;
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i)
    expanded.push_back(config.experts_of(i) == ExpertStorage::expanded || adapts_experts(adapter, i));
  const bool all = std::find(expanded.begin(), expanded.end(), false) == expanded.end();
  const bool any = std::find(expanded.begin(), expanded.end(), true) != expanded.end();
  if (all) config.experts = ExpertStorage::expanded;
  config.expanded_layers = any && !all ? expanded : std::vector<bool>{};
  if (low_rank(adapter, "lm_head").defined()) config.tie_word_embeddings = false;
  return config;
}

LoraAdapter adapter_for(const CheckpointFiles& files, const fs::path& folder) {
  const GptOssConfig& config = files.config();
  return load_adapter(folder, config, [&] {
    GptOssConfig expanded = config;
    expanded.experts = ExpertStorage::expanded;
    const std::string wanted = config.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
    for (const TensorHeader& spec : tensor_table(expanded))
      if (spec.name == wanted) return read(files.source(spec), spec, 0, spec.shape[0]);
    throw Error(ErrorKind::internal, "a model without a head");
  });
}

// Where a tensor of the merged folder is read from: a head that becomes its own starts as the embedding.
TensorSource source_of(const CheckpointFiles& files, const TensorHeader& spec) {
  if (spec.name != "lm_head.weight" || !files.config().tie_word_embeddings) return files.source(spec);
  TensorHeader embedding = spec;
  embedding.name = "model.embed_tokens.weight";
  return files.source(embedding);
}

// A base in another format may be meant, another model never is, and their tensors fit alike.
void warn_of_another_base(const fs::path& model, const fs::path& adapter) {
  if (!fs::exists(adapter / "manifest.json")) return;
  const std::string trained_on = load_manifest(adapter).base_hash;
  if (trained_on.empty() || trained_on == base_fingerprint(model)) return;
  log::warning(
      fmt::format("{}: the adapter was trained on another folder than {} (its manifest.json names it as base): "
                  "the result is right only if both hold the same weights",
                  adapter.string(), model.string()));
}

class Merger {
 public:
  Merger(const CheckpointFiles& files, const LoraAdapter& adapter, CheckpointWriter& writer,
         const std::stop_token& stop)
      : files_(files), adapter_(adapter), writer_(writer), stop_(stop) {}

  // Whether the adapter changed it.
  bool fold(const TensorHeader& spec) {
    const LowRank pair = pair_of(adapter_, spec.name);
    const TensorSource source = source_of(files_, spec);
    for (const auto& [from, to] : row_ranges(spec)) {
      if (stop_.stop_requested()) throw Error(ErrorKind::interrupted, "interrupted; nothing was written");
      at::Tensor rows = read(source, spec, from, to);
      if (pair.defined()) rows = rows.to(at::kFloat).add_(delta(pair, from, to)).to(rows.scalar_type());
      if (pair.defined() && !at::isfinite(rows).all().item<bool>()) {
        throw Error(ErrorKind::bad_data,
                    fmt::format("tensor \"{}\" would hold numbers that are not finite: the adapter's weights or its "
                                "lora_alpha are too large, or the base is damaged (`checkpoint verify`)",
                                spec.name));
      }
      writer_.write({static_cast<const std::byte*>(rows.const_data_ptr()), rows.nbytes()});
    }
    return pair.defined();
  }

 private:
  const CheckpointFiles& files_;
  const LoraAdapter& adapter_;
  CheckpointWriter& writer_;
  const std::stop_token& stop_;
};

}  // namespace

Merge merge_adapter(const fs::path& model, const fs::path& adapter_folder, const fs::path& out,
                    const std::stop_token& stop) {
  const at::NoGradGuard no_grad;
  require_output_folder(out, model, {model, adapter_folder});
  const CheckpointFiles files(model);
  const LoraAdapter adapter = adapter_for(files, adapter_folder);
  warn_of_another_base(model, adapter_folder);
  const GptOssConfig config = merged_config(files, adapter);
  const std::vector<TensorHeader> table = tensor_table(config);
  Merge result;
  AtomicFolder staging(out);
  CheckpointWriter writer(staging.staging(), table);
  Merger merger(files, adapter, writer, stop);
  Progress progress("merging " + adapter_folder.string(), static_cast<std::int64_t>(table.size()), "tensors");
  for (const TensorHeader& spec : table) {
    result.changed += merger.fold(spec) ? 1 : 0;
    result.bytes += spec.bytes();
    ++result.tensors;
    progress.advance(1);
  }
  const auto hashes = writer.finish();
  copy_other_files(model, staging.staging());
  write_config_and_manifest(model, config, hashes, staging.staging());
  staging.commit();
  progress.finish();
  return result;
}

void add_merge_command(CommandLine& line) {
  struct Arguments {
    CommandLine* line = nullptr;
    std::string model, adapter, out;
  };
  auto arguments = std::make_shared<Arguments>();
  arguments->line = &line.subcommand(
      "merge", "Fold a low-rank adapter into its base",
      "  checkpoint merge --model gpt-oss-20b --adapter runs/a/best --out gpt-oss-20b-tuned", false, [arguments] {
        const Merge done = merge_adapter(arguments->model, arguments->adapter, arguments->out, interrupt_token());
        if (arguments->line->common().json)
          std::cout << nlohmann::json{{"out", printable(arguments->out)},
                                      {"tensors", done.tensors},
                                      {"changed", done.changed},
                                      {"bytes", done.bytes}}
                           .dump()
                    << "\n";
        else
          std::cout << fmt::format("{}: {} tensors, {} of them changed, {} bytes\n", arguments->out, done.tensors,
                                   done.changed, done.bytes);
        return 0;
      });
  arguments->line->option("--model", arguments->model, "model folder of the base", true)
      .option("--adapter", arguments->adapter, "adapter folder (adapter_config.json), or a checkpoint that is one",
              true)
      .option("--out", arguments->out, kOutputHelp, true);
}

}  // namespace kc
