#include "pipeline/pair_examples.h"

#include "base/error.h"

namespace kc {
namespace {

// Large enough that an epoch's draw keeps its balance, small enough to draw in a moment.
constexpr std::int64_t kEpochPairs = 65536;

class PairExamples : public ExampleSource {
 public:
  PairExamples(const ExperimentData& data, const PromptEncoder& encoder, const HardwareTable& hardware, RngStream rng)
      : data_(data), encoder_(encoder), hardware_(hardware), sampler_(data.sampler(Part::train)), rng_(rng) {
    load_epoch(0);
    epoch_pairs_ = static_cast<std::int64_t>(rows_.size());
    if (epoch_pairs_ == 0) {
      throw Error(ErrorKind::bad_data,
                  "the training split holds no pair: check data.path and data.split (dataset inspect shows counts)");
    }
  }

  std::vector<TrainingExample> batch(std::int64_t step, std::int64_t count) const override {
    std::vector<TrainingExample> examples;
    for (std::int64_t i = step * count; i < (step + 1) * count; ++i) {
      if (i / epoch_pairs_ != epoch_) load_epoch(i / epoch_pairs_);
      const PairRow& row = rows_[static_cast<std::size_t>(i % epoch_pairs_)];
      examples.push_back({encoder_.encode(prompt_request(data_.store(), row, hardware_)), row.bin});
    }
    return examples;
  }

 private:
  void load_epoch(std::int64_t epoch) const {
    rows_ = sampler_.draw_balanced({.count = kEpochPairs}, rng_.child(static_cast<std::uint64_t>(epoch))).rows;
    epoch_ = epoch;
  }

  const ExperimentData& data_;
  const PromptEncoder& encoder_;
  const HardwareTable& hardware_;
  PairSampler sampler_;
  RngStream rng_;
  std::int64_t epoch_pairs_ = 0;
  mutable std::int64_t epoch_ = -1;
  mutable std::vector<PairRow> rows_;
};

}  // namespace

std::unique_ptr<ExampleSource> make_pair_examples(const ExperimentData& data, const PromptEncoder& encoder,
                                                  const HardwareTable& hardware, RngStream rng) {
  return std::make_unique<PairExamples>(data, encoder, hardware, rng);
}

std::vector<std::string> vocabulary_texts(const ExperimentData& data, const PromptTemplate& prompt_template,
                                          const PromptFormat& format, const HardwareTable& hardware, std::int64_t count,
                                          RngStream rng) {
  const PromptFormat local = resolved(format, false);
  std::vector<std::string> texts;
  for (const PairRow& row : data.sampler(Part::train).draw_balanced({.count = count}, rng).rows) {
    const Prompt prompt =
        prompt_template.render(prompt_request(data.store(), row, hardware), *local.style, *local.wire);
    texts.push_back(prompt.system + prompt.user);
  }
  return texts;
}

}  // namespace kc
