// Training an adapter over a frozen base: what moves, what a checkpoint holds, and how a run goes on.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "model/lora_files_torch.h"
#include "model/safetensors_torch.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/tiny_run.h"
#include "trainer/checkpoints_torch.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using test::TinyRun;

LoraOptions lora(bool shared = true) {
  LoraOptions options;
  options.rank = 4;
  options.alpha = 8;
  options.shared_experts = shared;
  return options;
}

// The bin alone as policy: it always parses, so groups differ from the first step on.
PolicyOptions policy() {
  PolicyOptions options = TinyRun::policy(5);
  options.policy_wire = "direct";
  return options;
}

// A tiny run whose model is a stored base with an adapter.
struct LoraRun : TinyRun {
  LoraRun(const fs::path& folder, const fs::path& base, const LoraOptions& options = lora()) : TinyRun(folder) {
    if (!fs::exists(base / "config.json")) {
      fs::create_directories(base);
      model.save(base, {});
    }
    model = LanguageModel::load(base);
    model.add_adapter(options, RngStream(5));
  }
};

using Tensors = std::map<std::string, at::Tensor>;

Tensors copies(const Tensors& tensors) {
  Tensors out;
  for (const auto& [name, tensor] : tensors) out[name] = tensor.clone();
  return out;
}

void expect_equal(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_TRUE(tensor.equal(b.at(name))) << name;
}

class LoraTraining : public testing::Test {
 protected:
  fs::path base() const { return folder_.path() / "base"; }
  fs::path run(const std::string& name) const { return folder_.path() / name; }
  test::TempFolder folder_;
};

TEST_F(LoraTraining, MovesTheAdapterOnlyAndLearns) {
  LoraRun run_(run("a"), base());
  const Tensors before = copies(run_.model.weights().tensors);
  const Tensors adapter = copies(run_.model.weights().adapter.tensors);
  WarmupOptions options = TinyRun::warmup(60);
  options.adam_learning_rate = 1e-2;
  const StageResult result = run_warmup(run_.context, options);
  expect_equal(before, run_.model.weights().tensors);
  for (const auto& [name, tensor] : run_.model.weights().adapter.tensors)
    EXPECT_FALSE(tensor.equal(adapter.at(name))) << name << " did not move";
  for (const auto& [name, tensor] : run_.model.weights().tensors) {
    EXPECT_FALSE(tensor.requires_grad()) << name;
    EXPECT_FALSE(tensor.grad().defined()) << name;
  }
  EXPECT_LT(result.after.brier, 0.8 * result.before.brier);
}

TEST_F(LoraTraining, ACheckpointIsAnAdapterFolderThatNamesItsBase) {
  LoraRun run_(run("a"), base());
  run_warmup(run_.context, TinyRun::warmup(3));
  const fs::path latest = run("a") / "latest";
  EXPECT_FALSE(fs::exists(latest / "model.safetensors"));
  EXPECT_TRUE(fs::exists(latest / "adapter_model.safetensors"));
  for (const auto& [name, tensor] : read_safetensors(latest / "trainer" / "optimizer.safetensors"))
    EXPECT_TRUE(name == "adam.steps" || name.find("lora_") != std::string::npos) << name;
  LanguageModel opened = LanguageModel::load(latest);
  EXPECT_EQ(opened.manifest().base, fs::absolute(base()).string());
  EXPECT_EQ(opened.manifest().stage, "warmup");
  expect_equal(opened.weights().tensors, run_.model.weights().tensors);
  expect_equal(opened.weights().adapter.tensors, run_.model.weights().adapter.tensors);
  EXPECT_EQ(test::toy_score(run_.model, run_.encoder).brier, test::toy_score(opened, run_.encoder).brier);
}

TEST_F(LoraTraining, ResumesBitForBitInBothStages) {
  for (const bool shared : {true, false}) {
    const std::string name = shared ? "shared" : "per_expert";
    LoraRun whole(run(name + "-whole"), base(), lora(shared));
    run_warmup(whole.context, TinyRun::warmup(6));
    const Tensors before = copies(whole.model.weights().adapter.tensors);
    run_policy(whole.context, policy(), {});
    EXPECT_FALSE(before.at("lm_head.lora_A").equal(whole.model.weights().adapter.tensors.at("lm_head.lora_A")));

    {
      LoraRun first(run(name + "-parts"), base(), lora(shared));
      std::stop_source stop;
      first.context.stop = stop.get_token();
      int validations = 0;
      first.context.validate = [&, inner = first.context.validate] {
        if (++validations == 2) stop.request_stop();  // in the middle of the warm start
        return inner();
      };
      EXPECT_THROW(run_warmup(first.context, TinyRun::warmup(6)), Error);
    }
    LoraRun second(run(name + "-parts"), base(), lora(shared));
    run_warmup(second.context, TinyRun::warmup(6));
    LoraRun third(run(name + "-parts"), base(), lora(shared));
    run_warmup(third.context, TinyRun::warmup(6));
    run_policy(third.context, policy(), {});
    expect_equal(third.model.weights().adapter.tensors, whole.model.weights().adapter.tensors);
  }
}

TEST_F(LoraTraining, AnotherBaseIsRefused) {
  LoraRun run_(run("a"), base());
  run_warmup(run_.context, TinyRun::warmup(2));
  fs::remove_all(base());
  fs::create_directories(base());
  test::tiny_model(9).save(base(), {});
  EXPECT_ERROR((void)LanguageModel::load(run("a") / "latest"), ErrorKind::bad_data,
               testing::HasSubstr("another model is there now"));
  fs::remove_all(base());
  EXPECT_ERROR((void)LanguageModel::load(run("a") / "latest"), ErrorKind::bad_data,
               testing::HasSubstr("no model folder here"));
}

TEST_F(LoraTraining, OtherRanksAndRunsWithoutAnAdapterAreRefused) {
  LoraRun run_(run("a"), base());
  run_warmup(run_.context, TinyRun::warmup(2));
  LoraOptions other = lora();
  other.rank = 2;
  LoraRun narrower(run("b"), base(), other);
  EXPECT_ERROR(narrower.model.restore_adapter(run("a") / "latest"), ErrorKind::bad_data,
               testing::HasSubstr("another rank, alpha or targets"));
  EXPECT_ERROR(restore_weights(base(), run_.model), ErrorKind::bad_data, testing::HasSubstr("holds no adapter"));
}

TEST_F(LoraTraining, AModelThatIsStoredNowhereGetsNoAdapter) {
  LanguageModel fresh = test::tiny_model();
  EXPECT_ERROR(fresh.add_adapter(lora(), RngStream(1)), ErrorKind::config, testing::HasSubstr("run.init"));
}

TEST_F(LoraTraining, ADamagedAdapterIsNamed) {
  LoraRun run_(run("a"), base());
  run_warmup(run_.context, TinyRun::warmup(2));
  const fs::path file = fs::canonical(run("a") / "latest") / "adapter_model.safetensors";
  std::string bytes = read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file_atomically(file, bytes);
  EXPECT_ERROR((void)LanguageModel::load(run("a") / "latest"), ErrorKind::bad_data,
               testing::HasSubstr("adapter_model.safetensors"));
}

TEST_F(LoraTraining, ABrokenStageFileIsFoundBeforeAnyWork) {
  LoraRun run_(run("a"), base());
  run_warmup(run_.context, TinyRun::warmup(2));
  check_run_folder(run("a"));
  write_file_atomically(run("a") / "stages.json", "{\"warmup\": {\"checkpoint\": 3}}");
  EXPECT_ERROR(check_run_folder(run("a")), ErrorKind::bad_data, testing::HasSubstr("stages.json"));
  write_file_atomically(run("a") / "stages.json", "{\"warm");
  EXPECT_ERROR(check_run_folder(run("a")), ErrorKind::bad_data, testing::HasSubstr("stages.json"));
}

}  // namespace
}  // namespace kc
