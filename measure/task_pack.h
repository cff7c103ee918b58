#pragma once
// Task packs: folders tasks/<name>/ with task.yaml, the trusted reference and candidate sources (docs/task-packs.md).
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forecast/kernel_text.h"

namespace kc {

enum class DataType { f32, f64, i32, i64, u8, u32 };
std::size_t size_of(DataType type);
bool is_floating(DataType type);

struct TensorSpec {
  std::string name;
  DataType dtype = DataType::f32;
  std::string shape;      // product expression of the sizes, e.g. "M * K": number of elements
  std::string generator;  // inputs only: normal | uniform | integers | csr_offsets ... (docs/task-packs.md)
  std::map<std::string, std::string> options;  // of the generator; values are expressions of the sizes
  // Inputs only, may be empty: the generator of the last set that correctness is checked on, and its options.
  std::string check_generator;
  std::map<std::string, std::string> check_options;
};

struct CaseSpec {
  std::string name;
  std::map<std::string, std::int64_t> sizes;
};

// What a floating output may be off (docs/task-packs.md, "Tolerance"): either so many standard errors of the rounding
// model, by element, or the same for all elements.
struct Tolerance {
  double relative = 0;  // of max(|expected|, root mean square of the output)
  double absolute = 0;
  std::string reason;
  double standard_errors = 0;  // above 0: the reference computes in `real` and says each element's error

  bool is_derived() const { return standard_errors > 0; }
};

// A source, or a template with the values that each tunable may take.
struct CandidateSource {
  std::string file;
  std::string text;
  std::vector<std::pair<std::string, std::vector<std::string>>> tunables;
  std::vector<std::string> constraints;
  std::int64_t max_instances = 0;  // 0: all
  std::string expect;              // as in Candidate
};

// A library routine that candidates are compared with beside the seed. Arguments are names of tensors or expressions of
// the sizes, by the routine's own names (docs/cuda.md).
struct CudaBaseline {
  std::string name;
  std::string library;  // cublas
  std::string routine;
  std::map<std::string, std::string> arguments;
};

// The same task as device code (docs/cuda.md): reference, inputs, outputs and tolerance are the pack's.
struct CudaPart {
  KernelText seed;
  std::string seed_name;
  std::vector<CandidateSource> sources;
  std::vector<CaseSpec> cases;       // empty: the pack's
  std::vector<std::string> options;  // of the compiler
  std::vector<CudaBaseline> baselines;
  bool cold_cache = true;  // L2 is flushed before every timed run
};

struct TaskPack {
  std::string name;
  std::string title;
  std::filesystem::path folder;
  std::vector<std::string> size_names;  // order of the members of `Case`
  std::vector<CaseSpec> cases;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  Tolerance tolerance;
  std::string reference_source;  // text; trusted, in more digits than the outputs have
  std::vector<std::string> compiler_flags;
  std::string compiler;    // of C++ sources, a program; empty: the one of section `measure`
  std::string c_compiler;  // of C sources
  int threads = 1;
  bool cold_cache = true;  // of the host: inputs come out of memory, or out of the caches of the core that runs
  std::string work;        // units of work per launch, an expression of the sizes
  KernelText seed;         // the kernel that speedups are measured against
  std::string seed_name;
  std::vector<CandidateSource> sources;
  std::vector<std::string> devices = {"host"};  // of host, cuda
  std::optional<CudaPart> cuda;

  bool supports(const std::string& device) const;
};

struct Candidate {
  std::string name;  // "blocked.cpp TILE=32 UNROLL=4"
  KernelText kernel;
  bool is_seed = false;
  std::string expect;  // "", or the status that a deliberately wrong source must get
};

// Error{bad_data} with file and line: unknown key, missing file, ill-formed expression, no case, no output.
TaskPack load_task_pack(const std::filesystem::path& folder);
// The pack as this device sees it: its seed, candidates and cases in the place of the host's. Error{bad_data} when the
// pack does not name the device.
TaskPack pack_for_device(const TaskPack& pack, const std::string& device);
std::vector<TaskPack> load_task_packs(const std::filesystem::path& root);  // every folder with a task.yaml, by name

// Seed first, then every source and template instance (constraints applied, at most `max_instances` per template drawn
// by the pack's seed), in a fixed order.
std::vector<Candidate> list_candidates(const TaskPack& pack);

// What a CPU can admit of a pack for a device (admit_task): reference, tolerance and the host's seed on the device's
// cases. Nothing where the host has no part in the task.
std::optional<TaskPack> pack_for_admission(const TaskPack& pack, const std::string& device);

// "c" for a file name that ends in .c, else "cpp".
std::string host_language(const std::string& file);
bool has_c_sources(const TaskPack& pack);
// The languages of kernels beside this pack's seed, as its device sees it. Empty for a language that no device names.
std::vector<std::string> languages_of(const TaskPack& pack);

std::int64_t elements_of(const TensorSpec& tensor, const CaseSpec& input_case);
double work_of(const TaskPack& pack, const CaseSpec& input_case);

// `struct Case { long long M; ... };` and the prototype of `function` ("run" or "reference"): prepended to every
// candidate and to the reference. In language "c" as C has it.
std::string contract_prelude(const TaskPack& pack, std::string_view function = "run",
                             std::string_view language = "cpp");

// The whole text that is compiled: prelude, define lines, #line, source.
std::string candidate_unit(const TaskPack& pack, const Candidate& candidate);
std::string reference_unit(const TaskPack& pack);

}  // namespace kc
