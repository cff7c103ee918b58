#pragma once
// The runner's side: buffers, launches and clocks of one candidate on one device, behind messages (gpu_messages.h).
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/gpu_layout.h"
#include "cuda/gpu_messages.h"
#include "cuda/host_code.h"

namespace kc {

class GpuRunner {
 public:
  // Enters the isolation for host code; what it lacks, in words.
  using Confine = std::function<std::string()>;

  // `driver` is open. `l2_bytes`: of the device; twice as much is written to flush it. `confine`: empty for none.
  GpuRunner(Driver& driver, std::size_t l2_bytes, Confine confine = {});
  ~GpuRunner();
  GpuRunner(const GpuRunner&) = delete;
  GpuRunner& operator=(const GpuRunner&) = delete;

  // The reply to a message; never throws for what a driver or a candidate does.
  Fields answer(const Fields& request);

 private:
  struct Fault {
    TurnVerdict verdict;
    DriverStatus status;
    std::string text = {};  // empty: the driver's
  };
  void check(DriverStatus status, TurnVerdict verdict = TurnVerdict::environment);
  Fields serve(const Fields& request);
  void prepare(const Fields& request);
  void load_candidate();
  void reserve(DevicePointer& memory, std::size_t& have, std::size_t wanted);
  Fields turn(const Fields& request);
  TurnMessage read_turn(const Fields& request) const;
  void make_ready(const TurnMessage& turn, const Fields& request);
  void fill_buffers(const TurnMessage& turn, const Fields& request);
  void flush();
  DevicePointer address_of(std::size_t buffer, std::size_t launch) const;  // inputs, outputs, scratch
  void run_steps(std::size_t launch);
  ReplyMessage time(const TurnMessage& turn);
  double clock_mhz(const std::uint64_t* samples) const;
  void verify(const TurnMessage& turn, const Fields& request, ReplyMessage& reply, Fields& outputs);

  // gpu_runner_host.cpp: host code, and turns by the harness's clock.
  void confine() const;
  void load_host(const Fields& request);
  void run_host(std::size_t launch);
  void arm(Fields request);
  ReplyMessage go(const Fields& request);
  Fields collect();

  Driver& driver_;
  std::size_t l2_bytes_;
  Confine confine_;
  std::unique_ptr<HostCode> host_;  // of a candidate that has such code
  std::optional<TurnMessage> armed_;
  Fields armed_request_;
  PlanMessage plan_;
  std::string cubin_;
  std::vector<StepMessage> steps_;
  std::vector<std::uint64_t> functions_;  // per step
  std::uint64_t module_ = 0;
  std::uint64_t instruments_ = 0;
  std::uint64_t delay_ = 0;
  std::uint64_t digest_ = 0;
  SetLayout input_layout_, output_layout_, scratch_layout_;
  DevicePointer inputs_ = 0, outputs_ = 0, scratch_ = 0, flush_ = 0, samples_ = 0;
  std::size_t input_bytes_ = 0, output_bytes_ = 0, scratch_bytes_ = 0, flush_bytes_ = 0, sample_bytes_ = 0;
  std::uint64_t delay_ns_ = 100000;
};

}  // namespace kc
