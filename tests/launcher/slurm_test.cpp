// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/slurm.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tutti::launcher {
namespace {

using Words = std::vector<std::string>;

TEST(Slurm, NodeLists) {
  const std::pair<const char*, Words> cases[] = {
      {"node1", {"node1"}},
      {"a,b-2,c.d", {"a", "b-2", "c.d"}},
      {"node[1-3,7],login", {"node1", "node2", "node3", "node7", "login"}},
      {"n[08-11]", {"n08", "n09", "n10", "n11"}},
      {"n[98-101]x", {"n98x", "n99x", "n100x", "n101x"}},
      {"rack[1-2]n[01,03]", {"rack1n01", "rack1n03", "rack2n01", "rack2n03"}},
  };
  for (const auto& [text, names] : cases) {
    Result<Words> got = expand_node_list(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(*got, names) << text;
  }
  for (const char* wrong : {"", ",", "n[", "n[1", "n[1-]", "n[3-1]", "n[a]", "n[]", "n[1-999999999]", "-n",
                            "n[1-100000]m[1-100000]", "n;m", "n[1]]", "a,,b"})
    EXPECT_FALSE(expand_node_list(wrong)) << wrong;
}

TEST(Slurm, Counts) {
  EXPECT_EQ(*expand_counts("4"), (std::vector<int>{4}));
  EXPECT_EQ(*expand_counts("2(x3),1"), (std::vector<int>{2, 2, 2, 1}));
  for (const char* wrong : {"", "0", "2(x", "2(x3", "x", "2(3)", "2,,1", "1(x999999999)", "-1"})
    EXPECT_FALSE(expand_counts(wrong)) << wrong;
}

Result<std::optional<SlurmAllocation>> allocation(const std::map<std::string, const char*>& variables) {
  return slurm_allocation([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

TEST(Slurm, AllocationOfTheEnvironment) {
  EXPECT_FALSE(*allocation({}));
  EXPECT_FALSE(*allocation({{"SLURM_JOB_ID", "7"}}));
  const auto both = allocation({{"SLURM_JOB_ID", "7"},
                                {"SLURM_JOB_NODELIST", "n[1-2]"},
                                {"SLURM_TASKS_PER_NODE", "3,1"},
                                {"SLURM_JOB_CPUS_PER_NODE", "4(x2)"},
                                {"SLURMD_NODENAME", "n1"}});
  ASSERT_TRUE(both) << both.error().message();
  ASSERT_TRUE(*both);
  EXPECT_EQ((*both)->job_id, "7");
  EXPECT_EQ((*both)->this_node, "n1");
  EXPECT_EQ((*both)->nodes, (std::vector<SlurmNode>{{"n1", 3}, {"n2", 1}}));
  // In a step, the tasks are the step's.
  const auto step = allocation({{"SLURM_JOB_ID", "7"},
                                {"SLURM_JOB_NODELIST", "n[1-2]"},
                                {"SLURM_TASKS_PER_NODE", "1"},
                                {"SLURM_JOB_CPUS_PER_NODE", "4(x2)"}});
  ASSERT_TRUE(step) << step.error().message();
  EXPECT_EQ((*step)->nodes, (std::vector<SlurmNode>{{"n1", 4}, {"n2", 4}}));
}

TEST(Slurm, CoresOfATask) {
  // sbatch --ntasks-per-node=2 --cpus-per-task=4
  const auto hybrid = allocation({{"SLURM_JOB_ID", "7"},
                                  {"SLURM_JOB_NODELIST", "n[1-2]"},
                                  {"SLURM_TASKS_PER_NODE", "2(x2)"},
                                  {"SLURM_JOB_CPUS_PER_NODE", "8(x2)"},
                                  {"SLURM_CPUS_PER_TASK", "4"}});
  ASSERT_TRUE(hybrid) << hybrid.error().message();
  EXPECT_EQ((*hybrid)->nodes, (std::vector<SlurmNode>{{"n1", 2, 4}, {"n2", 2, 4}}));
  // In a step, the tasks are the step's: as many as have room on the nodes.
  const auto step = allocation({{"SLURM_JOB_ID", "7"},
                                {"SLURM_JOB_NODELIST", "n[1-2]"},
                                {"SLURM_TASKS_PER_NODE", "1"},
                                {"SLURM_JOB_CPUS_PER_NODE", "8,2"},
                                {"SLURM_CPUS_PER_TASK", "4"}});
  ASSERT_TRUE(step) << step.error().message();
  EXPECT_EQ((*step)->nodes, (std::vector<SlurmNode>{{"n1", 2, 4}, {"n2", 1, 4}}));
  for (const char* wrong : {"0", "-1", "four", "4x"}) {
    const auto misread =
        allocation({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n1"}, {"SLURM_CPUS_PER_TASK", wrong}});
    ASSERT_FALSE(misread) << wrong;
    EXPECT_NE(misread.error().message().find("SLURM_CPUS_PER_TASK: '" + std::string(wrong) +
                                             "' is not a number of processors"),
              std::string::npos);
  }
}

// salloc -N1 -n1 -c4 : -N2 -n6
TEST(Slurm, HeterogeneousJobs) {
  std::map<std::string, const char*> variables = {{"SLURM_JOB_ID", "7"},
                                                  {"SLURM_JOB_NODELIST", "big1"},
                                                  {"SLURM_TASKS_PER_NODE", "1"},
                                                  {"SLURM_HET_SIZE", "2"},
                                                  {"SLURM_JOB_ID_HET_GROUP_0", "7"},
                                                  {"SLURM_JOB_NODELIST_HET_GROUP_0", "big1"},
                                                  {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "1"},
                                                  {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0", "4"},
                                                  {"SLURM_CPUS_PER_TASK_HET_GROUP_0", "4"},
                                                  {"SLURM_JOB_ID_HET_GROUP_1", "8"},
                                                  {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[1-2]"},
                                                  {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "3(x2)"},
                                                  {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1", "3(x2)"},
                                                  {"SLURMD_NODENAME", "big1"}};
  const auto both = allocation(variables);
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_EQ((*both)->job_id, "7");
  EXPECT_EQ((*both)->this_node, "big1");
  EXPECT_EQ((*both)->nodes, (std::vector<SlurmNode>{{"big1", 1, 4, 0}, {"n1", 3, {}, 1}, {"n2", 3, {}, 1}}));
  variables["SLURM_TASKS_PER_NODE_HET_GROUP_1"] = "3(x3)";
  variables["SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1"] = "x";
  const auto wrong = allocation(variables);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1: 'x' is not"), std::string::npos)
      << wrong.error().message();
  // A component that is not described is not left out in silence.
  variables.erase("SLURM_JOB_NODELIST_HET_GROUP_1");
  const auto half = allocation(variables);
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().message().find("has 2 components, and the nodes of 1 are named"), std::string::npos)
      << half.error().message();
}

// What was asked for with salloc or sbatch about the places of tasks holds for ranks.
TEST(Slurm, WishesForPlaces) {
  const auto wish = [](std::map<std::string, const char*> more) {
    more.insert({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}});
    const auto found = allocation(more);
    return found && *found ? (*found)->map_by + ((*found)->note.empty() ? "" : "!") : std::string("wrong");
  };
  EXPECT_EQ(wish({}), "");
  EXPECT_EQ(wish({{"SLURM_DISTRIBUTION", "block"}}), "");
  EXPECT_EQ(wish({{"SLURM_DISTRIBUTION", "cyclic"}}), "node");
  EXPECT_EQ(wish({{"SLURM_DISTRIBUTION", "cyclic:block,Pack"}}), "node");
  EXPECT_EQ(wish({{"SLURM_DISTRIBUTION", "block:cyclic"}}), "socket");
  EXPECT_EQ(wish({{"SLURM_DISTRIBUTION", "plane=2"}}), "!");
  EXPECT_EQ(wish({{"SLURM_DISTRIBUTION", "arbitrary"}}), "!");
  const auto plane = allocation({{"SLURM_JOB_ID", "7"},
                                 {"SLURM_JOB_NODELIST", "n[1-2]"},
                                 {"SLURM_TASKS_PER_NODE", "2(x2)"},
                                 {"SLURM_DISTRIBUTION", "plane=2"}});
  ASSERT_TRUE(plane && *plane);
  EXPECT_NE(
      (*plane)->note.find("not followed: ranks go as without it, by default on all slots of one node after the other"),
      std::string::npos)
      << (*plane)->note;
  EXPECT_EQ(wish({{"SLURM_NTASKS_PER_SOCKET", "2"}}), "ppr:2:socket");
  EXPECT_EQ(wish({{"SLURM_NTASKS_PER_CORE", "1"}}), "ppr:1:core");
  EXPECT_EQ(wish({{"SLURM_HINT", "nomultithread"}, {"SLURM_NTASKS_PER_CORE", "1"}}), "");
  EXPECT_EQ(wish({{"SLURM_HINT", "memory_bound"}}), "socket");
  EXPECT_EQ(wish({{"SLURM_HINT", "multithread"}}), "slot:hwtcpus");
  EXPECT_EQ(wish({{"SLURM_DISTRIBUTION", "cyclic"}, {"SLURM_STEP_ID", "0"}}), "");  // the step's own
  EXPECT_EQ(wish({{"SLURM_DISTRIBUTION", "cyclic"}, {"SLURM_STEP_ID", "4294967291"}}), "node");
}

TEST(Slurm, WhatCannotBeReadIsSaid) {
  const auto nodes = allocation({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n["}});
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().message(),
            "this seems to be a Slurm allocation (unset SLURM_JOB_ID if it is none): "
            "SLURM_JOB_NODELIST: 'n[' is not a list of nodes such as node[1-3,7]");
  const auto counts =
      allocation({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "1"}});
  ASSERT_FALSE(counts);
  EXPECT_NE(counts.error().message().find("'1' is not for the 2 nodes of 'n[1-2]'"), std::string::npos);
}

}  // namespace
}  // namespace tutti::launcher
