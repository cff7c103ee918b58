#pragma once
// A small store with a known law, so that a tiny model has something to learn and a test something to check.
#include "dataset/label_store.h"

namespace kc::test {

// Two tasks on one CPU, `levels`^2 kernels each, log2 time = WIDTH level minus DEPTH level (times -1 in the second
// task); values spread over all eight bins. Exact times, no noise.
Store synthetic_store(int levels = 6);

}  // namespace kc::test
