// Adapter folders: layouts, conversions, and every message for a bad one.
#include <gtest/gtest.h>

#include "tests/model/adapter_folder.h"

namespace kc {
namespace {

TEST_F(AdapterFolder, ComesBackBitForBitInBothLayouts) {
  save(everything(false), AdapterLayout::peft);
  expect_equal(load(), everything(false));
  save(everything(true), AdapterLayout::tinker);
  expect_equal(load(), everything(true));
}

TEST_F(AdapterFolder, ComesBackForEverySetOfTargets) {
  for (const std::vector<std::string>& targets : std::vector<std::vector<std::string>>{
           {"attention"}, {"experts"}, {"unembedding"}, {"attention", "unembedding"}}) {
    const LoraAdapter adapter = noisy_adapter(config_, false, targets);
    save(adapter);
    expect_equal(load(), adapter);
  }
}

TEST_F(AdapterFolder, PacksExpertsAsPeftDoes) {
  const LoraAdapter adapter = everything();
  save(adapter);
  const Tensors tensors = read_safetensors(file());
  const std::string experts = "base_model.model.model.layers.1.mlp.experts.";
  const at::Tensor& a = tensors.at(experts + "base_layer.lora_A.weight");
  const at::Tensor& b = tensors.at(experts + "base_layer.lora_B.weight");
  const LowRank pair = low_rank(adapter, "model.layers.1.mlp.experts.gate_up_proj");
  const std::int64_t experts_count = config_.num_local_experts;
  for (std::int64_t e = 0; e < experts_count; ++e)
    for (std::int64_t j = 0; j < adapter.rank; ++j) {
      EXPECT_TRUE(a[e * adapter.rank + j].equal(pair.a[e][j])) << "lora_A is expert-major";
      EXPECT_TRUE(b.select(1, j * experts_count + e).equal(pair.b[e].select(1, j))) << "lora_B is rank-major";
    }
}

TEST_F(AdapterFolder, TinkersLayoutIsReadByItsOwnNames) {
  const std::int64_t h = config_.hidden_size;
  const std::int64_t i = config_.intermediate_size;
  const std::int64_t e = config_.num_local_experts;
  const std::string layer = "base_model.model.model.layers.1.";
  const Tensors tensors = {{layer + "attn.k_proj.lora_A.weight", noise({2, h}, 1)},
                           {layer + "attn.k_proj.lora_B.weight", noise({16, 2}, 2)},
                           {layer + "mlp.experts.w1.lora_A.weight", noise({1, 2, h}, 3)},
                           {layer + "mlp.experts.w1.lora_B.weight", noise({e, i, 2}, 4)},
                           {layer + "mlp.experts.w3.lora_A.weight", noise({1, 2, h}, 5)},
                           {layer + "mlp.experts.w3.lora_B.weight", noise({e, i, 2}, 6)},
                           {layer + "mlp.experts.w2.lora_A.weight", noise({e, 2, i}, 7)},
                           {layer + "mlp.experts.w2.lora_B.weight", noise({1, h, 2}, 8)},
                           {"base_model.model.model.unembed_tokens.lora_A.weight", noise({2, h}, 9)},
                           {"base_model.model.model.unembed_tokens.lora_B.weight", noise({config_.vocab_size, 2}, 10)}};
  write_safetensors(file(), tensors);
  write_json_file(folder_.path() / "adapter_config.json", json{{"lora_alpha", 4}, {"r", 2}});
  const LoraAdapter adapter = load();
  EXPECT_EQ(adapter.scale(), 2);
  EXPECT_TRUE(low_rank(adapter, "model.layers.1.mlp.experts.gate_proj").b.equal(noise({e, i, 2}, 4)));
  EXPECT_TRUE(low_rank(adapter, "model.layers.1.mlp.experts.up_proj").b.equal(noise({e, i, 2}, 6)));
  EXPECT_TRUE(low_rank(adapter, "model.layers.1.mlp.experts.down_proj").a.equal(noise({e, 2, i}, 7)));
  EXPECT_TRUE(low_rank(adapter, "lm_head").a.equal(noise({2, h}, 9)));

  // gate's delta belongs into the even columns of gate_up, up's into the odd ones.
  const LowRank joined = gate_up_low_rank(adapter, "model.layers.1.mlp.experts");
  const at::Tensor delta = joined.b[2].mm(joined.a[0]);  // [2I, H]
  EXPECT_LE(relative_error(delta.slice(0, 0, 2 * i, 2), noise({e, i, 2}, 4)[2].mm(noise({1, 2, h}, 3)[0])), 1e-6);
  EXPECT_LE(relative_error(delta.slice(0, 1, 2 * i, 2), noise({e, i, 2}, 6)[2].mm(noise({1, 2, h}, 5)[0])), 1e-6);
}

TEST_F(AdapterFolder, TinkersLayoutConvertsToPeftExactly) {
  for (const bool rank_stabilised : {false, true}) {
    LoraAdapter tinker = everything(true);
    tinker.rank_stabilised = rank_stabilised;
    save(tinker, AdapterLayout::peft);
    const LoraAdapter peft = load();
    EXPECT_EQ(peft.rank, 2 * tinker.rank);
    EXPECT_DOUBLE_EQ(peft.scale(), tinker.scale());
    EXPECT_EQ(natural_layout(peft), AdapterLayout::peft);
    EXPECT_LE(relative_error(logits(peft), logits(tinker)), 1e-13);
    // Exact, not only close: the same numbers and zeros beside them.
    const LowRank gate = low_rank(tinker, "model.layers.0.mlp.experts.gate_proj");
    const LowRank joined = low_rank(peft, "model.layers.0.mlp.experts.gate_up_proj");
    for (std::int64_t e = 0; e < config_.num_local_experts; ++e) {
      EXPECT_TRUE(joined.a[e].narrow(0, 0, 3).equal(gate.a[0]));
      EXPECT_TRUE(joined.b[e].slice(0, 0, 2 * config_.intermediate_size, 2).narrow(1, 0, 3).equal(gate.b[e]));
    }
  }
}

TEST_F(AdapterFolder, TransposedExpertPairsAreRecognisedByTheSizesOfGateUp) {
  const LoraAdapter adapter = everything();
  save(adapter);
  const std::int64_t e = config_.num_local_experts;
  edit_tensors([&](Tensors& tensors) {
    for (const auto& [name, tensor] : Tensors(tensors)) {
      if (name.find("experts") == std::string::npos || name.find("lora_A") == std::string::npos) continue;
      const std::string other = std::string(name).replace(name.find("lora_A"), 6, "lora_B");
      const LowRank pair = unpack_experts({tensor, tensors.at(other), 1}, e, false);
      const LowRank turned = pack_experts({pair.b.transpose(1, 2), pair.a.transpose(1, 2), 1});
      tensors[name] = turned.a.contiguous();
      tensors[other] = turned.b.contiguous();
    }
  });
  expect_equal(load(), adapter);
}

TEST_F(AdapterFolder, ACopyOfTheHeadIsAcceptedOnlyWhenItIsTheBases) {
  save(everything());
  edit_tensors(
      [&](Tensors& t) { t["base_model.model.lm_head.base_layer.weight"] = base_.tensors.at("lm_head.weight"); });
  expect_equal(load(), everything());
  edit_tensors(
      [&](Tensors& t) { t["base_model.model.lm_head.base_layer.weight"] = base_.tensors.at("lm_head.weight").add(1); });
  expect_refused({"lm_head.base_layer.weight", "another base"});
}

TEST_F(AdapterFolder, NarrowTensorsAreWidened) {
  const LoraAdapter adapter = everything();
  save(adapter);
  edit_tensors([](Tensors& tensors) {
    for (auto& [name, tensor] : tensors) tensor = tensor.to(at::kBFloat16);
  });
  for (const auto& [name, tensor] : load().tensors) {
    EXPECT_EQ(tensor.scalar_type(), at::kFloat);
    EXPECT_TRUE(tensor.equal(adapter.tensors.at(name).to(at::kBFloat16).to(at::kFloat))) << name;
  }
}

TEST_F(AdapterFolder, ATargetThatMatchesNothingIsNamed) {
  save(everything());
  edit_config([](json& c) { c["target_modules"].push_back("qq_proj"); });
  expect_refused({"adapter_config.json", "target_modules", "\"qq_proj\" matches nothing"});
  save(everything());
  edit_config([](json& c) { c["target_parameters"].push_back("mlp.experts.up_proj"); });
  expect_refused({"target_parameters", "\"mlp.experts.up_proj\" matches nothing"});
  save(everything());
  edit_config([](json& c) { c["target_modules"] = std::string(1000000, '('); });
  expect_refused({"adapter_config.json", "target_modules", "no regular expression that is understood here"});
  edit_config([](json& c) { c["target_modules"] = "([a-z0-9_.]|[a-z0-9_.][a-z0-9_.])+[!?]"; });
  expect_refused({"adapter_config.json", "target_modules", "no regular expression that is understood here"});
  edit_config([](json& c) { c["target_modules"] = ".*\\.foo_proj"; });
  expect_refused({"\".*\\.foo_proj\" matches nothing"});
}

TEST_F(AdapterFolder, ATargetWithoutTensorsAndTensorsWithoutATargetAreNamed) {
  save(noisy_adapter(config_, false, {"attention"}));
  edit_config([](json& c) { c["target_modules"].push_back("lm_head"); });
  expect_refused({"\"lm_head\"", "no tensors"});
  save(everything());
  edit_config([](json& c) { c["target_modules"].erase(0); });
  expect_refused({"model.layers.0.self_attn.q_proj", "no target"});
}

TEST_F(AdapterFolder, WhatChangesTheArithmeticIsRefusedByKey) {
  const std::vector<std::pair<std::string, json>> edits = {{"use_dora", true},
                                                           {"bias", "all"},
                                                           {"modules_to_save", {"norm"}},
                                                           {"lora_bias", true},
                                                           {"peft_type", "IA3"},
                                                           {"fan_in_fan_out", true},
                                                           {"rank_pattern", {{"q_proj", 2}}},
                                                           {"alpha_pattern", {{"q_proj", 2}}},
                                                           {"init_lora_weights", "pissa"},
                                                           {"layer_replication", {{0, 1}}},
                                                           {"r", "three"},
                                                           {"r", 0},
                                                           {"r", 4.5},
                                                           {"use_rslora", "yes"},
                                                           {"exclude_modules", "q_proj.*"},
                                                           {"layers_to_transform", "first"},
                                                           {"layers_pattern", "h"},
                                                           {"invented_in_future", 3}};
  for (const auto& [key, value] : edits) {
    save(everything());
    edit_config([&k = key, &v = value](json& c) { c[k] = v; });
    expect_refused({"adapter_config.json", "\"" + key + "\""});
  }
}

TEST_F(AdapterFolder, TensorsOfExcludedLayersAndModulesAreNotSilentlyUsed) {
  save(everything());
  edit_config([](json& c) { c["layers_to_transform"] = {0}; });
  expect_refused({"model.layers.1.", "layers_to_transform"});
  edit_config([](json& c) { c["layers_to_transform"] = {99}; });
  expect_refused({"matches nothing"});
}

TEST_F(AdapterFolder, BadTensorsAreNamed) {
  const std::string q = "base_model.model.model.layers.0.self_attn.q_proj.";
  save(everything());
  edit_tensors([&](Tensors& t) { t.erase(q + "lora_B.weight"); });
  expect_refused({"layers.0.self_attn.q_proj", "only one of"});
  save(everything());
  edit_tensors([&](Tensors& t) { t[q + "lora_A.weight"] = noise({3, 5}, 1); });
  expect_refused({q + "lora_A.weight", "[3, 5]", "[3, 24]"});
  save(everything());
  edit_tensors([&](Tensors& t) {
    t["base_model.model.model.layers.0.mlp.router.lora_A.weight"] = noise({3, 24}, 1);
    t["base_model.model.model.layers.0.mlp.router.lora_B.weight"] = noise({5, 3}, 1);
  });
  expect_refused({"mlp.router", "unexpected"});
  save(everything());
  edit_tensors([&](Tensors& t) {
    t["base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight"] = noise({3, 24}, 1);
    t["base_model.model.model.layers.7.self_attn.q_proj.lora_B.weight"] = noise({32, 3}, 1);
  });
  expect_refused({"layers.7.self_attn.q_proj", "unexpected"});
  save(everything());
  edit_tensors([&](Tensors& t) { t["stray.weight"] = noise({3, 24}, 1); });
  expect_refused({"stray.weight", "unexpected"});
  save(everything());
  edit_tensors([&](Tensors& t) { t[q + "lora_magnitude_vector"] = noise({32}, 1); });
  expect_refused({"lora_magnitude_vector", "unexpected"});
  save(everything());
  edit_tensors([&](Tensors& t) { t["base_model.model.model.layers.0.mlp.experts.lora_A.weight"] = noise({15, 7}, 1); });
  expect_refused({"layers.0.mlp.experts", "neither gate_up_proj"});
}

TEST_F(AdapterFolder, ForeignNamesAreShownWithoutTheirControlCharacters) {
  save(everything());
  edit_tensors([](Tensors& t) { t["base_model.model.\x1b[2J.lora_A.weight"] = t.begin()->second; });
  expect_refused({"base_model.model.\\x1b[2J: has only one"});
  edit_tensors([](Tensors& t) {
    t.erase("base_model.model.\x1b[2J.lora_A.weight");
    t["\n"] = t.begin()->second;
  });
  expect_refused({"tensor \"\\n\""});
  edit_config([](json& c) { c["target_modules"] = {"q_proj\x1b[31m"}; });
  edit_tensors([](Tensors& t) { t.erase("\n"); });
  expect_refused({"q_proj\\x1b[31m"});
  edit_config([](json& c) { c["a\nb"] = 1; });
  expect_refused({"a\\nb"});
}

TEST_F(AdapterFolder, ARunInItsPlaceIsToldWhereItsAdaptersAre) {
  const std::filesystem::path run = folder_.path() / "run";
  std::filesystem::create_directories(run / "steps/000004");
  save_adapter(run / "steps/000004", everything(), config_, "base", AdapterLayout::peft);
  std::filesystem::create_directory_symlink("steps/000004", run / "best");
  EXPECT_ERROR((void)load_adapter(run, config_, base_), ErrorKind::bad_data,
               testing::AllOf(testing::HasSubstr("is a run folder"), testing::HasSubstr((run / "best").string()),
                              testing::Not(testing::HasSubstr("warm_start"))));
}

TEST_F(AdapterFolder, AMissingConfigIsNamed) { expect_refused({"adapter_config.json"}); }

}  // namespace
}  // namespace kc
