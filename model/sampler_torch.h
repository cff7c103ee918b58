#pragma once
#include <memory>

#include "model/sampler.h"
#include "model/transformer_torch.h"
#include "weights/gpt_oss_config.h"

namespace kc {

// Reads the weights anew at each call; both must outlive the sampler.
std::unique_ptr<Sampler> make_gpt_oss_sampler(const GptOssConfig& config, const GptOssWeights& weights);

}  // namespace kc
