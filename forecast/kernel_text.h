#pragma once
// A kernel as a forecaster sees it.
#include <string>
#include <utility>
#include <vector>

namespace kc {

// Tunables in their declared order.
using Parameters = std::vector<std::pair<std::string, std::string>>;

struct KernelText {
  std::string language;     // "cpp", "cuda", "opencl", "python": the name on a code fence
  std::string template_id;  // content hash of the template or source: equal for instances of one template
  std::string source;       // template text, or the whole source when `parameters` is empty
  Parameters parameters;    // emitted as `#define NAME value` lines before the source
  // Imported kernels: the lines that the tool which compiled the kernel put before the source, instead of the define
  // lines. Follows from the parameters and the launch, hence no part of a kernel's identity.
  std::string prologue = {};
};

// The text that was compiled: the prologue or else the define lines, then the source.
std::string instantiated_source(const KernelText& kernel);

// Comments removed and whitespace collapsed (string literals kept), for telling whether two kernels are the same text.
// Kernels of one normalised text never stand on both sides of a split.
std::string normalised_source(const KernelText& kernel);

}  // namespace kc
