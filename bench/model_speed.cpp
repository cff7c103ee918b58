// Tokens per second of training and of sampling, beside bench/transformers_speed.py. On a busy machine compare with one
// thread and by the processor's time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "model/language_model.h"
#include "model/speed.h"

namespace kc {
namespace {

struct Options {
  std::string size = "small";
  std::string dtype = "float32";
  int threads = 0;
  SpeedOptions speed;
};

GptOssConfig config_of(const Options& options) {
  GptOssConfig c;
  c.dtype = options.dtype;
  if (options.size == "medium") {
    c.hidden_size = c.intermediate_size = 256;
    c.num_attention_heads = 8;
    c.num_key_value_heads = 4;
    c.num_local_experts = 8;
  } else if (options.size == "large") {
    c.hidden_size = c.intermediate_size = 512;
    c.num_hidden_layers = 8;
    c.num_attention_heads = 16;
    c.num_key_value_heads = 8;
    c.num_local_experts = 16;
    c.num_experts_per_tok = 4;
  } else if (options.size != "small") {
    std::fprintf(stderr, "size: small, medium or large\n");
    std::exit(2);
  }
  return c;
}

void run(const Options& options) {
  set_compute_threads(options.threads);
  const Speed speed = measure_speed(config_of(options), options.speed);
  std::printf("kernelcast    %-6s %-8s train %6.0f tokens/s (%6.0f by processor time), sample %6.0f (%6.0f)\n",
              options.size.c_str(), options.dtype.c_str(), speed.training.wall, speed.training.processor,
              speed.sampling.wall, speed.sampling.processor);
}

}  // namespace
}  // namespace kc

// model_speed [small|medium|large] [float32|bfloat16] [threads] [rounds] [batch]
int main(int argc, char** argv) {
  kc::Options options;
  if (argc > 1) options.size = argv[1];
  if (argc > 2) options.dtype = argv[2];
  if (argc > 3) options.threads = std::atoi(argv[3]);
  if (argc > 4) options.speed.rounds = std::max(1, std::atoi(argv[4]));
  if (argc > 5) options.speed.batch = std::max(1, std::atoi(argv[5]));
  kc::run(options);
  return 0;
}
