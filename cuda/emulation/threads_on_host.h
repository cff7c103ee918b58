// CUDA's language on the host, to check device code where there is no GPU. It is written in front of a candidate, which
// g++ then compiles as C++ (cuda/emulation.h says what this can show and what it cannot).
//
// The threads of a block are contexts of one host thread, made once and used for every block. They run until they wait
// (a jump to the scheduler, without a system call); which one goes on is drawn at
// random, so that a missing barrier shows. Shared memory is filled with NaN before each block. A barrier that a part of
// its threads can never reach ends the program (SIGTRAP).
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#define KC_VECTOR(scalar, name, bytes)                                        \
  struct alignas(2 * bytes) name##2 { scalar x, y; };                         \
  struct alignas(4 * bytes) name##4 { scalar x, y, z, w; };                   \
  static inline name##2 make_##name##2(scalar x, scalar y) { return {x, y}; } \
  static inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }
KC_VECTOR(float, float, 4)
KC_VECTOR(int, int, 4)
KC_VECTOR(unsigned, uint, 4)
#undef KC_VECTOR

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;

namespace kc_emulation {

constexpr int kMaxThreads = 1024, kWarp = 32;
constexpr size_t kStackBytes = 65536, kMaxShared = 232448;  // per block, of Hopper

struct Barrier {
  unsigned generation = 0, arrived = 0;
};
struct Thread {
  ucontext_t first;  // how it starts
  jmp_buf resume;    // where it goes on
  bool started = false;
  uint3 index;
  const Barrier* waits = nullptr;
  unsigned generation = 0;
  bool done = false;
};
struct Warp {
  Barrier barrier;
  uint32_t alive = 0, arrived = 0, mask = 0;
  uint64_t slots[kWarp];
};

static Thread threads[kMaxThreads];
static Warp warps[kMaxThreads / kWarp];
static Barrier block_barrier;
static jmp_buf scheduler;
static int current, count, alive;
static char* stacks;
static uint64_t order_state = 0x9E3779B97F4A7C15u;
alignas(128) static char dynamic_shared[kMaxShared];
static void (*entry)(const void*);
static const void* entry_argument;

static inline unsigned draw(unsigned below) {
  order_state = order_state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<unsigned>((order_state >> 33) % below);
}

static inline int lane() { return current % kWarp; }
static inline Warp& warp() { return warps[current / kWarp]; }

static inline void wait(Barrier& barrier) {
  Thread& self = threads[current];
  self.waits = &barrier;
  self.generation = barrier.generation;
  if (_setjmp(self.resume) == 0) _longjmp(scheduler, 1);
}

static inline void release(Barrier& barrier) {
  barrier.arrived = 0;
  ++barrier.generation;
}

static inline void block_wait() {
  if (++block_barrier.arrived == static_cast<unsigned>(alive)) return release(block_barrier);
  wait(block_barrier);
}

static inline bool warp_complete(const Warp& w) { return w.arrived != 0 && (w.arrived & w.mask) == (w.mask & w.alive); }

// Threads of one warp meet under one mask at a time.
static inline void warp_wait(uint32_t mask) {
  Warp& w = warp();
  if ((mask >> lane() & 1) == 0 || (w.arrived != 0 && w.mask != mask)) __builtin_trap();
  w.mask = mask;
  w.arrived |= uint32_t{1} << lane();
  if (warp_complete(w)) {
    w.arrived = 0;
    return release(w.barrier);
  }
  wait(w.barrier);
}

static void finish() {
  threads[current].done = true;
  --alive;
  Warp& w = warp();
  w.alive &= ~(uint32_t{1} << lane());
  if (alive > 0 && block_barrier.arrived == static_cast<unsigned>(alive)) release(block_barrier);
  if (warp_complete(w)) {
    w.arrived = 0;
    release(w.barrier);
  }
}

static void run_thread() {
  for (;;) {
    entry(entry_argument);
    finish();
    if (_setjmp(threads[current].resume) == 0) _longjmp(scheduler, 1);
  }
}

// Until the thread waits or is done. Not inlined: the caller's variables must outlive the jump back.
static __attribute__((noinline)) void go_on(Thread& thread) {
  if (_setjmp(scheduler) != 0) return;
  if (thread.started) _longjmp(thread.resume, 1);
  thread.started = true;
  setcontext(&thread.first);
}

static inline bool can_run(const Thread& t) {
  return !t.done && (t.waits == nullptr || t.waits->generation != t.generation);
}

static void start_threads() {
  if (stacks == nullptr) stacks = static_cast<char*>(malloc(kStackBytes * kMaxThreads));
  if (stacks == nullptr) abort();
  block_barrier = Barrier();
  for (Warp& w : warps) w = Warp();
  for (int t = 0; t < count; ++t) {
    Thread& thread = threads[t];
    const unsigned u = static_cast<unsigned>(t);
    thread.index = {u % blockDim.x, u / blockDim.x % blockDim.y, u / (blockDim.x * blockDim.y)};
    thread.waits = nullptr;
    thread.done = false;
    warps[t / kWarp].alive |= uint32_t{1} << (t % kWarp);
    if (thread.started) continue;
    getcontext(&thread.first);
    thread.first.uc_stack.ss_sp = stacks + kStackBytes * static_cast<size_t>(t);
    thread.first.uc_stack.ss_size = kStackBytes;
    thread.first.uc_link = nullptr;
    makecontext(&thread.first, run_thread, 0);
  }
}

extern "C" {
extern char __start_kc_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_kc_shared[] __attribute__((weak, visibility("hidden")));
}

static void poison_shared() {
  if (__start_kc_shared != nullptr) {
    memset(__start_kc_shared, 0xFF, static_cast<size_t>(__stop_kc_shared - __start_kc_shared));
  }
}

static void run_block(size_t shared_bytes) {
  poison_shared();
  memset(dynamic_shared, 0xFF, shared_bytes);
  start_threads();
  alive = count;
  while (alive > 0) {
    // From a random place on, so that no order of the threads can be relied on.
    const int first = static_cast<int>(draw(static_cast<unsigned>(count)));
    const int step = draw(2) == 0 ? 1 : count - 1;
    bool progress = false;
    for (int n = 0, t = first; n < count; ++n, t = (t + step) % count) {
      if (!can_run(threads[t])) continue;
      progress = true;
      current = t;
      threadIdx = threads[t].index;
      go_on(threads[t]);
    }
    if (!progress) __builtin_trap();
  }
}

// Runs every thread of every block; blocks in a random order too.
static void launch(dim3 grid, dim3 block, size_t shared_bytes, void (*thread)(const void*), const void* argument) {
  const size_t size = size_t{block.x} * block.y * block.z, blocks = size_t{grid.x} * grid.y * grid.z;
  if (size == 0 || size > kMaxThreads || blocks == 0 || shared_bytes > kMaxShared) __builtin_trap();
  gridDim = grid;
  blockDim = block;
  count = static_cast<int>(size);
  entry = thread;
  entry_argument = argument;
  const size_t first = draw(static_cast<unsigned>(blocks));
  for (size_t n = 0; n < blocks; ++n) {
    const size_t b = (first + n) % blocks;
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / (size_t{grid.x} * grid.y))};
    run_block(shared_bytes);
  }
}

template <class T>
static inline T exchange(uint32_t mask, T value, int source) {
  static_assert(sizeof(T) <= 8, "");
  Warp& w = warp();
  memcpy(&w.slots[lane()], &value, sizeof(T));
  warp_wait(mask);
  T result;
  memcpy(&result, &w.slots[source & (kWarp - 1)], sizeof(T));
  warp_wait(mask);
  return result;
}

template <class T, class F>
static inline T update(T* address, F&& f) {
  const T old = *address;
  *address = f(old);
  return old;
}

}  // namespace kc_emulation
