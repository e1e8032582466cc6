// SPDX-License-Identifier: BSD-3-Clause
// Which hardware threads are one core, read from files such as Linux shows them, and what Slurm
// says.
#include "base/os/processors.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

using Numbers = std::vector<int>;

TEST(ProcessorsTest, ReadsLists) {
  EXPECT_EQ(processors_in(""), Numbers());
  EXPECT_EQ(processors_in("3"), Numbers({3}));
  EXPECT_EQ(processors_in("0-2,8,10-11"), Numbers({0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(processors_in("x,5-4,7"), Numbers({7}));
}

// Two cores of two threads each: 0 and 2, 1 and 3.
class CoresTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/processors-test-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
    for (const int i : {0, 1, 2, 3}) {
      if (i > 0) file(i, "online", "1");  // the first one cannot be switched off
      file(i, "topology/core_cpus_list", i % 2 == 0 ? "0,2" : "1,3");
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void file(int processor, const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / ("cpu" + std::to_string(processor)) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void expect(const Numbers& processors, int count, int threads_each) {
    const Cores found = cores_of(processors, folder_);
    EXPECT_EQ(found.count, count);
    EXPECT_EQ(found.threads_each, threads_each);
  }
  std::filesystem::path folder_;
};

TEST_F(CoresTest, ThreadsOfACoreCountOnce) {
  expect({0, 1, 2, 3}, 2, 2);
  expect({0, 2}, 1, 2);
  expect({0, 1}, 2, 2);
  expect({3}, 1, 2);
  expect({}, 0, 1);
}

TEST_F(CoresTest, OlderKernelsCallThemSiblings) {
  for (const int i : {0, 1, 2, 3}) {
    std::filesystem::remove(folder_ / ("cpu" + std::to_string(i)) / "topology/core_cpus_list");
    file(i, "topology/thread_siblings_list", i < 2 ? "0-1" : "2-3");
  }
  expect({0, 1, 2, 3}, 2, 2);
  expect({1, 2}, 2, 2);
}

TEST_F(CoresTest, WhatIsOfflineIsNone) {
  std::filesystem::remove_all(folder_ / "cpu3/topology");
  file(3, "online", "0");
  file(1, "topology/core_cpus_list", "1");
  expect({0, 1, 2, 3}, 2, 2);
  expect({1, 3}, 1, 1);
  expect({3}, 0, 1);
}

TEST_F(CoresTest, WithoutSysfsEachIsACore) {
  std::filesystem::remove_all(folder_);
  expect({0, 1, 2, 3}, 4, 1);
}

TEST(SlurmTest, CountsThreadsAndMayBeSilent) {
  EXPECT_EQ(cores_by_slurm("4", 1), 4);
  EXPECT_EQ(cores_by_slurm("4", 2), 2);
  EXPECT_EQ(cores_by_slurm("5", 2), 3);
  EXPECT_EQ(cores_by_slurm("1", 2), 1);
  EXPECT_EQ(cores_by_slurm("2147483647", 2), 1 << 30);
  for (const char* bad : {"", "0", "-4", "4x", "4(x2)", " 4", "many", "99999999999"})
    EXPECT_EQ(cores_by_slurm(bad, 2), 0) << bad;
  EXPECT_EQ(cores_by_slurm(nullptr, 2), 0);
}

}  // namespace
}  // namespace tutti
