#include "trainer/options.h"

namespace kc {
namespace {

constexpr double kMany = 1e9;

// Keys that both stages have, under the same names.
template <class Options>
void read_common(ConfigSection& s, Options& o) {
  o.steps = s.integer("steps", o.steps, {.meaning = "optimiser steps of the stage", .unit = "steps", .min = 0});
  o.clip_norm = s.number("clip_norm", o.clip_norm, {.meaning = "largest gradient norm; 0 = no clipping", .min = 0});
  o.micro_batch_rows = s.integer(
      "micro_batch_rows", o.micro_batch_rows,
      {.meaning = "sequences in one forward pass: speed and memory only", .unit = "sequences", .min = 1, .max = kMany});
  o.validate_every =
      s.integer("validate_every", o.validate_every,
                {.meaning = "steps between validations; 0 = at the end only", .unit = "steps", .min = 0});
  o.save_every = s.integer("save_every", o.save_every,
                           {.meaning = "steps between checkpoints; 0 = at the end only", .unit = "steps", .min = 0});
  o.log_every =
      s.integer("log_every", o.log_every, {.meaning = "steps per line of the terminal", .unit = "steps", .min = 1});
}

void read_warmup_schedule(ConfigSection& s, WarmupOptions& o) {
  o.warmup_steps = s.integer("warmup_steps", o.warmup_steps,
                             {.meaning = "steps over which the learning rate rises", .unit = "steps", .min = 0});
  o.flat_fraction = s.number("flat_fraction", o.flat_fraction,
                             {.meaning = "share of the steps before the rate falls", .min = 0, .max = 1});
  o.final_fraction = s.number("final_fraction", o.final_fraction,
                              {.meaning = "share of the learning rate at the last step", .min = 0, .max = 1});
}

void read_probability_loss(ConfigSection& s, WarmupOptions& o) {
  o.probability_fraction =
      s.number("probability_fraction", o.probability_fraction,
               {.meaning = "share of a batch's rows that train the probability tokens as well", .min = 0, .max = 1});
  o.probability_weight_start =
      s.number("probability_weight_start", o.probability_weight_start,
               {.meaning = "weight of the probability tokens' loss at the first step", .min = 0, .max = 100});
  o.probability_weight_end = s.number("probability_weight_end", o.probability_weight_end,
                                      {.meaning = "the same at the last step, reached linearly", .min = 0, .max = 100});
}

}  // namespace

WarmupOptions read_warmup_options(Config& config) {
  ConfigSection s = config.section("warmup");
  WarmupOptions o;
  read_common(s, o);
  o.batch_pairs =
      s.integer("batch_pairs", o.batch_pairs, {.meaning = "pairs per step", .unit = "pairs", .min = 1, .max = 1e6});
  o.optimizer = s.choice("optimizer", o.optimizer, {"muon", "adam"},
                         {.meaning = "muon: Muon on the block matrices and AdamW on the rest; adam: AdamW on all"});
  o.muon_learning_rate =
      s.number("muon_learning_rate", o.muon_learning_rate, {.meaning = "step of Muon", .min = 0, .max = 1});
  o.adam_learning_rate =
      s.number("adam_learning_rate", o.adam_learning_rate, {.meaning = "learning rate of AdamW", .min = 0, .max = 1});
  o.momentum = s.number("momentum", o.momentum, {.meaning = "momentum of Muon (Nesterov)", .min = 0, .max = 0.9999});
  read_warmup_schedule(s, o);
  read_probability_loss(s, o);
  return o;
}

PolicyOptions read_policy_options(Config& config) {
  ConfigSection s = config.section("policy");
  PolicyOptions o;
  read_common(s, o);
  o.prompts_per_step = s.integer("prompts_per_step", o.prompts_per_step,
                                 {.meaning = "groups per step", .unit = "prompts", .min = 1, .max = 1e6});
  o.group_size =
      s.integer("group_size", o.group_size,
                {.meaning = "samples per prompt; their mean is the baseline", .unit = "samples", .min = 2, .max = 1e6});
  o.temperature = s.number("temperature", o.temperature, {.meaning = "of the rollouts", .min = 1e-3, .max = 100});
  o.learning_rate = s.number("learning_rate", o.learning_rate, {.meaning = "of Adam, constant", .min = 0, .max = 1});
  o.beta1 = s.number("beta1", o.beta1, {.meaning = "Adam's decay of the mean", .min = 0, .max = 0.9999});
  o.beta2 = s.number("beta2", o.beta2, {.meaning = "Adam's decay of the square", .min = 0, .max = 0.999999});
  o.epsilon = s.number("epsilon", o.epsilon, {.meaning = "Adam's divisor floor", .min = 1e-16, .max = 1});
  o.advantage = s.choice("advantage", o.advantage, {"mean", "grpo_std"},
                         {.meaning = "mean: reward minus the group's mean; grpo_std: divided by the deviation as well, "
                                     "which induces overconfidence"});
  o.loss = s.choice("loss", o.loss, {"importance_sampling"},
                    {.meaning = "-sum over sampled tokens of exp(logp - logp_sampler) * advantage"});
  o.policy_wire = s.choice("policy_wire", o.policy_wire, {"auto", "compact", "tool", "direct"},
                           {.meaning = "what the policy samples: an answer in the prompt's wire format (auto, or its "
                                       "name), or the bin alone (direct)"});
  o.train_router = s.boolean("train_router", o.train_router, {.meaning = "whether the routers' weights move as well"});
  return o;
}

}  // namespace kc
