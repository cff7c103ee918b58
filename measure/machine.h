#pragma once
// What identifies a run and its machine, and which cores it uses.
#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "base/cores.h"
#include "forecast/measurement.h"
#include "measure/process.h"

namespace kc {

std::string processor_model();  // as the machine reports it
// Whether a hypervisor runs this system: then others may share its cores, caches and memory, unseen.
bool is_virtual_machine();
std::string program_version(const std::filesystem::path& program);  // first line of --version
std::string utc_now();                                              // ISO 8601, seconds
// From the system, for inputs that candidates must not know; not reproducible. Error{environment}.
std::uint64_t secret_seed();
std::string random_run_id();  // 16 hexadecimal digits from the system

// What the machine says of itself at this moment: load_1min (runnable tasks, mean of the last minute), frequency_mhz
// (of `core`, -1: of the first; as the system reports it, absent where it does not). Files are below `root` (tests).
Facts machine_facts(int core, const std::filesystem::path& root = "/");

// A core for the harness and another physical one for the runner; -1 and `shared` when only one may be used.
struct CorePair {
  int harness = -1;
  int runner = -1;
  bool shared = false;
  bool operator==(const CorePair&) const = default;
};
CorePair choose_cores();

// The right to time on this machine, whoever's process it is: one holder at a time whose times are the CPU's, or any
// number that use the CPU beside each other; who waits to be alone is overtaken by no newcomer. Waits for it; leaves no
// file. The locks are on folders below `root` (tests).
enum class MachineUse { alone, beside_others };
class DeviceLock {
 public:
  // Error{interrupted}
  explicit DeviceLock(const std::stop_token& stop, MachineUse use = MachineUse::alone,
                      const std::filesystem::path& root = "/sys/devices/system");

 private:
  Descriptor cores_;
};

// While it lives, the calling thread stays on a core and, if wanted and allowed (root), runs in real time: on a busy
// machine the median of the rounds would otherwise be that of preempted ones (a nice value only counts inside a
// session). Processes started meanwhile inherit it.
class TimingThread {
 public:
  TimingThread(int core, bool real_time);  // -1: any core
  ~TimingThread();
  TimingThread(const TimingThread&) = delete;
  TimingThread& operator=(const TimingThread&) = delete;

 private:
  cpu_set_t cores_before_ = {};
  bool pinned_ = false;
  bool real_time_ = false;
};

}  // namespace kc
