// Loading speed and peak memory of a checkpoint with gpt-oss-20b's shapes.
//   checkpoint_loading write FOLDER [layers]        random MXFP4 folder, 4 layers (4.2 GB) unless said otherwise
//   checkpoint_loading load FOLDER mxfp4|bf16 [threads]
// bench/checkpoint_loading.py runs both and transformers beside them.
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/rng.h"
#include "weights/checkpoint_writer.h"
#include "weights/tensor_loading.h"
#include "weights/tensor_tables.h"

namespace {

using kc::GptOssConfig;

GptOssConfig cut_20b(std::int64_t layers) {
  GptOssConfig c;
  c.vocab_size = 201088;
  c.hidden_size = c.intermediate_size = 2880;
  c.num_hidden_layers = layers;
  c.num_attention_heads = 64;
  c.num_key_value_heads = 8;
  c.head_dim = 64;
  c.num_local_experts = 32;
  c.num_experts_per_tok = 4;
  c.sliding_window = 128;
  c.dtype = "bfloat16";
  c.experts = kc::ExpertStorage::mxfp4;
  return c;
}

// Finite values: bfloat16 of magnitude 2^-8 to 2^-4, any block, scales 2^-7 to 2^0.
void fill(const kc::TensorHeader& spec, std::uint64_t& state, std::vector<std::uint64_t>& words) {
  const bool half = spec.dtype == kc::Dtype::bf16, scales = spec.name.ends_with("_scales");
  for (std::uint64_t& word : words) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    word = half     ? (state & 0x81FF81FF81FF81FFU) | 0x3C003C003C003C00U
           : scales ? (state & 0x0707070707070707U) + 0x7878787878787878U
                    : state;
  }
}

int write_folder(const std::filesystem::path& folder, std::int64_t layers) {
  std::filesystem::create_directories(folder);
  const GptOssConfig config = cut_20b(layers);
  kc::save_gpt_oss_config(config, folder / "config.json");
  const std::vector<kc::TensorHeader> table = kc::tensor_table(config);
  kc::CheckpointWriter writer(folder, table, 1'500'000'000);
  std::vector<std::uint64_t> words(1 << 20);
  std::uint64_t state = 88172645463325252U;
  for (const kc::TensorHeader& spec : table)
    for (std::int64_t left = spec.bytes(); left > 0;) {
      fill(spec, state, words);
      const auto part =
          std::as_bytes(std::span(words)).first(static_cast<std::size_t>(std::min<std::int64_t>(left, 8 << 20)));
      writer.write(part);
      left -= static_cast<std::int64_t>(part.size());
    }
  writer.finish();
  return 0;
}

// Wall clock, and the processor's time of all threads: the fairer one where other work runs beside.
struct Clock {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::clock_t processor = std::clock();
  double wall_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
  double processor_s() const { return static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC; }
};
struct Seconds {
  double wall = 0, processor = 0;
};

std::int64_t status_kb(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size() + 1));
  return 0;
}

struct Memory {
  std::byte* data;
  std::size_t size;
  explicit Memory(std::size_t bytes)
      : data(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        size(bytes) {
    if (data == MAP_FAILED) throw kc::Error(kc::ErrorKind::environment, "not enough memory");
  }
  ~Memory() { munmap(data, size); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

// As many bytes into fresh memory, from a source that is in memory: what no loading can beat.
Seconds copy_seconds(std::size_t bytes, int threads) {
  const std::size_t piece = std::size_t{8} << 20;
  const Memory source(piece * 8), target(bytes);
  std::memset(source.data, 1, source.size);
  const Clock clock;
  kc::run_in_parallel(static_cast<std::int64_t>((bytes + piece - 1) / piece), threads, [&](std::int64_t i) {
    const std::size_t from = static_cast<std::size_t>(i) * piece;
    std::memcpy(target.data + from, source.data + from % source.size, std::min(piece, bytes - from));
  });
  return {clock.wall_s(), clock.processor_s()};
}

int load_folder(const std::filesystem::path& folder, const std::string& experts, int threads) {
  const kc::CheckpointFiles files(folder);
  GptOssConfig config = files.config();
  config.experts = experts == "bf16" ? kc::ExpertStorage::expanded : kc::ExpertStorage::mxfp4;
  const std::vector<kc::TensorHeader> table = kc::tensor_table(config);
  std::size_t bytes = 0;
  for (const kc::TensorHeader& spec : table) bytes += static_cast<std::size_t>(spec.bytes());
  const Seconds copying = copy_seconds(bytes, threads);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts again
  const std::int64_t before = status_kb("VmRSS:");
  const Memory memory(bytes);
  std::vector<kc::LoadTarget> targets;
  std::size_t place = 0;
  for (const kc::TensorHeader& spec : table) {
    targets.push_back({spec, memory.data + place});
    place += static_cast<std::size_t>(spec.bytes());
  }
  const Clock clock;
  kc::load_tensors(files, targets, threads);
  const Seconds loading = {clock.wall_s(), clock.processor_s()};
  const double peak = static_cast<double>(status_kb("VmHWM:") - before) * 1024;
  const double gb = static_cast<double>(bytes) / 1e9;
  std::cout << nlohmann::json{{"weights_gb", gb},
                              {"read_gb", static_cast<double>(files.bytes()) / 1e9},
                              {"load_s", loading.wall},
                              {"load_processor_s", loading.processor},
                              {"load_gb_per_s", gb / loading.wall},
                              {"copy_s", copying.wall},
                              {"copy_processor_s", copying.processor},
                              {"share_of_copy_speed", copying.wall / loading.wall},
                              {"share_by_processor_time", copying.processor / loading.processor},
                              {"peak_over_weights", peak / static_cast<double>(bytes)}}
                   .dump()
            << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() >= 2 && arguments[0] == "write")
      return write_folder(arguments[1], arguments.size() > 2 ? std::stoll(arguments[2]) : 4);
    if (arguments.size() >= 3 && arguments[0] == "load")
      return load_folder(arguments[1], arguments[2], arguments.size() > 3 ? std::stoi(arguments[3]) : 0);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 3;
  }
  std::cerr << "usage: checkpoint_loading write FOLDER [layers] | load FOLDER mxfp4|bf16 [threads]\n";
  return 2;
}
