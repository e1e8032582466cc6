// SPDX-License-Identifier: BSD-3-Clause
// Where ranks come to be on machines of which the tests have the topology (topologies/make.py).
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "launcher/place/gpus.hpp"
#include "launcher/place/topology.hpp"

namespace tutti::launcher {
namespace {

Topology recorded(const char* name) {
  Result<Topology> out = Topology::of_xml(fmt::format(TUTTI_SOURCE "/tests/launcher/topologies/{}.xml", name));
  EXPECT_TRUE(out) << name;
  return std::move(*out);
}

std::string bound(const Topology& topology, int ranks, const char* bind_to, const char* map_by) {
  const Topology::Binding binding = topology.bind(ranks, *parse_bind_to(bind_to), *parse_map_policy(map_by));
  std::string out;
  for (const std::vector<int>& processors : binding.processors)
    out += fmt::format("{}{}", out.empty() ? "" : " ", fmt::join(processors, ","));
  return binding.to == BindTo::none ? "none" : out;
}

// Threads of one core are i and i + 16: a rank that has a core has both, and nobody else has one of them.
TEST(Topologies, CoresOfTwoThreads) {
  const Topology amd = recorded("amd");
  EXPECT_EQ(amd.shape(), (NodeShape{.cores = 16, .threads = 32, .sockets = 1, .numas = 1, .l3caches = 4}));
  EXPECT_EQ(bound(amd, 2, "auto", "slot"), "0,16 1,17");
  EXPECT_EQ(bound(amd, 4, "auto", "l3cache"), "0,16 4,20 8,24 12,28");
  EXPECT_EQ(bound(amd, 2, "l3cache", "slot"), "0,1,2,3,16,17,18,19 4,5,6,7,20,21,22,23");
  EXPECT_EQ(bound(amd, 4, "auto", "ppr:2:l3cache"), "0,16 1,17 4,20 5,21");
  EXPECT_EQ(bound(amd, 17, "auto", "slot"), "none");  // threads are no cores
  EXPECT_EQ(bound(amd, 3, "auto", "slot:hwtcpus"), "0 16 1");
  EXPECT_EQ(bound(amd, 2, "auto", "slot:pe=4"), "0,1,2,3,16,17,18,19 4,5,6,7,20,21,22,23");
  EXPECT_EQ(amd.summary(), "16 of 16 cores (32 hardware threads), 1 socket, 1 NUMA node");
}

TEST(Topologies, CoresOfTwoKinds) {
  const Topology hybrid = recorded("hybrid");
  EXPECT_EQ(hybrid.allowed_cores(), 12);
  EXPECT_EQ(hybrid.allowed_threads(), 16);
  EXPECT_EQ(bound(hybrid, 6, "auto", "slot"), "0,1 2,3 4,5 6,7 8 9");
  EXPECT_EQ(bound(hybrid, 13, "auto", "slot"), "none");
  EXPECT_EQ(bound(hybrid, 6, "l2cache", "slot"), "0,1 2,3 4,5 6,7 8,9,10,11 12,13,14,15");
  EXPECT_EQ(bound(hybrid, 2, "hwthread", "slot"), "0 1");
}

// The memory of the GPU is a NUMA node that nobody can be bound to.
TEST(Topologies, MemoryWithoutProcessors) {
  const Topology grace = recorded("grace");
  EXPECT_EQ(grace.shape(), (NodeShape{.cores = 72, .threads = 72, .sockets = 1, .numas = 1, .l3caches = 1}));
  EXPECT_EQ(bound(grace, 2, "core", "numa"), "0 1");
  EXPECT_EQ(bound(grace, 72, "auto", "slot").substr(0, 9), "0 1 2 3 4");
}

TEST(Topologies, EightGpus) {
  const Topology dgx = recorded("eight_gpus");
  ASSERT_EQ(dgx.gpus().size(), 8U);
  // In the order of their addresses, two near each of the NUMA nodes 3, 1, 7 and 5.
  EXPECT_EQ(dgx.gpus()[0].processors, (std::vector<int>{12, 13, 14, 15}));
  EXPECT_EQ(dgx.gpus()[2].processors, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(dgx.gpus()[7].processors, (std::vector<int>{20, 21, 22, 23}));
  EXPECT_EQ(bound(dgx, 8, "auto", "gpu"), "12 13 4 5 28 29 20 21");
  EXPECT_EQ(bound(dgx, 8, "numa", "gpu").substr(0, 25), "12,13,14,15 4,5,6,7 28,29");
  const Topology::Binding binding = dgx.bind(8, BindTo::core, *parse_map_policy("gpu"));
  const auto dealt = deal_gpus(dgx.gpus(), binding.processors, 1);
  ASSERT_TRUE(dealt);
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ((*dealt)[static_cast<size_t>(rank)], std::vector<int>{rank});
  // Ranks that fill the node's cores from the first one get the GPUs of their socket first.
  const Topology::Binding filled = dgx.bind(4, BindTo::numa, *parse_map_policy("slot"));
  EXPECT_EQ(*deal_gpus(dgx.gpus(), filled.processors, 2),
            (std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(Topologies, FilesThatAreNone) {
  EXPECT_FALSE(Topology::of_xml("/no/such/file"));
}

}  // namespace
}  // namespace tutti::launcher
