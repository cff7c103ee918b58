#include "cuda/precompiled_headers.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace kc {
namespace {

constexpr double kShareOfLimit = 5;      // making them, and a unit twice, took less than three times a unit
constexpr std::size_t kRemembered = 64;  // header lists, made or not

double cpu_s() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Names that #line takes as they are; an empty one is NVRTC's to choose.
bool is_plain_name(const std::string& file) {
  const auto is_plain = [](unsigned char c) { return c >= ' ' && c != '"' && c != '\\' && c != '?' && c < 0x7f; };
  return !file.empty() && std::all_of(file.begin(), file.end(), is_plain);
}

NvrtcUnit with_option(NvrtcUnit unit, std::string option) {
  unit.options.push_back(std::move(option));
  return unit;
}

// NVRTC says in one line of the log that it took the file, and in others why it did not.
bool took(NvrtcResult& result, const std::string& path) {
  const std::size_t at = result.log.find("using precompiled header file \"" + path + "\"");
  if (result.code != 0 || at == std::string::npos) return false;
  const std::size_t begin = result.log.rfind('\n', at) + 1;  // npos + 1: the first line
  const std::size_t end = std::min(result.log.find('\n', at), result.log.size() - 1);
  result.log.erase(begin, end + 1 - begin);
  return true;
}

}  // namespace

PrecompiledHeaders::Entry* PrecompiledHeaders::find(const NvrtcUnit& unit, const std::string& headers) {
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.headers == headers && entry.options == unit.options;
  });
  if (known == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known);
  return &entries_.front();
}

void PrecompiledHeaders::drop(Entry& entry, State state) {
  if (!entry.path.empty()) unlink(entry.path.c_str());
  entry.path.clear();
  entry.state = state;
}

bool PrecompiledHeaders::make(Entry& entry, const NvrtcUnit& unit) {
  std::size_t kept = 0;
  for (Entry& other : entries_) {
    if (other.state == State::kept && ++kept >= kKept) drop(other, State::wanted_once);
  }
  entry.path = folder_ + "/" + std::to_string(made_++);
  const NvrtcResult result =
      library_.compile(with_option({unit.file, entry.headers, unit.options, {}}, "--create-pch=" + entry.path));
  entry.state = State::kept;
  if (result.code != 0 || access(entry.path.c_str(), R_OK) != 0) drop(entry, State::lost);
  return entry.state == State::kept;
}

NvrtcResult PrecompiledHeaders::compile(const NvrtcUnit& unit, const std::string& headers) {
  if (folder_.empty() || headers.empty() || !is_plain_name(unit.file)) return library_.compile(unit);
  Entry* entry = find(unit, headers);
  if (entry != nullptr && (entry->state == State::kept || (entry->state == State::due && make(*entry, unit)))) {
    NvrtcUnit behind = with_option(unit, "--use-pch=" + entry->path);
    behind.text = headers + "#line 1 \"" + unit.file + "\"\n" + unit.text;
    NvrtcResult result = library_.compile(behind);
    if (took(result, entry->path)) return result;
    // An error of the unit is no fault of the headers; that NVRTC did not take them is.
    if (result.code == 0) drop(*entry, State::lost);
  }
  const double start = cpu_s();
  NvrtcResult result = library_.compile(unit);
  if (entry == nullptr) {
    entries_.push_front({headers, unit.options, State::wanted_once, ""});
    entry = &entries_.front();
    if (entries_.size() > kRemembered) {
      drop(entries_.back(), State::wanted_once);
      entries_.pop_back();
    }
  }
  const double took_s = cpu_s() - start;
  if (entry->state == State::wanted_once || entry->state == State::due) {
    const bool pays = took_s > kWorthwhileSeconds && took_s < limit_s_ / kShareOfLimit;
    entry->state = pays ? State::due : State::wanted_once;
  }
  return result;
}

}  // namespace kc
