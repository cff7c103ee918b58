#include "trainer/options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace kc {
namespace {

TEST(Options, AreReadFromTheirSections) {
  Config config = Config::parse("warmup: {steps: 7, optimizer: adam}\npolicy: {learning_rate: 0.001}\n", "test.yaml");
  const WarmupOptions warmup = read_warmup_options(config);
  EXPECT_EQ(warmup.steps, 7);
  EXPECT_EQ(warmup.optimizer, "adam");
  EXPECT_DOUBLE_EQ(read_policy_options(config).learning_rate, 0.001);
  EXPECT_NO_THROW(config.finish());
}

TEST(Options, RefuseAGroupOfOne) {
  Config config = Config::parse("policy: {group_size: 1}\n", "test.yaml");
  read_policy_options(config);
  EXPECT_THROW(config.finish(), Error);
}

TEST(Options, RefuseARolloutTemperatureOfZero) {
  Config config = Config::parse("policy: {temperature: 0}\n", "test.yaml");
  read_policy_options(config);
  EXPECT_THROW(config.finish(), Error);
}

}  // namespace
}  // namespace kc
