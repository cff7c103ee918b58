#pragma once
// EXPECT_ERROR(statement, kind, matcher): the statement throws kc::Error of that kind whose message matches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

#define EXPECT_ERROR(statement, expected_kind, matcher)                \
  do {                                                                 \
    bool kc_thrown = false;                                            \
    try {                                                              \
      statement;                                                       \
    } catch (const ::kc::Error& kc_error) {                            \
      kc_thrown = true;                                                \
      EXPECT_EQ(kc_error.kind(), expected_kind) << kc_error.what();    \
      EXPECT_THAT(std::string(kc_error.what()), matcher);              \
    }                                                                  \
    EXPECT_TRUE(kc_thrown) << "expected a kc::Error from " #statement; \
  } while (false)
