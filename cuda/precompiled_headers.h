#pragma once
// Headers that a compile worker has read once and keeps (NVRTC's precompiled headers, CUDA 12.8 and newer): CUB's take
// a second to read and a tenth of it to take up again. They are made of the toolkit's headers alone, never of a
// candidate's text, and hold for the process that made them.
#include <list>
#include <string>
#include <vector>

#include "cuda/nvrtc_library.h"

namespace kc {

class PrecompiledHeaders {
 public:
  // `folder` is private to this process; empty: nothing is kept. `limit_s`: CPU time that a request may take.
  PrecompiledHeaders(const NvrtcLibrary& library, std::string folder, double limit_s)
      : library_(library), folder_(std::move(folder)), limit_s_(limit_s) {}

  // Compiles the unit, `headers` (#include lines that may stand in front of it) from what is kept where that pays: they
  // are made when they are wanted for the second time and a unit with them took more than kWorthwhileSeconds. A unit
  // that does not compile in this way is compiled as it stands, so no error is of our making. Where making them and a
  // second attempt might reach the limit, they are not made.
  NvrtcResult compile(const NvrtcUnit& unit, const std::string& headers);

  static constexpr double kWorthwhileSeconds = 0.15;  // CPU time
  static constexpr std::size_t kKept = 3;             // files; the least recently used one goes
  static constexpr std::size_t kFolderBytes = std::size_t{768} << 20;

 private:
  enum class State {
    wanted_once,  // or given up for others; made when a unit shows that it pays
    due,          // the next unit makes them
    kept,
    lost,  // NVRTC did not make them or did not take them up: never again
  };
  struct Entry {
    std::string headers;
    std::vector<std::string> options;
    State state = State::wanted_once;
    std::string path;  // while they are kept
  };

  Entry* find(const NvrtcUnit& unit, const std::string& headers);
  bool make(Entry& entry, const NvrtcUnit& unit);
  void drop(Entry& entry, State state);

  const NvrtcLibrary& library_;
  const std::string folder_;
  const double limit_s_;
  std::list<Entry> entries_;  // the most recently used one first
  int made_ = 0;
};

}  // namespace kc
