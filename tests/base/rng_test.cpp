#include "base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/philox.h"

namespace kc {
namespace {

// The known answers that the method's authors publish: all zeros, all ones, digits of pi.
TEST(Philox, AgreesWithThePublishedKnownAnswers) {
  using Block = std::array<std::uint32_t, 4>;
  constexpr std::uint32_t kOnes = 0xFFFFFFFFU;
  EXPECT_EQ(philox_4x32_10({0, 0, 0, 0}, {0, 0}), (Block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  EXPECT_EQ(philox_4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox_4x32_10({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (Block{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(RngStream, ADrawIsTheLowHalfOfABlock) {
  EXPECT_EQ(RngStream(RngStream::State{0, 0}).next_u64(), 0xE169C58D6627E8D5U);
}

TEST(RngStream, ADrawIsAFunctionOfKeyAndCounterOnly) {
  RngStream stream(42);
  const std::uint64_t key = stream.state().key;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t draw = stream.next_u64();
    EXPECT_EQ(RngStream(RngStream::State{key, i}).next_u64(), draw);
  }
}

TEST(RngStream, ResumesExactlyFromItsState) {
  RngStream stream(7);
  for (int i = 0; i < 13; ++i) stream.normal();
  RngStream resumed(stream.state());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(stream.next_u64(), resumed.next_u64());
    EXPECT_EQ(stream.normal(), resumed.normal());
    EXPECT_EQ(stream.below(10), resumed.below(10));
  }
  EXPECT_EQ(stream.state(), resumed.state());
}

TEST(RngStream, ChildrenDoNotDependOnWhatTheParentDrew) {
  RngStream parent(3);
  const RngStream before = parent.child("sampling");
  parent.next_u64();
  EXPECT_EQ(parent.child("sampling").state(), before.state());
  EXPECT_EQ(parent.child(5).state(), RngStream(3).child(5).state());
}

TEST(RngStream, MakingAChildDoesNotAdvanceTheParent) {
  RngStream with(3);
  RngStream without(3);
  static_cast<void>(with.child("a"));
  static_cast<void>(with.child(1));
  EXPECT_EQ(with.next_u64(), without.next_u64());
}

TEST(RngStream, SeedsAndChildrenHaveDifferentKeys) {
  std::set<std::uint64_t> keys;
  std::size_t made = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const RngStream stream(seed);
    keys.insert(stream.state().key);
    for (std::uint64_t index = 0; index < 20; ++index) keys.insert(stream.child(index).state().key);
    for (const char* name : {"", "a", "b", "ab", "ba", "warmup", "policy"}) keys.insert(stream.child(name).state().key);
    keys.insert(stream.child("a").child("b").state().key);
    made += 29;
  }
  EXPECT_EQ(keys.size(), made);
}

// Correlations of 20,000 pairs have deviation 0.007; 0.035 is five of them.
TEST(RngStream, NeighbouringChildrenAreUncorrelated) {
  const RngStream parent(11);
  for (std::uint64_t index = 0; index < 5; ++index) {
    RngStream a = parent.child(index);
    RngStream b = parent.child(index + 1);
    double sum = 0;
    constexpr int kPairs = 20'000;
    for (int i = 0; i < kPairs; ++i) sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
    EXPECT_LT(std::abs(12.0 * sum / kPairs), 0.035);
  }
}

TEST(RngStream, UniformHasTheRightRangeMeanAndVariance) {
  RngStream stream(1);
  constexpr int kDraws = 200'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.004);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3.0, 0.004);
}

TEST(RngStream, NormalHasTheRightMoments) {
  RngStream stream(2);
  constexpr int kDraws = 200'000;
  std::array<double, 5> moments{};
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    for (std::size_t power = 1; power < moments.size(); ++power) moments[power] += std::pow(x, power) / kDraws;
  }
  EXPECT_NEAR(moments[1], 0.0, 0.012);
  EXPECT_NEAR(moments[2], 1.0, 0.02);
  EXPECT_NEAR(moments[3], 0.0, 0.05);
  EXPECT_NEAR(moments[4], 3.0, 0.15);
}

// Chi-square with bound - 1 degrees of freedom; five deviations above its mean.
TEST(RngStream, BelowIsUniformForBoundsThatDoNotDivideTheRange) {
  for (const std::uint64_t bound : {1U, 2U, 3U, 7U, 10U, 31U}) {
    RngStream stream(bound);
    constexpr int kDraws = 31'000;
    std::map<std::uint64_t, int> counts;
    for (int i = 0; i < kDraws; ++i) ++counts[stream.below(bound)];
    ASSERT_EQ(counts.size(), bound);
    ASSERT_LT(counts.rbegin()->first, bound);
    const double expected = static_cast<double>(kDraws) / static_cast<double>(bound);
    double chi_square = 0;
    for (const auto& [value, count] : counts) chi_square += (count - expected) * (count - expected) / expected;
    const auto freedom = static_cast<double>(bound - 1);
    EXPECT_LE(chi_square, freedom + 5.0 * std::sqrt(2.0 * freedom)) << "bound " << bound;
  }
}

TEST(RngStream, BelowAcceptsTheWidestBounds) {
  RngStream stream(5);
  constexpr std::uint64_t kMoreThanHalf = (std::uint64_t{1} << 63) + 1;
  for (int i = 0; i < 1000; ++i) ASSERT_LT(stream.below(kMoreThanHalf), kMoreThanHalf);
}

TEST(RngStream, ShuffleKeepsAllItemsAndReachesAllOrders) {
  std::map<std::array<int, 3>, int> orders;
  RngStream stream(9);
  constexpr int kShuffles = 6000;
  for (int i = 0; i < kShuffles; ++i) {
    std::vector<int> items = {0, 1, 2};
    stream.shuffle(items);
    ++orders[{items[0], items[1], items[2]}];
  }
  ASSERT_EQ(orders.size(), 6U);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, kShuffles / 6.0, 150);
}

}  // namespace
}  // namespace kc
