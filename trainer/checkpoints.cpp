#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include <ATen/core/grad_mode.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json.h"
#include "model/lora_files_torch.h"
#include "model/safetensors_torch.h"
#include "trainer/checkpoints_torch.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kKeptCheckpoints = 2;

json score_json(const ValidationScore& score) { return {{"brier", score.brier}, {"accuracy", score.accuracy}}; }

ValidationScore score_of(const json& value) {
  return {value.at("brier").get<double>(), value.at("accuracy").get<double>()};
}

json progress_json(const StageProgress& progress) {
  return {{"format_version", 1},
          {"stage", progress.stage},
          {"step", progress.step},
          {"first_step", progress.first_step},
          {"seconds", progress.seconds},
          {"seed", progress.seed},
          {"rng", {{"key", progress.rng.key}, {"counter", progress.rng.counter}}},
          {"before", score_json(progress.before)},
          {"best", score_json(progress.best)},
          {"best_checkpoint", progress.best_checkpoint}};
}

StageProgress progress_of(const json& value) {
  StageProgress progress;
  progress.stage = value.at("stage").get<std::string>();
  progress.step = value.at("step").get<std::int64_t>();
  progress.first_step = value.at("first_step").get<std::int64_t>();
  progress.seconds = value.at("seconds").get<double>();
  progress.seed = value.at("seed").get<std::uint64_t>();
  progress.rng.key = value.at("rng").at("key").get<std::uint64_t>();
  progress.rng.counter = value.at("rng").at("counter").get<std::uint64_t>();
  progress.before = score_of(value.at("before"));
  progress.best = score_of(value.at("best"));
  progress.best_checkpoint = value.at("best_checkpoint").get<std::string>();
  return progress;
}

json finished_json(const CheckpointStore::Finished& finished) {
  const StageResult& result = finished.result;
  return {{"checkpoint", finished.checkpoint},   {"seed", finished.seed},
          {"steps", result.steps_done},          {"seconds", result.seconds},
          {"before", score_json(result.before)}, {"after", score_json(result.after)},
          {"best", score_json(result.best)},     {"best_checkpoint", result.best_checkpoint}};
}

CheckpointStore::Finished finished_of(const json& value) {
  CheckpointStore::Finished finished;
  finished.checkpoint = value.at("checkpoint").get<std::string>();
  finished.seed = value.at("seed").get<std::uint64_t>();
  finished.result.steps_done = value.at("steps").get<std::int64_t>();
  finished.result.seconds = value.at("seconds").get<double>();
  finished.result.before = score_of(value.at("before"));
  finished.result.after = score_of(value.at("after"));
  finished.result.best = score_of(value.at("best"));
  finished.result.best_checkpoint = value.at("best_checkpoint").get<std::string>();
  return finished;
}

// Reads `file` by `read`; a missing or ill-typed field becomes Error{bad_data}.
template <class Read>
auto read_fields(const fs::path& file, Read read) {
  const json value = read_folder_json(file);
  try {
    return read(value);
  } catch (const json::exception& error) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{} is not what the trainer wrote ({}); remove the run folder or take another checkpoint",
                            file.string(), error.what()));
  }
}

bool is_checkpoint_name(const std::string& name) {
  return name.size() >= 6 && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string checkpoint_name(std::int64_t run_step) { return fmt::format("{:06}", run_step); }

CheckpointStore::CheckpointStore(fs::path run_folder) : run_folder_(std::move(run_folder)) {}

std::optional<CheckpointStore::Found> CheckpointStore::latest() const {
  const fs::path link = run_folder_ / "latest";
  if (!fs::is_symlink(link)) return std::nullopt;
  const fs::path folder = run_folder_ / fs::read_symlink(link);
  return Found{folder, read_fields(folder / "trainer" / "state.json", progress_of)};
}

void CheckpointStore::save(const TrainingContext& context, const Optimizer& optimizer, const StageProgress& progress) {
  const std::string name = checkpoint_name(progress.run_step());
  AtomicFolder folder(folder_of(name));
  Manifest manifest = context.manifest;
  manifest.step = progress.run_step();
  manifest.stage = progress.stage;
  context.model->save(folder.staging(), manifest);
  for (const auto& [file, text] : context.checkpoint_files) write_file_atomically(folder.staging() / file, text);
  fs::create_directories(folder.staging() / "trainer");
  write_safetensors(folder.staging() / "trainer" / "optimizer.safetensors", optimizer.state());
  write_json_file(folder.staging() / "trainer" / "state.json", progress_json(progress));
  folder.commit();
  if (progress.best_checkpoint == name) point("best", name);
  point("latest", name);
  prune();
}

std::optional<CheckpointStore::Finished> CheckpointStore::finished(const std::string& stage) const {
  const fs::path file = run_folder_ / "stages.json";
  if (!fs::exists(file)) return std::nullopt;
  return read_fields(file, [&](const json& stages) -> std::optional<Finished> {
    if (!stages.contains(stage)) return std::nullopt;
    return finished_of(stages.at(stage));
  });
}

void check_run_folder(const fs::path& run_folder) {
  const CheckpointStore store(run_folder);
  for (const char* stage : {"warmup", "policy"}) (void)store.finished(stage);
  (void)store.latest();
}

void CheckpointStore::mark_finished(const std::string& stage, const Finished& finished) {
  const fs::path file = run_folder_ / "stages.json";
  json stages = fs::exists(file) ? read_folder_json(file) : json::object();
  stages[stage] = finished_json(finished);
  write_json_file(file, stages);
}

void CheckpointStore::point(const std::string& link, const std::string& checkpoint) const {
  const fs::path path = run_folder_ / link;
  const fs::path fresh = run_folder_ / ("." + link + ".new");
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_directory_symlink(fs::path("steps") / checkpoint, fresh, error);
  if (!error) fs::rename(fresh, path, error);
  if (error) throw Error(ErrorKind::environment, fmt::format("cannot link {}: {}", path.string(), error.message()));
}

void CheckpointStore::prune() const {
  std::set<std::string> kept;
  for (const char* link : {"latest", "best"}) {
    const fs::path path = run_folder_ / link;
    if (fs::is_symlink(path)) kept.insert(fs::read_symlink(path).filename().string());
  }
  for (const char* stage : {"warmup", "policy"}) {
    if (const auto done = finished(stage)) kept.insert(done->checkpoint);
  }
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(run_folder_ / "steps")) {
    const std::string name = entry.path().filename().string();
    if (is_checkpoint_name(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  if (names.size() <= kKeptCheckpoints) return;
  names.resize(names.size() - kKeptCheckpoints);
  std::error_code ignored;
  for (const std::string& name : names) {
    if (!kept.contains(name)) fs::remove_all(folder_of(name), ignored);
  }
}

void restore_weights(const fs::path& checkpoint, LanguageModel& model) {
  if (model.has_adapter()) {
    if (!is_adapter_folder(checkpoint))
      throw Error(ErrorKind::bad_data, fmt::format("{} holds no adapter, which this run's config asks for; use another "
                                                   "run.dir",
                                                   checkpoint.string()));
    model.restore_adapter(checkpoint);
    return;
  }
  const LanguageModel stored = LanguageModel::load(checkpoint, {.experts = model.config().experts});
  if (stored.tokenizer().hash() != model.tokenizer().hash()) {
    throw Error(ErrorKind::bad_data, fmt::format("{} has another vocabulary than this run", checkpoint.string()));
  }
  at::NoGradGuard no_grad;
  for (auto& [name, value] : model.weights().tensors) {
    const auto found = stored.weights().tensors.find(name);
    if (found == stored.weights().tensors.end() || found->second.sizes() != value.sizes()) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: tensor {} is missing or has another shape than this run's model: the config has "
                              "changed; use another run.dir",
                              checkpoint.string(), name));
    }
    value.copy_(found->second);
  }
}

void restore_optimizer(const fs::path& checkpoint, Optimizer& optimizer) {
  optimizer.load_state(read_safetensors(checkpoint / "trainer" / "optimizer.safetensors"));
}

}  // namespace kc
