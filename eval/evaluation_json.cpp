#include <nlohmann/json.hpp>

#include "eval/evaluation.h"

namespace kc {

namespace {

nlohmann::json metric_json(const Metric& metric) {
  nlohmann::json value = {{"value", metric.value}, {"low", metric.low}, {"high", metric.high}, {"n", metric.n}};
  if (metric.low_task && metric.high_task) {
    value["low_task"] = *metric.low_task;
    value["high_task"] = *metric.high_task;
  }
  return value;
}

nlohmann::json bucket_json(const ReliabilityBucket& bucket) {
  return {{"low", bucket.low},
          {"high", bucket.high},
          {"count", bucket.count},
          {"mean_confidence", bucket.mean_confidence},
          {"accuracy", bucket.accuracy},
          {"accuracy_low", bucket.accuracy_low},
          {"accuracy_high", bucket.accuracy_high}};
}

}  // namespace

nlohmann::json to_json(const Evaluation& evaluation) {
  nlohmann::json result = nlohmann::json::object();
  for (const auto& [key, metric] : evaluation.metrics) result[key] = metric_json(metric);
  result["rows"] = evaluation.rows;
  result["parse_outcomes"] = evaluation.parse_outcomes;
  result["reliability"] = nlohmann::json::array();
  for (const ReliabilityBucket& bucket : evaluation.reliability) result["reliability"].push_back(bucket_json(bucket));
  return result;
}

nlohmann::json to_json(const std::map<std::string, PairedDifference>& differences) {
  nlohmann::json result = nlohmann::json::object();
  for (const auto& [key, difference] : differences) {
    result[key] = metric_json(difference.difference);
    result[key]["sign_flip_p_task"] = difference.sign_flip_p_task;
    result[key]["tasks"] = difference.tasks;
  }
  return result;
}

}  // namespace kc
