// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs ranks are given: near ones, each to one rank while there are enough.
#include "launcher/place/gpus.hpp"

#include <gtest/gtest.h>

namespace tutti::launcher {
namespace {

using Lists = std::vector<std::vector<int>>;
using Words = std::vector<std::string>;

// Two sockets of four cores; GPUs 0 and 1 are near the second, 2 and 3 near the first.
std::vector<Gpu> four(Gpu::Maker maker) {
  return {{maker, {4, 5, 6, 7}}, {maker, {4, 5, 6, 7}}, {maker, {0, 1, 2, 3}}, {maker, {0, 1, 2, 3}}};
}

TEST(Gpus, NearOnesFirst) {
  const auto gpus = four(Gpu::Maker::nvidia);
  EXPECT_EQ(*deal_gpus(gpus, {{0}, {1}, {4}, {5}}, 1), (Lists{{2}, {3}, {0}, {1}}));
  EXPECT_EQ(*deal_gpus(gpus, {{4, 5}, {0, 1}}, 2), (Lists{{0, 1}, {2, 3}}));
  // A free one far away before a near one that is taken, and then in turn.
  EXPECT_EQ(*deal_gpus(gpus, {{0}, {1}, {2}, {3}, {3}}, 1), (Lists{{2}, {3}, {0}, {1}, {2}}));
  EXPECT_EQ(*deal_gpus(gpus, {{}, {}}, 1), (Lists{{0}, {1}}));  // not bound
}

TEST(Gpus, MoreThanThereAreIsAnError) {
  const auto dealt = deal_gpus(four(Gpu::Maker::amd), {{0}}, 5);
  ASSERT_FALSE(dealt);
  EXPECT_TRUE(dealt.error().message().starts_with("--gpus-per-rank 5: the node has 4 GPUs"));
  EXPECT_FALSE(deal_gpus({}, {{0}}, 1));
}

TEST(Gpus, VariablesOfEachMaker) {
  std::vector<Gpu> gpus = four(Gpu::Maker::nvidia);
  EXPECT_EQ(gpu_variables(gpus, {2, 3}), (Words{"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=2,3"}));
  gpus[0].maker = Gpu::Maker::amd;
  gpus[2].maker = Gpu::Maker::amd;
  EXPECT_EQ(gpu_variables(gpus, {1, 2}),
            (Words{"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=0", "ROCR_VISIBLE_DEVICES=1"}));
  EXPECT_EQ(gpu_variables(four(Gpu::Maker::amd), {0}), Words{"ROCR_VISIBLE_DEVICES=0"});
}

TEST(Gpus, FilesThatAreNoTopologies) {
  EXPECT_FALSE(gpus_of_xml("/no/such/file"));
}

}  // namespace
}  // namespace tutti::launcher
