#include "pipeline/experiment.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kc {

ExperimentData::ExperimentData(const std::filesystem::path& file, const DataOptions& options)
    : store_(read_store(file)), parts_(assign_parts(store_, options.split)) {
  const std::vector<std::string> leaks = find_leaks(store_, parts_, !options.split.device_new_kernels);
  if (!leaks.empty()) {
    throw Error(ErrorKind::internal, fmt::format("{}: {} kernel texts stand in more than one part, the first: {}",
                                                 file.string(), leaks.size(), leaks.front()));
  }
}

PairSampler ExperimentData::sampler(Part part) const { return PairSampler(store_, parts_, part); }

bool ExperimentData::has(Part part) const {
  const auto available = sampler(part).available();
  return std::any_of(available.begin(), available.end(), [](std::int64_t n) { return n > 0; });
}

namespace {

constexpr std::int64_t kProfilePairs = 16000;
constexpr std::int64_t kProfilePrompts = 4000;

std::vector<std::vector<TokenId>> encode_rows(const ExperimentData& data, const PromptEncoder& encoder,
                                              const HardwareTable& hardware, const std::vector<PairRow>& rows) {
  std::vector<std::vector<TokenId>> prompts;
  const auto count = std::min<std::size_t>(rows.size(), kProfilePrompts);
  for (std::size_t i = 0; i < count; ++i)
    prompts.push_back(encoder.encode(prompt_request(data.store(), rows[i], hardware)));
  return prompts;
}

double quantile_99(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto position = static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + position, values.end());
  return values[static_cast<std::size_t>(position)];
}

PairDraw training_draw(const ExperimentData& data, std::uint64_t seed) {
  return data.sampler(Part::train)
      .draw_balanced({.count = kProfilePairs}, RngStream(seed).child("training profile").child("train"));
}

void add_labels(TrainingProfile& profile, const std::vector<PairRow>& rows) {
  std::vector<double> log2_speedups;
  for (const PairRow& row : rows) log2_speedups.push_back(row.log2_speedup);
  profile.base_rates = base_rates(rows);
  profile.bin_values = bin_values_of(log2_speedups);
}

}  // namespace

TrainingProfile make_label_profile(const ExperimentData& data, std::uint64_t seed) {
  TrainingProfile profile;
  if (data.has(Part::train)) add_labels(profile, training_draw(data, seed).rows);
  return profile;
}

TrainingProfile make_training_profile(const ExperimentData& data, const PromptEncoder& encoder,
                                      const HardwareTable& hardware, std::uint64_t seed) {
  const RngStream rng = RngStream(seed).child("training profile");
  const PairDraw train = training_draw(data, seed);
  TrainingProfile profile;
  std::set<std::string> tasks;
  std::set<std::string> devices;
  for (const PairRow& row : train.rows) {
    tasks.insert(data.store().measurements[row.reference].task);
    devices.insert(data.store().measurements[row.reference].provenance.device);
  }
  profile.tasks.assign(tasks.begin(), tasks.end());
  profile.devices.assign(devices.begin(), devices.end());
  add_labels(profile, train.rows);

  std::set<TokenId> seen;
  for (const auto& prompt : encode_rows(data, encoder, hardware, train.rows)) {
    seen.insert(prompt.begin(), prompt.end());
    profile.longest_prompt = std::max(profile.longest_prompt, static_cast<std::int64_t>(prompt.size()));
  }
  profile.seen_tokens.assign(seen.begin(), seen.end());

  std::vector<double> shares;
  if (data.has(Part::validation)) {
    const PairDraw held_out =
        data.sampler(Part::validation).draw_balanced({.count = kProfilePrompts / 4}, rng.child("validation"));
    for (const auto& prompt : encode_rows(data, encoder, hardware, held_out.rows))
      shares.push_back(unseen_share(profile, prompt));
  }
  profile.typical_unseen_share = quantile_99(std::move(shares));
  return profile;
}

std::string to_json_text(const TrainingProfile& profile) {
  const nlohmann::json json = {{"tasks", profile.tasks},
                               {"devices", profile.devices},
                               {"base_rates", profile.base_rates},
                               {"bin_values", profile.bin_values},
                               {"seen_tokens", profile.seen_tokens},
                               {"typical_unseen_share", profile.typical_unseen_share},
                               {"longest_prompt", profile.longest_prompt}};
  return json.dump() + "\n";
}

TrainingProfile read_training_profile(const std::filesystem::path& file) {
  const nlohmann::json json = read_json_file(file);
  try {
    TrainingProfile profile;
    json.at("tasks").get_to(profile.tasks);
    json.at("devices").get_to(profile.devices);
    json.at("base_rates").get_to(profile.base_rates);
    json.at("bin_values").get_to(profile.bin_values);
    json.at("seen_tokens").get_to(profile.seen_tokens);
    json.at("typical_unseen_share").get_to(profile.typical_unseen_share);
    json.at("longest_prompt").get_to(profile.longest_prompt);
    return profile;
  } catch (const nlohmann::json::exception& fault) {
    throw Error(ErrorKind::bad_data, file.string() + ": not a training profile (" + fault.what() + ")");
  }
}

double unseen_share(const TrainingProfile& profile, const std::vector<TokenId>& prompt) {
  if (prompt.empty()) return 0;
  const auto unseen = std::count_if(prompt.begin(), prompt.end(), [&](TokenId id) {
    return !std::binary_search(profile.seen_tokens.begin(), profile.seen_tokens.end(), id);
  });
  return static_cast<double>(unseen) / static_cast<double>(prompt.size());
}

}  // namespace kc
