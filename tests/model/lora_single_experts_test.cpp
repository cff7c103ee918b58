// Adapter folders with pairs of single experts.
#include <set>

#include "tests/model/adapter_folder.h"

namespace kc {
namespace {

// Both layouts of single experts, as their exporters name things; attention and lm_head as PEFT does.
class SingleExperts : public AdapterFolder {
 protected:
  enum class Layout { cookbook, unsloth };
  static constexpr const char* kExperts = "base_model.model.model.layers.1.mlp.experts.";

  void write(const LoraAdapter& adapter, Layout layout) const {
    Tensors tensors;
    const auto put = [&](const std::string& path, const at::Tensor& a, const at::Tensor& b) {
      tensors["base_model.model." + path + ".lora_A.weight"] = a.contiguous();
      tensors["base_model.model." + path + ".lora_B.weight"] = b.contiguous();
    };
    std::set<std::string> targets;
    for (const auto& [name, tensor] : adapter.tensors) {
      if (!name.ends_with(".lora_A")) continue;
      const std::string module = name.substr(0, name.size() - 7), leaf = module.substr(module.rfind('.') + 1);
      const LowRank pair = low_rank(adapter, module);
      if (pair.a.dim() == 2) {
        put(module, pair.a, pair.b);
        targets.insert(leaf);
        continue;
      }
      for (std::int64_t e = 0; e < config_.num_local_experts; ++e) {
        const LowRank one = of_expert(pair, e);
        const std::string before = module.substr(0, module.rfind('.')), number = std::to_string(e);
        const bool cookbook = layout == Layout::cookbook;
        put(before + (cookbook ? "." + number + "." + leaf : "." + leaf + "s." + number), one.a, one.b);
        targets.insert(cookbook ? leaf : leaf + "s." + number);
      }
    }
    write_safetensors(file(), tensors);
    write_json_file(folder_.path() / "adapter_config.json",
                    json{{"peft_type", "LORA"}, {"r", 3}, {"lora_alpha", 5}, {"target_modules", targets}});
  }
};

TEST_F(SingleExperts, OfTheCookbookAreReadAsTinkersOwn) {
  const LoraAdapter tinker = everything(true);
  write(tinker, Layout::cookbook);
  const LoraAdapter read = load();
  EXPECT_EQ(low_rank(read, "model.layers.1.mlp.experts.gate_proj").a.size(0), config_.num_local_experts);
  EXPECT_LE(relative_error(logits(read), logits(tinker)), 1e-13);
  save(read, AdapterLayout::tinker);
  expect_equal(load(), read);
  save(read, AdapterLayout::peft);
  EXPECT_LE(relative_error(logits(load()), logits(tinker)), 1e-13);
}

TEST_F(SingleExperts, OfUnslothAreReadBitForBit) {
  write(everything(false), Layout::unsloth);
  expect_equal(load(), everything(false));
  edit_config(
      [](json& c) { c["target_modules"] = R"(.*\.(q_proj|k_proj|v_proj|o_proj|(gate_up|down)_projs\.\d+)|lm_head)"; });
  expect_equal(load(), everything(false));
}

TEST_F(SingleExperts, ThatAreNoTargetsAddNothing) {
  LoraAdapter some = everything(false);
  write(some, Layout::unsloth);
  edit_tensors([](Tensors& t) {
    std::erase_if(t, [](const auto& entry) { return entry.first.find("gate_up_projs.2.") != std::string::npos; });
  });
  expect_refused({"gate_up_projs.2", "no tensors"});
  edit_config([](json& c) {
    json targets = json::array();
    for (const json& target : c["target_modules"])
      if (target != "gate_up_projs.2") targets.push_back(target);
    c["target_modules"] = targets;
  });
  for (auto& [name, tensor] : some.tensors)
    if (name.find(".gate_up_proj.") != std::string::npos) tensor.select(0, 2).zero_();
  expect_equal(load(), some);
}

TEST_F(SingleExperts, OfAnyOtherLayoutAreRefusedByName) {
  const auto add = [&](const std::string& path, const std::vector<std::int64_t>& a,
                       const std::vector<std::int64_t>& b) {
    edit_tensors([&](Tensors& t) {
      t[kExperts + path + ".lora_A.weight"] = noise(a, 1);
      t[kExperts + path + ".lora_B.weight"] = noise(b, 2);
    });
  };
  const std::int64_t h = config_.hidden_size, i = config_.intermediate_size;
  save(noisy_adapter(config_, false, {"attention"}));
  add("0.gate_up_proj", {3, h}, {2 * i, 3});
  expect_refused({"mlp.experts.0.gate_up_proj", "no known layout", "experts.gate_up_projs.N"});
  write(everything(true), Layout::cookbook);
  add("gate_up_projs.0", {3, h}, {2 * i, 3});
  expect_refused({"experts.gate_up_projs.0", "another layout of single experts"});
  write(everything(true), Layout::cookbook);
  add("9.down_proj", {3, i}, {h, 3});
  expect_refused({"experts.9.down_proj", "unexpected"});
  add("0.down_proj", {3, h}, {h, 3});
  expect_refused({"experts.0.down_proj.lora_A.weight", "[3, 24]", "[3, 20]"});
  write(everything(false), Layout::unsloth);
  edit_tensors([&](Tensors& t) {
    t["base_model.model.model.layers.1.mlp.experts.lora_A.weight"] = noise({3 * config_.num_local_experts, i}, 1);
    t["base_model.model.model.layers.1.mlp.experts.lora_B.weight"] = noise({h, 3 * config_.num_local_experts}, 2);
  });
  expect_refused({"layers.1.mlp.experts", "single experts as well"});
  write(everything(true), Layout::cookbook);
  edit_tensors([](Tensors& t) {
    std::erase_if(t, [](const auto& entry) { return entry.first.find(".up_proj.") != std::string::npos; });
  });
  expect_refused({"layers.0.mlp.experts", "only one of gate_proj and up_proj"});
}

}  // namespace
}  // namespace kc
