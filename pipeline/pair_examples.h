#pragma once
#include <memory>

#include "pipeline/experiment.h"
#include "trainer/run.h"

namespace kc {

// Training pairs as encoded examples: epoch e is a balanced draw with rng.child(e), walked in order, so an example is a
// pure function of (rng, step). References must outlive the source. Not thread-safe.
std::unique_ptr<ExampleSource> make_pair_examples(const ExperimentData& data, const PromptEncoder& encoder,
                                                  const HardwareTable& hardware, RngStream rng);

// Prompts of training pairs as text without reserved pieces: what the vocabulary is trained on.
std::vector<std::string> vocabulary_texts(const ExperimentData& data, const PromptTemplate& prompt_template,
                                          const PromptFormat& format, const HardwareTable& hardware, std::int64_t count,
                                          RngStream rng);

}  // namespace kc
