// Candidates with host code, from their text to what can be launched.
#include <gmock/gmock.h>

#include "cuda/admission.h"
#include "cuda/candidate.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/host_wrapper.h"
#include "tests/cuda/needs_nvrtc.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kElf =
    "\x7f"
    "ELF";
constexpr int kHostLine = 4;  // of `#pragma kernelcast host`

class HostCodeCandidate : public ::testing::Test {
 protected:
  void SetUp() override { KC_NEEDS_NVRTC(); }
  CompiledCandidate compile(const std::string& source, const HostOptions& host = quick_options()) {
    CudaCompileOptions options;
    options.cache = cache_.path();
    options.jobs = 1;
    CudaCompiler compiler(options, host);
    Hardware hardware;
    hardware.compute_capability = "9.0";
    hardware.multiprocessors = 132;
    hardware.max_threads_per_multiprocessor = 2048;
    const Candidate candidate{"w.cu BLOCK=64", {"cuda", "id", source, {{"BLOCK", "64"}}}, false, ""};
    return compile_candidate(compiler, task_.pack(), candidate, sm_limits(hardware));
  }
  CudaTask task_;
  TempFolder cache_;
};

TEST_F(HostCodeCandidate, HoldsBothPartsAndIsCompiledOnce) {
  const CompiledCandidate first = compile(kTwoKernels + wrapper(kHonestWrapper));
  ASSERT_TRUE(first.ok) << first.log;
  EXPECT_TRUE(first.has_host_code());
  EXPECT_THAT(first.host_library, StartsWith(kElf));
  EXPECT_EQ(first.limits.threads_per_block, 1024);
  HostOptions no_compiler_fits = quick_options();
  no_compiler_fits.memory_limit_mb = 1;
  const CompiledCandidate again = compile(kTwoKernels + wrapper(kHonestWrapper), no_compiler_fits);
  EXPECT_TRUE(again.ok) << again.log;
  EXPECT_EQ(again.host_library, first.host_library);
  EXPECT_FALSE(compile(kTwoKernels + wrapper("  return 1;"), no_compiler_fits).ok) << "another host part";
}

TEST_F(HostCodeCandidate, AnotherHostPartIsAnotherCompilation) {
  const CompiledCandidate one = compile(kTwoKernels + wrapper("  return 1;"));
  const CompiledCandidate two = compile(kTwoKernels + wrapper("  return 2;"));
  ASSERT_TRUE(one.ok && two.ok);
  EXPECT_TRUE(two.binary.from_cache);
  EXPECT_EQ(one.binary.cubin, two.binary.cubin);
  EXPECT_NE(one.host_library, two.host_library);
}

TEST_F(HostCodeCandidate, ACopyByATensorMapIsCompiled) {
  const CompiledCandidate compiled = compile(kTensorMapCopy);
  EXPECT_TRUE(compiled.ok) << compiled.log;
}

TEST_F(HostCodeCandidate, ErrorsOfEitherPartNameItsLines) {
  const std::string host_fault = compile(kTwoKernels + wrapper("  return undeclared;")).log;
  EXPECT_THAT(host_fault, HasSubstr("w.cu:" + std::to_string(kHostLine + 4) + ":"));
  EXPECT_THAT(host_fault, HasSubstr("undeclared"));
  const std::string device_fault =
      compile("extern \"C\" __global__ void k() { wrong; }\n#pragma kernelcast host\n" + wrapper("  return 0;")).log;
  EXPECT_THAT(device_fault, HasSubstr("w.cu(1): error: identifier \"wrong\""));
}

TEST_F(HostCodeCandidate, WhatTheLinkerRefusesIsToldInTheContractsWordsFirst) {
  const std::string at = "w.cu(4): refused: the host part ";
  const std::string no_run = compile(kTwoKernels + std::string("int run(int device) { return device; }\n")).log;
  EXPECT_THAT(no_run, StartsWith(at + "defines no function `run` with the prototype `int run(const KernelcastHost*"));
  EXPECT_THAT(no_run, HasSubstr("required symbol `run' not defined")) << "the linker's words stay";
  const std::string calls =
      compile(kTwoKernels + wrapper("  return absent::f(1);", "namespace absent { int f(int); }\n")).log;
  EXPECT_THAT(calls, StartsWith(at + "calls `absent::f(int)`, which is in no library that it may link\n"));
  EXPECT_THAT(calls, HasSubstr("undefined reference to `absent::f(int)'"));
  HostOptions small = quick_options();
  small.output_limit_mb = 1;
  const std::string large =
      compile(kTwoKernels + wrapper("  return big[c->N];", "char big[8 << 20] = {1};\n"), small).log;
  EXPECT_THAT(large, StartsWith(at + "is too large: what it is compiled to is beyond measure.output_limit_mb\n"));
  EXPECT_THAT(large, HasSubstr("a file of more than 1 MB (measure.output_limit_mb)"));
}

TEST_F(HostCodeCandidate, WithoutAKernelIsRefused) {
  const std::string device = "__device__ inline int two() { return 2; }\n#pragma kernelcast host\n";
  const CompiledCandidate compiled = compile(device + wrapper("  return 0;"));
  EXPECT_FALSE(compiled.ok);
  EXPECT_EQ(compiled.log, "w.cu(2): refused: no kernel for the host part to launch");
}

TEST_F(HostCodeCandidate, WhatLeadsAroundTheTableIsRefusedByItsLine) {
  const auto log = [&](const std::string& before, const std::string& body = "  return 0;") {
    const CompiledCandidate compiled = compile(kTwoKernels + wrapper(body, before));
    EXPECT_FALSE(compiled.ok);
    return compiled.log;
  };
  EXPECT_THAT(log("\n#include <cuda.h>\n"), HasSubstr("w.cu(6): refused: #include of <cuda.h>"));
  EXPECT_THAT(log("#include <cuda_runtime.h>\n"), HasSubstr("w.cu(5): refused"));
  EXPECT_THAT(log("#include <dlfcn.h>\n"), HasSubstr("refused: #include of <dlfcn.h>"));
  EXPECT_THAT(log("#include \"../../secret.h\"\n"), HasSubstr("only headers of the system"));
  EXPECT_THAT(log("extern \"C\" void* dlopen(const char*, int);\n"), HasSubstr("w.cu(5): refused: loads a library"));
  EXPECT_THAT(log("extern \"C\" int cuInit(unsigned);\n", "  return cuInit(0);"), HasSubstr("cuInit"));
  EXPECT_TRUE(compile(kTwoKernels + wrapper("  return 0;", "#include <cmath>\n// dlopen(\n")).ok);
}

TEST_F(HostCodeCandidate, LaunchDirectivesAndAHostPartDoNotGoTogether) {
  EXPECT_THAT(compile("#pragma kernelcast zero y\n" + (kTwoKernels + wrapper("  return 0;"))).log,
              HasSubstr("w.cu(1): refused: with a host part, its `run` launches and zeroes"));
}

TEST_F(HostCodeCandidate, AdmissionDoesAllButTheLaunch) {
  const CudaTask task(
      "devices: [host, cuda]\n"
      "cuda:\n"
      "  seed: {source: affine.cu, set: {BLOCK: 256}}\n"
      "  candidates:\n"
      "    - {source: wrapped.cu}\n"
      "    - {source: broken.cu}\n",
      {{"wrapped.cu", kTwoKernels + wrapper(kHonestWrapper)},
       {"broken.cu", kTwoKernels + wrapper("  return undeclared;")}});
  CudaCompiler compiler({}, quick_options());
  const auto variants = compile_variants(compiler, task.pack(), admission_limits().at(1));
  const auto findings = find_faults(variants);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_THAT(findings[0].candidate, HasSubstr("broken.cu"));
  EXPECT_THAT(findings[0].log, HasSubstr("undeclared"));
}

}  // namespace
}  // namespace kc::test
