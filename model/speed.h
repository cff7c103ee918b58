#pragma once
// Tokens per second of training steps and of sampling, on random text and random weights.
#include <cstdint>

#include "weights/gpt_oss_config.h"

namespace kc {

struct SpeedOptions {
  std::int64_t batch = 64;
  std::int64_t prompt = 80;      // tokens; also the length of a training sequence, whose every position is a target
  std::int64_t new_tokens = 24;  // sampled after each prompt; the rate counts them alone and includes the prompt's time
  std::int64_t rounds = 5;       // the best one counts
};

struct SpeedRate {
  double wall = 0;       // tokens per second
  double processor = 0;  // tokens per second of processor time, which other programs disturb less
};

struct Speed {
  SpeedRate training, sampling;
};

// With the threads that are set (set_compute_threads). Blocks.
Speed measure_speed(const GptOssConfig& config, const SpeedOptions& options);

}  // namespace kc
