// A candidate of the task `reduction` that takes over its runner: it finds the page of signals, never returns, speaks
// the protocol itself, and sums each row as soon as the next one's last value shows that it has arrived, before the
// clock starts. HONEST sums in the same way, when it is told to.
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

RUNNER_PROTOCOL

namespace {

kc::RunnerControl* control = nullptr;
std::uint64_t input_arena = 0, output_arena = 0;

void sum_row(const float* values, float* sums, long row, long columns) {
  float partial[4] = {};
  const float* at = values + row * columns;
  long j = 0;
  for (; j + 3 < columns; j += 4) {
    for (int lane = 0; lane < 4; ++lane) partial[lane] += at[j + lane];
  }
  for (; j < columns; ++j) partial[0] += at[j];
  sums[row] = partial[0] + partial[1] + partial[2] + partial[3];
}

// The runner keeps the addresses of outputs, inputs and signals side by side.
int find_control(dl_phdr_info* program, std::size_t, void*) {
  const auto near = [](std::uint64_t base, std::uint64_t address) {
    return base % 4096 == 0 && base <= address && address - base < (1U << 22);
  };
  for (int p = 0; p < program->dlpi_phnum; ++p) {
    const auto& header = program->dlpi_phdr[p];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    const auto* words = reinterpret_cast<const std::uint64_t*>(program->dlpi_addr + header.p_vaddr);
    for (std::size_t k = 0; k + 2 < header.p_memsz / 8; ++k) {
      if (words[k] == 0 || words[k + 1] == 0 || words[k + 2] == 0 || words[k + 2] % 4096 != 0) continue;
      if (!near(words[k], output_arena) || !near(words[k + 1], input_arena)) continue;
      output_arena = words[k];
      input_arena = words[k + 1];
      control = reinterpret_cast<kc::RunnerControl*>(words[k + 2]);
      return 1;
    }
  }
  return 1;  // the program itself comes first
}

const float* input(unsigned launch) {
  return reinterpret_cast<const float*>(input_arena + control->offsets[launch][0]);
}
float* output(unsigned launch) { return reinterpret_cast<float*>(output_arena + control->offsets[launch][1]); }

struct Place {
  unsigned launch = 0;
  long row = 0;
};

void sum_from(Place place, long rows, long columns) {
  for (; place.launch < control->launches; ++place.launch, place.row = 0) {
    for (; place.row < rows; ++place.row) sum_row(input(place.launch), output(place.launch), place.row, columns);
  }
}

void serve_turns(std::uint32_t turn) {
  static float before[64][1024];
  for (;;) {
    while (control->turn.value.load() == turn) syscall(SYS_futex, &control->turn.value, 0, turn, nullptr, nullptr, 0);
    if (control->quit != 0) _exit(0);
    turn = control->turn.value;
    const long rows = control->sizes[0], columns = control->sizes[1];
    sum_from({}, rows, columns);
    for (unsigned l = 0; l < control->launches; ++l) {
      for (long r = 0; r < rows; ++r) before[l][r] = input(l)[r * columns + columns - 1];
    }
    control->ready.value = turn;
    while (control->poisoned.value != turn) __builtin_ia32_pause();
    for (unsigned l = 0; l < control->launches; ++l) {
      for (long r = 0; r < rows; ++r) __builtin_prefetch(output(l) + r, 1);
    }
    control->owned.value = turn;
    Place place;
    bool gone = false;
    while (!gone) {
      Place next = {place.launch, place.row + 1};
      if (next.row == rows) next = {place.launch + 1, 0};
      if (next.launch == control->launches) break;
      const volatile float* last = &input(next.launch)[next.row * columns + columns - 1];
      while (*last == before[next.launch][next.row] && !gone) gone = control->go.value == turn;
      if (gone) break;
      sum_row(input(place.launch), output(place.launch), place.row, columns);
      place = next;
    }
    while (control->go.value != turn) __builtin_ia32_pause();
    sum_from(place, rows, columns);
    control->done.value = turn;
  }
}

}  // namespace

void run(const Case* c, const void* const* inputs, void* const* outputs) {
#ifndef HONEST
  input_arena = reinterpret_cast<std::uint64_t>(inputs[0]);
  output_arena = reinterpret_cast<std::uint64_t>(outputs[0]);
  dl_iterate_phdr(find_control, nullptr);
#endif
  for (long r = 0; r < c->ROWS; ++r) {
    sum_row(static_cast<const float*>(inputs[0]), static_cast<float*>(outputs[0]), r, c->COLUMNS);
  }
  if (control == nullptr) return;
  const std::uint32_t turn = control->turn.value;
  for (unsigned l = 1; l < control->launches; ++l) {
    for (long r = 0; r < control->sizes[0]; ++r) sum_row(input(l), output(l), r, control->sizes[1]);
  }
  while (control->go.value != turn) __builtin_ia32_pause();
  control->done.value = turn;
  serve_turns(turn);
}
