#include "weights/verification.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/progress.h"
#include "weights/checkpoint_files.h"
#include "weights/mxfp4.h"
#include "weights/tensor_loading.h"

namespace kc {
namespace {

// A piece of one tensor, or a whole file to be hashed.
struct Task {
  const SafetensorsFile* file = nullptr;
  const TensorEntry* entry = nullptr;  // null: hash the file
  std::int64_t from = 0, to = 0;       // rows
  std::string hash = {};
};

struct Findings {
  std::mutex mutex;
  std::map<const TensorEntry*, std::int64_t> nonfinite;
  std::vector<std::string> problems;
};

// Values whose exponent bits are all ones. Through memcpy: a foreign file's data need not be aligned.
template <class Bits>
std::int64_t count_nonfinite(std::span<const std::byte> data, Bits exponent) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < data.size() / sizeof(Bits); ++i) {
    Bits value;
    std::memcpy(&value, data.data() + i * sizeof(Bits), sizeof(Bits));
    count += static_cast<Bits>(value & exponent) == exponent ? 1 : 0;
  }
  return count;
}

std::span<const std::byte> rows_of(const Task& task) {
  const auto row = static_cast<std::size_t>(
      task.entry->spec.bytes() /
      std::max<std::int64_t>(1, task.entry->spec.shape.empty() ? 1 : task.entry->spec.shape[0]));
  return task.file->data(*task.entry)
      .subspan(static_cast<std::size_t>(task.from) * row, static_cast<std::size_t>(task.to - task.from) * row);
}

std::string scales_name(const std::string& blocks) {
  std::string name = blocks;
  return name.replace(name.size() - 6, 6, "scales");
}

std::int64_t nonfinite_values(const CheckpointFiles& files, const Task& task) {
  const TensorHeader& spec = task.entry->spec;
  const auto data = rows_of(task);
  task.file->mapped().fetch(data);
  if (spec.dtype == Dtype::bf16) return count_nonfinite<std::uint16_t>(data, 0x7F80);
  if (spec.dtype == Dtype::f32) return count_nonfinite<std::uint32_t>(data, 0x7F800000);
  if (!spec.name.ends_with("blocks") || spec.shape.size() != 4 || spec.shape[3] != kMxfp4BlockBytes) return 0;
  const StoredTensor scales = files.find(scales_name(spec.name));
  if (scales.file == nullptr || scales.entry->spec.elements() * kMxfp4BlockBytes != spec.elements()) return 0;
  const std::int64_t per_expert = spec.shape[1] * spec.shape[2];
  return count_nonfinite_mxfp4(
      {reinterpret_cast<const std::uint8_t*>(data.data()),
       reinterpret_cast<const std::uint8_t*>(scales.file->data(*scales.entry).data()) + task.from * per_expert,
       (task.to - task.from) * spec.shape[1], spec.shape[2] * kMxfp4Block});
}

void check_hash(const Task& task, Findings& findings, const std::function<void(std::int64_t)>& advance) {
  constexpr std::size_t kPiece = std::size_t{8} << 20;
  const auto bytes = task.file->mapped().bytes();
  Sha256 hash;
  for (std::size_t from = 0; from < bytes.size(); from += kPiece) {
    const auto piece = bytes.subspan(from, std::min(kPiece, bytes.size() - from));
    hash.update({reinterpret_cast<const char*>(piece.data()), piece.size()});
    task.file->mapped().release(piece);
    advance(static_cast<std::int64_t>(piece.size()));
  }
  const std::string found = hash.hex();
  if (found == task.hash) return;
  const std::scoped_lock lock(findings.mutex);
  findings.problems.push_back(
      fmt::format("{}: has SHA-256 {}, but manifest.json records {}", task.file->path().string(), found, task.hash));
}

void check_stated_bytes(const CheckpointFiles& files, std::vector<std::string>& problems) {
  try {
    const auto stated = files.stated_bytes();
    if (stated && *stated != files.bytes())
      problems.push_back(fmt::format("{}: metadata.total_size is {}, but the tensors have {} bytes",
                                     files.index().string(), *stated, files.bytes()));
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
}

// File name to hash. What is no manifest is a problem of its own.
std::map<std::string, std::string> recorded_hashes(const std::filesystem::path& folder, Findings& findings) {
  std::map<std::string, std::string> hashes;
  const std::filesystem::path file = folder / "manifest.json";
  if (!std::filesystem::exists(file)) return hashes;
  try {
    const nlohmann::json root = read_folder_json(file);
    if (const std::string single = root.value("weights_hash", ""); !single.empty())
      hashes["model.safetensors"] = single;
    const nlohmann::json listed = root.value("file_hashes", nlohmann::json::object());
    for (const auto& [name, hash] : listed.items()) hashes[name] = hash.get<std::string>();
  } catch (const nlohmann::json::exception&) {
    findings.problems.push_back(file.string() + ": weights_hash and file_hashes must be texts");
  } catch (const Error& error) {
    findings.problems.emplace_back(error.what());
  }
  return hashes;
}

std::vector<Task> list_tasks(const CheckpointFiles& files, std::map<std::string, std::string> hashes,
                             Findings& findings, Verification& result) {
  std::vector<Task> tasks;
  for (const auto& file : files.files()) {
    if (const auto it = hashes.find(file->path().filename().string()); it != hashes.end()) {
      tasks.push_back({.file = file.get(), .hash = it->second});
      hashes.erase(it);
      ++result.hashes;
    }
    for (const TensorEntry& entry : file->tensors()) {
      ++result.tensors;
      result.bytes += entry.spec.bytes();
      for (const auto& [from, to] : row_ranges(entry.spec)) tasks.push_back({file.get(), &entry, from, to});
    }
  }
  for (const auto& [name, hash] : hashes)
    findings.problems.push_back(
        fmt::format("{}: manifest.json records its SHA-256, but it was not read", (files.folder() / name).string()));
  return tasks;
}

}  // namespace

Verification verify_checkpoint(const std::filesystem::path& folder, int threads) {
  const CheckpointFiles files(folder, true);
  Verification result;
  result.problems = files.problems();
  check_stated_bytes(files, result.problems);
  Findings findings;
  const std::vector<Task> tasks = list_tasks(files, recorded_hashes(folder, findings), findings, result);
  std::int64_t total = result.bytes;
  for (const Task& task : tasks)
    if (task.entry == nullptr) total += static_cast<std::int64_t>(task.file->mapped().bytes().size());
  Progress progress("verifying " + folder.string(), total >> 20, "MB");
  std::atomic<std::int64_t> done{0};
  const auto advance = [&](std::int64_t bytes) {
    const std::int64_t before = done.fetch_add(bytes);
    progress.advance(((before + bytes) >> 20) - (before >> 20));
  };
  run_in_parallel(static_cast<std::int64_t>(tasks.size()), threads, [&](std::int64_t i) {
    const Task& task = tasks[static_cast<std::size_t>(i)];
    if (task.entry == nullptr) return check_hash(task, findings, advance);
    if (const std::int64_t count = nonfinite_values(files, task); count > 0) {
      const std::scoped_lock lock(findings.mutex);
      findings.nonfinite[task.entry] += count;
    }
    const auto data = rows_of(task);
    task.file->mapped().release(data);
    advance(static_cast<std::int64_t>(data.size()));
  });
  result.problems.insert(result.problems.end(), findings.problems.begin(), findings.problems.end());
  for (const auto& file : files.files())
    for (const TensorEntry& entry : file->tensors())
      if (const auto it = findings.nonfinite.find(&entry); it != findings.nonfinite.end())
        result.problems.push_back(
            fmt::format("{}: tensor \"{}\": {} value(s) are NaN, infinite or not finite in bfloat16",
                        file->path().string(), entry.spec.name, it->second));
  for (std::string& problem : result.problems) problem = printable(problem);
  return result;
}

}  // namespace kc
