// SPDX-License-Identifier: BSD-3-Clause
// Environments of schedulers as their manuals describe them. Of these Grid Engine (8.1.9) and OAR (2.5) have been seen
// at work (November 2026).
#include "launcher/place/schedulers.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>

namespace tutti::launcher {
namespace {

using Texts = std::map<std::string, std::string>;
using Nodes = std::vector<ScheduledNode>;

struct Seen {
  Result<std::optional<ScheduledJob>> job;
  std::string warning;
};

Seen look(const Texts& variables, const Texts& files = {}) {
  std::string warning;
  auto job = scheduled_job(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      [&](const std::string& name) {
        const auto found = files.find(name);
        return found == files.end() ? std::nullopt : std::optional(found->second);
      },
      warning);
  return {std::move(job), warning};
}

TEST(Schedulers, NoneIsSeenWhereThereIsNone) {
  const Seen seen = look({{"PATH", "/bin"}, {"JOB_ID", "a build's"}, {"PBS_NODEFILE", "/f"}});
  ASSERT_TRUE(seen.job);
  EXPECT_FALSE(*seen.job);
  EXPECT_EQ(seen.warning, "");
}

TEST(Schedulers, AllocationsThatTheyDescribe) {
  const struct {
    Texts variables, files;
    const char *scheduler, *shell;
    Nodes nodes;
  } cases[] = {
      {{{"PBS_JOBID", "12.srv"}, {"PBS_NODEFILE", "/f"}},
       {{"/f", "n1\nn1\nn2.example.org\nn1\n"}},
       "PBS",
       "",
       {{"n1", 3}, {"n2.example.org", 1}}},
      {{{"LSB_JOBID", "7"}, {"LSB_DJOB_HOSTFILE", "/f"}, {"LSB_MCPU_HOSTS", "x 1"}},
       {{"/f", "a\na\nb\n"}},
       "LSF",
       "blaunch",
       {{"a", 2}, {"b", 1}}},
      {{{"LSB_JOBID", "7"}, {"LSB_MCPU_HOSTS", "a 4 b 16 "}}, {}, "LSF", "blaunch", {{"a", 4}, {"b", 16}}},
      {{{"LSB_JOBID", "7"}, {"LSB_HOSTS", "a a b"}}, {}, "LSF", "blaunch", {{"a", 2}, {"b", 1}}},
      {{{"JOB_ID", "9"}, {"SGE_ROOT", "/sge"}, {"PE_HOSTFILE", "/f"}},
       {{"/f", "n1 4 all.q@n1 UNDEFINED\nn2 2 all.q@n2 0,1\nn1 1 other.q@n1 <NULL>\n"}},
       "Grid Engine",
       "qrsh -inherit",
       {{"n1", 5}, {"n2", 2}}},
      {{{"COBALT_JOBID", "5"}, {"COBALT_NODEFILE", "/f"}}, {{"/f", "k1\nk2\n"}}, "Cobalt", "", {{"k1", 1}, {"k2", 1}}},
      {{{"FLUX_ENCLOSING_ID", "f2"}, {"FLUX_URI", "local:///run/x"}, {"FLUX_JOB_ID", "f1"}},
       {{"|flux getattr hostlist", "node[1-2]\n"}},
       "Flux",
       "flux exec -r %rank",
       {{"node1", 0}, {"node2", 0}}},
      // Without a parallel environment.
      {{{"JOB_ID", "9"}, {"SGE_ROOT", "/sge"}, {"NSLOTS", "1"}, {"HOSTNAME", "n3"}},
       {},
       "Grid Engine",
       "qrsh -inherit",
       {{"n3", 1}}},
      {{{"JOB_ID", "9"}, {"SGE_ROOT", "/sge"}, {"NSLOTS", "1"}, {"HOSTNAME", "-x y"}},
       {},
       "Grid Engine",
       "qrsh -inherit",
       {{"localhost", 1}}},
  };
  for (const auto& c : cases) {
    const Seen seen = look(c.variables, c.files);
    ASSERT_TRUE(seen.job) << seen.job.error().message();
    ASSERT_TRUE(*seen.job) << c.scheduler;
    EXPECT_EQ((*seen.job)->scheduler, c.scheduler);
    EXPECT_EQ((*seen.job)->remote_shell, c.shell);
    EXPECT_EQ((*seen.job)->nodes, c.nodes);
    EXPECT_EQ(seen.warning, "");
  }
}

TEST(Schedulers, WhatTheySayInOtherWays) {
  EXPECT_NE(meaning_of_signal("Grid Engine", SIGUSR2).find("qdel"), std::string::npos);
  EXPECT_EQ(meaning_of_signal("Grid Engine", SIGTERM), "");
  EXPECT_EQ(meaning_of_signal("PBS", SIGUSR2), "");
  EXPECT_NE(why_shell_refuses("qrsh -inherit", "n2").find("--set launch.rsh=ssh"), std::string::npos);
  EXPECT_EQ(why_shell_refuses("blaunch", "n2"),
            "does 'blaunch n2 true' work here? (--set launch.rsh=ssh does without it)");
  EXPECT_EQ(why_shell_refuses("ssh", "n2"), "");
}

TEST(Schedulers, WhatIsNotUnderstoodIsSaid) {
  Seen seen = look({{"PBS_JOBID", "12"}, {"PBS_NODEFILE", "/gone"}});
  ASSERT_FALSE(seen.job);
  EXPECT_NE(seen.job.error().message().find("/gone, which PBS_NODEFILE names, cannot be read"), std::string::npos)
      << seen.job.error().message();
  for (const char* wrong : {"a", "a x", "a 0", "a -1", "a 1 b", "-a 1", "a;b 1", "a 999999999999", " "}) {
    seen = look({{"LSB_JOBID", "7"}, {"LSB_MCPU_HOSTS", wrong}});
    EXPECT_FALSE(seen.job) << wrong;
  }
  for (const char* wrong : {"", "n1", "n1 x q u", "n1 4 q u\nn2\n"}) {
    seen = look({{"JOB_ID", "7"}, {"SGE_ROOT", "/s"}, {"PE_HOSTFILE", "/f"}}, {{"/f", wrong}});
    EXPECT_FALSE(seen.job) << wrong;
  }
  // A flux that does not answer names no nodes.
  seen = look({{"FLUX_ENCLOSING_ID", "3"}, {"FLUX_URI", "local:///run/x"}});
  ASSERT_TRUE(seen.job);
  EXPECT_NE(seen.warning.find("this seems to be job 3 of Flux"), std::string::npos) << seen.warning;
  for (const char* variable : {"FLUX_JOB_ID", "PBS_JOBID", "PJM_JOBID", "OAR_JOB_ID"}) {
    seen = look({{variable, "3"}});
    ASSERT_TRUE(seen.job);
    EXPECT_FALSE(*seen.job);
    EXPECT_NE(seen.warning.find("ranks start on this node alone"), std::string::npos) << variable;
  }
}

}  // namespace
}  // namespace tutti::launcher
