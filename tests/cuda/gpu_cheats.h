#pragma once
// Device code that deceives, or whose time is known: run on a GPU by gpu_test.cpp, compiled everywhere by
// gpu_cheats_test.cpp. All compute y = 2 x + 1 or pretend to.
#include <string>
#include <vector>

#include "forecast/measurement.h"

namespace kc::test {

inline constexpr const char* kHonestBody = "if (i < c.N) y[i] = 2.0f * x[i] + 1.0f;";
// Nanoseconds `t` of the device's global timer.
inline constexpr const char* kReadTimer = "asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(t) :: \"memory\");";

// A kernel `name` whose body is `body`, one thread an element; BLOCK is a tunable.
inline std::string gpu_kernel(const std::string& body, const std::string& name = "run") {
  return "#pragma kernelcast launch " + name + " grid(ceil_div(N, BLOCK)) block(BLOCK)\n__global__ void " + name +
         "(Case c, const float* x, float* y) {\n"
         "  const long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;\n" +
         body + "\n}\n";
}

struct GpuCheat {
  std::string name;
  std::string source;
  std::vector<MeasurementStatus> verdicts;  // any of them
};

inline std::vector<GpuCheat> gpu_cheats() {
  using enum MeasurementStatus;
  const std::string honest = kHonestBody;
  const std::string timer = "unsigned long long t; " + std::string(kReadTimer);
  return {
      {"writes nothing", gpu_kernel("if (i < 0) y[i] = x[i];"), {incorrect}},
      {"not a number", gpu_kernel("if (i < c.N) y[i] = __int_as_float(0x7fffffff);"), {incorrect}},
      {"zeros", gpu_kernel("if (i < c.N) y[i] = 0;"), {incorrect}},
      {"drops the tail", gpu_kernel("if (i < c.N - 1) y[i] = 2.0f * x[i] + 1.0f;"), {incorrect}},
      {"writes a guard region", gpu_kernel(honest + " if (i == 0) y[c.N] = 1;"), {runtime_error}},
      {"writes an input", gpu_kernel(honest + " if (i == 0) ((float*)x)[0] = 0;"), {runtime_error}},
      {"traps", gpu_kernel(honest + " if (i == 0) asm volatile(\"trap;\");"), {runtime_error}},
      {"illegal address", gpu_kernel("if (i == 0) *(volatile int*)16 = 1;"), {runtime_error}},
      {"writes where a host's stack lies",
       gpu_kernel(honest + " if (i == 0) *(volatile int*)0x7ffffff00000 = 1;"),
       {runtime_error}},
      {"endless", gpu_kernel("while (c.N > 0) asm volatile(\"\");"), {timeout}},
      {"keeps a result",
       "__device__ float kept;\n" + gpu_kernel(honest + " if (i == 0) kept = x[0];"),
       {compile_error}},
      {"prints", gpu_kernel("if (i == 0) printf(\"hello\");"), {compile_error}},
      // What there is behind the outputs is no result; it ends where nothing is mapped any more.
      {"searches the address space",
       gpu_kernel("const float wanted = 2.0f * x[0] + 1.0f;\n"
                  "for (const float* at = y + c.N + i;; at += c.N)\n"
                  "  if (*(const volatile float*)at == wanted) { y[i] = at[i]; return; }"),
       {incorrect, runtime_error, timeout}},
      {"works in every other microsecond",
       gpu_kernel(timer + " if (i < c.N && (t >> 10) % 2 == 0) y[i] = 2.0f * x[i] + 1.0f;"),
       {incorrect}},
      {"sets the timer",
       gpu_kernel("asm volatile(\"mov.u64 %globaltimer, %0;\" :: \"l\"(0ull)); " + honest),
       {compile_error}},
  };
}

// Honest, and reads the clock.
inline std::string timer_reading_kernel() {
  return gpu_kernel("unsigned long long t; " + std::string(kReadTimer) + " if (t == 0) return; " + kHonestBody);
}

// Honest, and takes `nanoseconds` by the device's global timer.
inline std::string kernel_that_takes(int nanoseconds) {
  return gpu_kernel(std::string(kHonestBody) + " unsigned long long t; " + kReadTimer +
                    " const unsigned long long start = t;\ndo { " + kReadTimer + " } while (t - start < " +
                    std::to_string(nanoseconds) + ");");
}

// First one thread reads a line of the input after the other, past the first-level cache, each when the one before has
// come.
inline std::string line_by_line_kernel() {
  return "#pragma kernelcast launch walk grid(1) block(1)\n"
         "__global__ void walk(Case c, const float* x, float* y) {\n"
         "  float sum = 0;\n"
         "  for (long long k = 0, at = 0; k < 128; ++k) {\n"
         "    sum += __ldcg(x + at);\n"
         "    at = (at + 32 + (sum > 1e30f)) % c.N;\n"
         "  }\n"
         "  y[0] = sum;\n"
         "}\n" +
         gpu_kernel(kHonestBody);
}

// Eight kernels, of which each does a part.
inline std::string many_kernels() {
  std::string text;
  for (int k = 0; k < 8; ++k) {
    const std::string part = std::to_string(k);
    text += gpu_kernel("if (i < c.N && i % 8 == " + part + ") y[i] = 2.0f * x[i] + 1.0f;", "part" + part);
  }
  return text;
}

}  // namespace kc::test
