#include "pipeline/devices.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/error.h"
#include "base/suggest.h"
#include "dataset/journal.h"
#include "dataset/label_store.h"
#include "measure/caching.h"
#include "measure/fake_device.h"
#include "measure/machine.h"
#include "measure/pool.h"
#include "measure/replay_device.h"
#include "pipeline/resources.h"
#include "serve/client.h"
#include "serve/token.h"

namespace kc {
namespace {

constexpr const char* kReplay = "replay:";
constexpr const char* kRemote = "http://";

bool is_server(const std::string& device) { return device.starts_with(kRemote); }

std::unique_ptr<Measurer> open_replay(const std::string& name) {
  const std::size_t mark = name.rfind('#');
  const std::string file = name.substr(0, mark);
  const std::string device = mark == std::string::npos ? "" : name.substr(mark + 1);
  return make_replay_measurer(read_store(find_resource(file)).measurements, file, device);
}

std::unique_ptr<Measurer> open_cuda(CudaOptions options, int index) {
  options.index = index;
  return make_cuda_measurer(options, secret_seed());
}

std::unique_ptr<Measurer> open_one(const std::string& device, const DeviceOptions& options) {
  if (device == "host") return make_host_measurer(options.host, secret_seed());
  if (device == "fake") return make_fake_measurer();
  if (const auto index = cuda_index(device)) return open_cuda(options.cuda, *index);
  if (device.starts_with(kReplay)) return open_replay(device.substr(std::string(kReplay).size()));
  if (is_server(device)) return make_remote_measurer(device, {.token = options.token});
  const std::vector<std::string> known = {"host", "cuda", "replay:", "http://"};
  throw Error(ErrorKind::usage,
              fmt::format("unknown device '{}': expected {}{}", device, kDeviceHelp, did_you_mean(device, known)));
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    parts.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_local(const std::string& device) { return device == "host" || cuda_index(device); }

}  // namespace

std::optional<int> cuda_index(const std::string& device) {
  if (device == "cuda") return 0;
  if (!device.starts_with("cuda:")) return std::nullopt;
  const std::string digits = device.substr(std::string("cuda:").size());
  const bool plain = !digits.empty() && digits.size() <= 3 &&
                     std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!plain) throw Error(ErrorKind::usage, fmt::format("'{}': expected cuda or cuda:N with N from 0", device));
  return std::stoi(digits);
}

std::string kind_of_device(const std::string& name, const Measurer& measurer) {
  return cuda_index(split(name).front()) ? "cuda" : measurer.kind();
}

bool measures_here(const std::string& name) { return std::ranges::all_of(split(name), is_local); }

bool is_store(const std::filesystem::path& file) {
  return std::filesystem::exists(file) || std::filesystem::exists(journal_path(file));
}

bool has_server(const std::string& name) { return std::ranges::any_of(split(name), is_server); }

bool measures_anew(const std::string& name) {
  return std::ranges::all_of(split(name), [](const std::string& one) { return is_local(one) || is_server(one); });
}

std::unique_ptr<Measurer> make_device(const std::string& device, const DeviceOptions& options) {
  const std::vector<std::string> names = split(device);
  std::unique_ptr<Measurer> measurer;
  if (names.size() == 1) {
    measurer = open_one(device, options);
  } else {
    std::vector<PooledDevice> pooled;
    for (const std::string& name : names) pooled.push_back({name, open_one(name, options)});
    measurer = make_pool(std::move(pooled));
  }
  if (options.cache) {
    const Store known = !options.known.empty() && is_store(options.known) ? read_store(options.known) : Store{};
    measurer = make_caching_measurer(std::move(measurer), known.measurements);
  }
  if (options.budget.candidates > 0 || options.budget.seconds > 0) {
    measurer = make_budgeted_measurer(std::move(measurer), options.budget);
  }
  return measurer;
}

std::string remote_token(const std::string& file) {
  if (!file.empty()) return read_token_file(file);
  const char* token = std::getenv("KERNELCAST_TOKEN");
  return token == nullptr ? "" : token;
}

}  // namespace kc
