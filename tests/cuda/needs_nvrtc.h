#pragma once
// Skips a test on a machine without NVRTC (no wheel, no toolkit).
#include <gtest/gtest.h>

#include "base/error.h"
#include "cuda/toolkit.h"

#define KC_NEEDS_NVRTC()                 \
  try {                                  \
    ::kc::find_cuda_toolkit();           \
  } catch (const ::kc::Error& missing) { \
    GTEST_SKIP() << missing.what();      \
  }                                      \
  static_assert(true, "takes the semicolon")
