// SPDX-License-Identifier: BSD-3-Clause
// Control groups' quotas and processors, read from files such as kernels and containers show them.
#include "base/os/cgroup.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/cgroup-test-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / ("mount/" + name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  double quota(const std::string& groups) {
    std::ofstream(folder_ / "groups") << groups;
    return cgroup_quota(folder_ / "groups", folder_ / "mount");
  }
  size_t processors(const std::string& groups) {
    std::ofstream(folder_ / "groups") << groups;
    return cgroup_processors(folder_ / "groups", folder_ / "mount").size();
  }
  std::optional<CgroupProcesses> processes(const std::string& groups) {
    std::ofstream(folder_ / "groups") << groups;
    return cgroup_processes(folder_ / "groups", folder_ / "mount");
  }
  uint64_t memory(const std::string& groups) {
    std::ofstream(folder_ / "groups") << groups;
    return cgroup_memory(folder_ / "groups", folder_ / "mount");
  }
  std::filesystem::path folder_;
};

TEST_F(CgroupTest, NoFileIsNoLimit) {
  EXPECT_EQ(quota(""), 0);
}

TEST_F(CgroupTest, ReadsVersionTwo) {
  file("cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/\n"), 1.5);
  file("cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/\n"), 0);
}

TEST_F(CgroupTest, TakesTheTightestOfNestedGroups) {
  file("jobs/cpu.max", "200000 100000\n");
  file("jobs/one/cpu.max", "max 100000\n");
  file("jobs/one/step/cpu.max", "800000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/jobs/one/step\n"), 2);
  file("jobs/one/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/jobs/one/step\n"), 0.5);
  EXPECT_EQ(quota("0::/elsewhere\n"), 0);
}

// A container that sees its own group as the root, under the name that it has outside.
TEST_F(CgroupTest, FindsTheRootWhereThePathIsNotToBeSeen) {
  file("cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(quota("0::/docker/0123abcd\n"), 3);
  EXPECT_DOUBLE_EQ(quota("0::/../../other\n"), 3);
}

TEST_F(CgroupTest, ReadsVersionOne) {
  const std::string groups = "5:memory:/jobs\n4:cpu,cpuacct:/jobs/one\n3:cpuset:/\n0::/\n";
  file("cpu,cpuacct/jobs/one/cpu.cfs_quota_us", "-1\n");
  file("cpu,cpuacct/jobs/one/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(groups), 0);
  file("cpu,cpuacct/jobs/cpu.cfs_quota_us", "400000\n");
  file("cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota(groups), 4);
}

TEST_F(CgroupTest, IgnoresWhatItCannotRead) {
  file("cpu.max", "nonsense\n");
  EXPECT_EQ(quota("no colons\n0:\n0::/a/b\n"), 0);
  file("cpu.max", "100000 0\n");
  EXPECT_EQ(quota("0::/\n"), 0);
}

TEST_F(CgroupTest, CountsTheProcessorsOfTheNearestGroupThatNamesSome) {
  EXPECT_EQ(processors("0::/\n"), 0u);
  file("cpuset.cpus.effective", "0-7\n");
  file("jobs/cpuset.cpus.effective", "\n");
  EXPECT_EQ(processors("0::/jobs/one\n"), 8u);
  file("jobs/one/cpuset.cpus.effective", "1,4-6,12\n");
  EXPECT_EQ(processors("0::/jobs/one\n"), 5u);
  EXPECT_EQ(processors("0::/jobs/one/step\n"), 5u);
  file("cpuset/jobs/cpuset.cpus", "3\n");
  EXPECT_EQ(processors("4:cpuset:/jobs\n"), 1u);
}

TEST_F(CgroupTest, FindsTheGroupWithTheLeastRoomForProcesses) {
  EXPECT_FALSE(processes("0::/\n"));
  file("jobs/pids.max", "100\n");
  file("jobs/pids.current", "95\n");
  file("jobs/one/pids.max", "40\n");
  file("jobs/one/pids.current", "20\n");
  ASSERT_TRUE(processes("0::/jobs/one\n"));
  EXPECT_EQ(processes("0::/jobs/one\n")->most, 100u);
  EXPECT_EQ(processes("0::/jobs/one\n")->used, 95u);
  file("jobs/pids.max", "max\n");
  EXPECT_EQ(processes("0::/jobs/one\n")->most, 40u);
  file("pids/one/pids.max", "7\n");
  file("pids/one/pids.current", "9\n");  // lowered since
  EXPECT_EQ(processes("8:pids:/one\n")->most, 7u);
}

TEST_F(CgroupTest, TakesTheTightestLimitOfMemory) {
  EXPECT_EQ(memory("0::/\n"), 0u);
  file("jobs/memory.max", "max\n");
  EXPECT_EQ(memory("0::/jobs\n"), 0u);
  file("jobs/one/memory.max", "4096\n");
  EXPECT_EQ(memory("0::/jobs/one\n"), 4096u);
  file("memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("memory/a/memory.limit_in_bytes", "8192\n");
  EXPECT_EQ(memory("4:memory:/a\n"), 8192u);
  EXPECT_EQ(memory("4:memory:/\n"), 0u);
}

TEST_F(CgroupTest, CountsProcessesKilledForWantOfMemory) {
  const auto kills = [&](const std::string& groups) {
    std::ofstream(folder_ / "groups") << groups;
    return cgroup_memory_kills(folder_ / "groups", folder_ / "mount");
  };
  EXPECT_FALSE(kills("0::/jobs/one\n"));
  file("jobs/one/memory.events", "low 0\nhigh 7\nmax 40\noom 3\noom_kill 2\noom_group_kill 0\n");
  file("jobs/memory.events", "low 0\nhigh 7\nmax 40\noom 3\noom_kill 9\n");
  EXPECT_EQ(kills("0::/jobs/one\n"), 2u);
  EXPECT_EQ(kills("0::/jobs/two\n"), 9u) << "of the nearest group that is to be seen";
  file("memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(kills("4:memory:/a\n0::/\n"), 5u);
  file("memory/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");  // before Linux 4.13
  EXPECT_FALSE(kills("4:memory:/b\n"));
}

}  // namespace
}  // namespace tutti
