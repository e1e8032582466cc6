// SPDX-License-Identifier: BSD-3-Clause
// Which parts of a machine processors belong to, read from files such as Linux shows them.
#include "base/os/hardware.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

using Numbers = std::vector<int>;

// Two packages of two NUMA nodes each, of two cores with two threads: 16 processors, the second threads from 8 on.
// Caches of level 3 for each node, the others for each core.
class HardwareTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/hardware-test-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
    for (int i = 0; i < 16; ++i) {
      const int core = i % 8, node = core / 2, package = core / 4;
      const std::string threads = std::to_string(core) + "," + std::to_string(core + 8);
      const std::string nodes_own = pair(2 * node) + "," + pair(2 * node + 8);
      file(i, "topology/core_cpus_list", threads);
      file(i, "topology/package_cpus_list", package == 0 ? "0-3,8-11" : "4-7,12-15");
      file(i, "node" + std::to_string(node) + "/cpulist", nodes_own);
      cache(i, 0, 1, "Instruction", std::to_string(i));
      cache(i, 1, 1, "Data", threads);
      cache(i, 2, 2, "Unified", threads);
      cache(i, 3, 3, "Unified", nodes_own);
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string pair(int first) { return std::to_string(first) + "-" + std::to_string(first + 1); }
  void file(int processor, const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / ("cpu" + std::to_string(processor)) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void cache(int processor, int index, int level, const char* type, const std::string& shared) {
    const std::string name = "cache/index" + std::to_string(index) + "/";
    file(processor, name + "level", std::to_string(level));
    file(processor, name + "type", type);
    file(processor, name + "shared_cpu_list", shared);
  }
  std::vector<int> of(const std::vector<int>& processors) {
    std::vector<int> found;
    for (int type = 0; type < kResourceTypes; ++type)
      found.push_back(resource_of(processors, ResourceType{type}, folder_));
    return found;
  }
  std::filesystem::path folder_;
};

TEST_F(HardwareTest, OneProcessorIsOnOneOfEach) {
  EXPECT_EQ(of({0}), (Numbers{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(of({15}), (Numbers{0, 4, 6, 6, 7, 7, 7, 15}));
}

TEST_F(HardwareTest, SeveralProcessorsShareWhatIsLargeEnough) {
  EXPECT_EQ(of({6, 14}), (Numbers{0, 4, 6, 6, 6, 6, 6, kSeveral}));
  EXPECT_EQ(of({6, 7}), (Numbers{0, 4, 6, 6, kSeveral, kSeveral, kSeveral, kSeveral}));
  EXPECT_EQ(of({1, 2}), (Numbers{0, 0, kSeveral, kSeveral, kSeveral, kSeveral, kSeveral, kSeveral}));
  EXPECT_EQ(of({0, 4})[kPackage], kSeveral);
}

TEST_F(HardwareTest, OlderKernelsHaveOtherNames) {
  for (const char* name : {"core", "package"})
    for (int i = 0; i < 16; ++i) {
      const std::filesystem::path topology = folder_ / ("cpu" + std::to_string(i)) / "topology";
      std::filesystem::rename(topology / (std::string(name) + "_cpus_list"),
                              topology / (*name == 'c' ? "thread_siblings_list" : "core_siblings_list"));
    }
  EXPECT_EQ(of({15}), (Numbers{0, 4, 6, 6, 7, 7, 7, 15}));
}

// Of virtual machines the kernel often knows no caches, and where /sys is hidden, nothing.
TEST_F(HardwareTest, WhatIsNotToldIsNotKnown) {
  std::filesystem::remove_all(folder_ / "cpu3" / "cache");
  EXPECT_EQ(of({3}), (Numbers{0, 0, 2, kNotKnown, kNotKnown, kNotKnown, 3, 3}));
  std::filesystem::remove_all(folder_ / "cpu3");
  EXPECT_EQ(of({3}), (Numbers{0, 0, 0, kNotKnown, kNotKnown, kNotKnown, 3, 3}));
  EXPECT_EQ(of({3, 4}), (Numbers{0, 0, 0, kNotKnown, kNotKnown, kNotKnown, kSeveral, kSeveral}));
  EXPECT_EQ(of({}), (Numbers{0, kSeveral, kSeveral, kSeveral, kSeveral, kSeveral, kSeveral, kSeveral}));
}

TEST(ResourceTypeTest, HasNames) {
  for (int type = 0; type < kResourceTypes; ++type)
    EXPECT_EQ(resource_type_named(name_of(ResourceType{type})), ResourceType{type});
  EXPECT_EQ(resource_type_named("NUMANode"), kNumaNode);
  EXPECT_EQ(resource_type_named("HWLOC://numanode"), kNumaNode);
  EXPECT_EQ(resource_type_named("mpi_shared_memory"), kMachine);
  EXPECT_EQ(resource_type_named("socket"), kPackage);
  EXPECT_EQ(resource_type_named("l2cache"), kL2Cache);
  for (const char* none : {"", "hwloc://", "hwloc", "hwloc://Board", "Cores", "pci://Core"})
    EXPECT_EQ(resource_type_named(none), std::nullopt) << none;
}

}  // namespace
}  // namespace tutti
