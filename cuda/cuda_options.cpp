#include "cuda/compile_cache.h"
#include "cuda/cuda_device.h"

namespace kc {

CudaOptions read_cuda_options(Config& config, const HostOptions& host) {
  ConfigSection s = config.section("cuda");
  CudaOptions o;
  o.host = host;
  o.device = s.text("device", o.device, {.meaning = "name in the hardware table; empty: as the driver names it"});
  o.index = static_cast<int>(
      s.integer("index", o.index, {.meaning = "which GPU, in the order of the bus", .min = 0, .max = 255}));
  o.compile.toolkit = s.text("toolkit", "", {.meaning = "folder of a CUDA toolkit; empty: the one found at set-up"});
  o.compile.cache = s.text("cache", CompileCache::default_folder().string(),
                           {.meaning = "folder of compilations; empty: in memory only"});
  o.compile.cache_limit_mb = s.integer("cache_limit_mb", o.compile.cache_limit_mb,
                                       {.meaning = "size of that folder; what was not used for the longest time goes",
                                        .unit = "MB",
                                        .min = 1,
                                        .max = 1 << 30});  // of bytes: 2^50
  o.compile.timeout_s = s.number("compile_timeout_s", o.compile.timeout_s,
                                 {.meaning = "limit of one compilation", .unit = "s", .min = 0.1});
  o.compile.memory_limit_mb = s.integer("compile_memory_limit_mb", o.compile.memory_limit_mb,
                                        {.meaning = "memory of a compile worker", .unit = "MB", .min = 256});
  o.compile.jobs =
      s.integer("compile_jobs", host.compile_jobs, {.meaning = "compilations at a time", .min = 1, .max = 256});
  o.compile.sandbox = host.sandbox;
  o.run_timeout_s =
      s.number("run_timeout_s", o.run_timeout_s, {.meaning = "limit of one turn", .unit = "s", .min = 0.01});
  o.time_budget_s = s.number("time_budget_s", o.time_budget_s,
                             {.meaning = "timing of one candidate, all cases", .unit = "s", .min = 0.001});
  o.min_rounds = s.integer("min_rounds", o.min_rounds, {.meaning = "rounds in each process", .min = 3, .max = 1000});
  o.max_rounds = s.integer("max_rounds", o.max_rounds,
                           {.meaning = "rounds of a candidate at most, in all processes", .min = 3, .max = 10000});
  o.target_log2_halfwidth =
      s.number("target_log2_halfwidth", o.target_log2_halfwidth,
               {.meaning = "timing stops when the interval of log2 S within the session is narrower", .min = 0});
  o.correctness_seeds = s.integer("correctness_seeds", o.correctness_seeds,
                                  {.meaning = "input sets of the check before timing", .min = 1, .max = 64});
  o.input_memory_mb = s.integer(
      "input_memory_mb", o.input_memory_mb,
      {.meaning = "input sets of a session; a turn has fewer launches where they are large", .unit = "MB", .min = 1});
  o.idle_timeout_s = s.number("idle_timeout_s", o.idle_timeout_s,
                              {.meaning = "wait for a stopped candidate to leave the GPU", .unit = "s", .min = 0});
  if (o.max_rounds < o.min_rounds) s.fault("max_rounds", "is below min_rounds");
  return o;
}

}  // namespace kc
