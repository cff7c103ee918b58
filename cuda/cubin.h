#pragma once
// What a compiled kernel says about itself: the ELF file (cubin) and the assembler's report.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kc {

// Of one kernel.
struct KernelFacts {
  std::string name;
  int registers = 0;                  // per thread
  std::size_t spill_store_bytes = 0;  // per thread
  std::size_t spill_load_bytes = 0;
  std::size_t stack_bytes = 0;          // local memory of a thread, spills included
  std::size_t static_shared_bytes = 0;  // per block
  int max_threads = 0;                  // per block, as __launch_bounds__ says; 0: not said
};

struct CubinFacts {
  std::vector<KernelFacts> kernels;           // entry functions
  std::vector<std::string> writable_symbols;  // zero-initialised __device__ variables: state between launches
  std::size_t initialised_bytes = 0;          // of initialised ones, constant tables among them (ELF cannot tell)
  std::vector<std::string> undefined;         // functions that the driver would bring: vprintf, malloc, free ...
};

// Names, sizes and threads from the ELF file; registers, spills and shared memory from `report` (-Xptxas -v), and where
// it is silent from .nv.info. Damaged bytes give what was readable, never a crash. `ok` is false for what is no cubin.
struct CubinReading {
  bool ok = false;
  CubinFacts facts;
};
CubinReading read_cubin(std::string_view cubin, std::string_view report);

// The report's lines out of a compiler's log: {what the compiler said to the author, the assembler's report}.
struct SplitLog {
  std::string messages;
  std::string report;
};
SplitLog split_log(std::string_view log);

}  // namespace kc
