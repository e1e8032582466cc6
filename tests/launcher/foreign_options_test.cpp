// SPDX-License-Identifier: BSD-3-Clause
// Command lines as scripts for Open MPI, MPICH, Intel MPI, MVAPICH, Slurm, aprun and jsrun have them: each means what its
// users expect, or is answered by a sentence that says what to type.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "launcher/data/job_map.hpp"
#include "launcher/words/option_table.hpp"

namespace tutti::launcher {
namespace {

Result<RunOptions> parse(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  return parse_run_options(arguments);
}

std::string problem(const std::string& line) {
  Result<RunOptions> run = parse(line);
  return run ? "no error" : run.error().message();
}

using Words = std::vector<std::string>;

TEST(ForeignOptions, NumbersMayStandInTheWordOfAShortName) {
  for (const char* line : {"-n4 p", "-np4 p", "-c4 p", "--ntasks 4 p", "--ntasks=4 p", "-n=4 p"}) {
    Result<RunOptions> run = parse(line);
    ASSERT_TRUE(run) << line << ": " << run.error().message();
    EXPECT_EQ(run->apps[0].ranks, 4) << line;
  }
  EXPECT_EQ(parse("-N2 p")->map_by, "ppr:2:node");
  EXPECT_EQ(parse("-t10 p")->timeout, std::chrono::minutes(10));
  EXPECT_EQ(problem("-n4x p"), "-n takes a number of ranks from 1 to 1000000, not '4x'");
  EXPECT_EQ(problem("-z4 p"), "unknown option '-z4' ('--help options' lists all)");
  EXPECT_EQ(problem("--n4 p"), "unknown option '--n4' ('--help options' lists all)");
}

TEST(ForeignOptions, CoresAndRanksHaveOneLetterInTwoLaunchers) {
  EXPECT_EQ(
      problem("-n 2 -c 4 p"),
      "-n 2 and -c 4 are both the number of ranks, as in Open MPI; for the cores of each rank, as Slurm's -c, type "
      "--cpus-per-rank");
  EXPECT_EQ(problem("-c 4 --ntasks=2 p").substr(0, 22), "-c 4 and --ntasks 2 ar");
  EXPECT_EQ(parse("-c 2 p : -n 3 q")->apps[1].ranks, 3);
}

TEST(ForeignOptions, TimesOfSlurm) {
  const struct {
    const char* text;
    int64_t seconds;
  } times[] = {{"10", 600},      {"0:30", 30},          {"1:02:03", 3723}, {"2-0", 172800},
               {"1-2:3", 93780}, {"1-02:03:04", 93784}, {"UNLIMITED", 0},  {"0", 0}};
  for (const auto& [text, seconds] : times)
    EXPECT_EQ(parse(std::string("--time=") + text + " p")->timeout, std::chrono::seconds(seconds)) << text;
  EXPECT_EQ(parse("-t 5 p")->timeout_by, "-t 5");
  for (const char* wrong : {"1:2:3:4", "x", "1-", "-5", "1:", "1h"})
    EXPECT_NE(problem(std::string("--time=") + wrong + " p").find("takes minutes, minutes:seconds"), std::string::npos)
        << wrong;
}

TEST(ForeignOptions, PlacesOfRanks) {
  EXPECT_EQ(parse("-pernode p")->map_by, "ppr:1:node");
  EXPECT_EQ(parse("--ppr 2:socket p")->map_by, "ppr:2:socket");
  EXPECT_EQ(parse("-bysocket p")->map_by, "socket");
  EXPECT_EQ(parse("-loadbalance p")->map_by, "slot:span");
  EXPECT_TRUE(parse("-nolocal p")->other_nodes_only);
  EXPECT_EQ(parse("--nodes 2-4 p")->nodes, std::pair(2, 4));
  EXPECT_EQ(parse("-nodes a,b p")->apps[0].hosts, (Words{"a", "b"}));
  EXPECT_EQ(parse("-hostlist a,b p")->apps[0].hosts, (Words{"a", "b"}));
  EXPECT_NE(problem("--nodes 4-2 p").find("a number of nodes such as 2, or 2-4"), std::string::npos);
  EXPECT_EQ(parse("-m cyclic p")->map_by, "node");
  EXPECT_EQ(parse("--distribution=block:cyclic,NoPack p")->map_by, "socket");
  EXPECT_EQ(parse("--distribution=block p")->map_by, "slot");
  EXPECT_NE(problem("--distribution=plane=2 p").find("type --map-by ppr:N:node"), std::string::npos);
  EXPECT_NE(problem("--distribution=round p").find("takes block or cyclic"), std::string::npos);
  EXPECT_EQ(parse("--hint=memory_bound p")->map_by, "socket");
  EXPECT_TRUE(parse("--hint=multithread p")->hwthreads);
  EXPECT_FALSE(parse("--hint=nomultithread p")->hwthreads);
  EXPECT_NE(problem("--hint=fast p").find("takes compute_bound"), std::string::npos);
  EXPECT_EQ(parse("--depth 8 p")->map_by, "slot:pe=8");
}

TEST(ForeignOptions, CoresOfRanksHoldWhateverPlacesThem) {
  // clang-format off
  const std::pair<const char*, const char*> rows[] = {
      {"--distribution=block:block", "slot:pe=2"}, {"-m cyclic", "node:pe=2"}, {"--hint=memory_bound", "socket:pe=2"},
      {"--ppr 2:socket", "ppr:2:socket:pe=2"},     {"-N 3", "ppr:3:node:pe=2"}, {"-bysocket", "socket:pe=2"},
      {"-bynode", "node:pe=2"},                    {"-byslot", "slot:pe=2"},   {"-rr", "node:pe=2"}};
  // clang-format on
  for (const auto& [option, wanted] : rows) {
    EXPECT_EQ(parse(std::string("--cpus-per-task 2 ") + option + " p")->map_by, wanted);
    const std::string other_way = parse(std::string(option) + " --cpus-per-task 2 p")->map_by;
    EXPECT_EQ(other_way, wanted);
  }
}

TEST(ForeignOptions, BindingAndDevices) {
  Result<RunOptions> run = parse("--cpu-bind=verbose,sockets p");
  EXPECT_EQ(run->bind_to, "socket");
  EXPECT_TRUE(run->report_bindings);
  EXPECT_EQ(parse("--cpu_bind=none p")->bind_to, "none");
  EXPECT_EQ(parse("-cc depth p")->bind_to, "core");
  EXPECT_NE(problem("--cpu-bind=map_cpu:0,1 p").find("type --rankfile FILE"), std::string::npos);
  EXPECT_EQ(parse("--gpu-bind=per_task:2 p")->gpus_per_rank, 2);
  EXPECT_EQ(parse("--gpu-bind=single:1 p")->gpus_per_rank, 1);
  EXPECT_NE(problem("--gpu-bind=single:2 p").find("is for ranks that share a GPU; type --map-by gpu"),
            std::string::npos);
  EXPECT_EQ(parse("--gpu-bind=none p")->gpus_per_rank, 0);
  EXPECT_NE(problem("--gpu-bind=closest p").find("type --gpus-per-rank N"), std::string::npos);
  EXPECT_TRUE(parse("--threads-per-core=2 p")->hwthreads);
}

TEST(ForeignOptions, StartsAndTools) {
  EXPECT_EQ(parse("-launcher fork p")->start_by, "-launcher fork");
  EXPECT_EQ(parse("-bootstrap slurm p")->start_by, "-bootstrap slurm");
  EXPECT_EQ(parse("-bootstrap ssh p")->settings[0].value, "ssh");
  EXPECT_TRUE(parse("-rmk pbs p")->settings.empty());
  EXPECT_NE(problem("-rmk pds p").find("takes user, slurm"), std::string::npos);
  EXPECT_NE(problem("-launcher manual p").find("name a command such as ssh"), std::string::npos);
  EXPECT_EQ(parse("-check_mpi p")->settings[0].value, "strict");
  EXPECT_EQ(parse("-print-rank-map p")->display, Words{"map"});
  EXPECT_EQ(parse("--report-pid - p")->process_id_file, "-");
  EXPECT_TRUE(parse("-info")->info);
  EXPECT_EQ(parse("-ssh p")->settings[0].value, "ssh");
  EXPECT_TRUE(parse("-show p")->dry_run);
  EXPECT_NE(problem("-export -n 2 p").find("-export takes ALL, NONE"), std::string::npos);
  EXPECT_EQ(parse("-maxtime 3 p")->timeout, std::chrono::seconds(3));
  EXPECT_TRUE(parse("--runtime-options donotlaunch p")->dry_run);
  EXPECT_EQ(parse("-genvexcl A,B p")->inherit.unset, (Words{"A", "B"}));
}

// Taken without a word: what they ask for is so in any case.
TEST(ForeignOptions, WhatIsSoInAnyCase) {
  // clang-format off
  for (const char* line :
       {"--report-state-on-timeout p", "--get-stack-traces p", "--personality ompi p", "--debug-daemons p", "--do-not-resolve p",
        "--novm p", "--hetero-nodes p", "-disable-hostname-propagation p", "--kill-on-bad-exit p", "--kill-on-bad-exit=1 p", "-K p",
        "-K1 p", "--exclusive p", "--exclusive=user p", "--overlap p", "--exact p", "--mem=0 p", "-J name p", "--mpi=pmix p", "-O p",
        "-s all p", "-ordered-output p", "--disable-recovery p", "--with-ft none p", "--line-buffer p", "--allow-run-as-root p"}) {
    // clang-format on
    Result<RunOptions> run = parse(line);
    ASSERT_TRUE(run) << line << ": " << run.error().message();
    EXPECT_EQ(run->apps[0].command, Words{"p"}) << line;
    EXPECT_TRUE(run->notes.empty()) << line << ": " << run->notes[0];
  }
}

// Other launchers have other words for a job that goes on without a rank that fails.
TEST(ForeignOptions, GoingOnAfterAFailure) {
  for (const char* line : {"--with-ft ulfm p", "--with-ft mpi p", "--enable-recovery p", "-disable-auto-cleanup p",
                           "--on-failure continue p", "--on-failure=continue p"}) {
    Result<RunOptions> run = parse(line);
    ASSERT_TRUE(run) << line << ": " << run.error().message();
    ASSERT_EQ(run->settings.size(), 1u) << line;
    EXPECT_EQ(run->settings[0].name, "failure.action") << line;
    EXPECT_EQ(run->settings[0].value, "continue") << line;
  }
  for (const char* line : {"--with-ft no p", "--with-ft none p", "--disable-recovery p"})
    EXPECT_TRUE(parse(line)->settings.empty()) << line;
  EXPECT_NE(problem("--on-failure stop p").find("takes end, continue"), std::string::npos);
}

// The job is the same, and a line says that its user's wish changes nothing.
TEST(ForeignOptions, WhatChangesNothingIsSaid) {
  for (const char* line :
       {"--stream-buffering 1 p", "--display-comm p", "--report-uri - p", "--show-progress p", "--unbuffered p", "-u p",
        "--gres=gpu:1 p", "--runtime-options aggregate-help p", "-IB p", "--wait=0 p", "--debug-daemons-file p",
        "--report-events uri p", "--output-proctable p", "--output-proctable=- p", "--mem-bind=local p", "-prot p"}) {
    Result<RunOptions> run = parse(line);
    ASSERT_TRUE(run) << line << ": " << run.error().message();
    EXPECT_EQ(run->apps[0].command, Words{"p"}) << line;
    ASSERT_EQ(run->notes.size(), 1u) << line;
    EXPECT_NE(run->notes[0].find(" changes nothing: "), std::string::npos) << run->notes[0];
  }
}

// The job would be another one: a sentence says what to type.
TEST(ForeignOptions, WhatWouldBeAnotherJobIsRefused) {
  // clang-format off
  for (const char* line :
       {"--max-restarts 3 p", "-order-nodes ascending p", "-trace p", "-gtool gdb:0 p", "--tmpdir /x p",
        "--exclude=n1 p", "--pty bash", "-o out p", "-p debug p", "--account=x p", "--nrs 2 p", "-d 4 p", "-e A=b p", "--nice p",
        "--nice=3 p", "--dvm p", "--launch-agent x p", "-ckpoint-interval 3 p", "-K0 p", "-S 2 p",
        "-tune p", "-ilp64 p"})
    EXPECT_NE(problem(line).find(" is not supported: "), std::string::npos) << line << ": " << problem(line);
  // clang-format on
}

class ProgramsByRanks : public testing::Test {
 protected:
  const std::string name_ = testing::TempDir() + "by_ranks";
  ~ProgramsByRanks() override { std::remove(name_.c_str()); }
  std::string refused(const std::string& text, const std::string& options = "") {
    std::ofstream(name_) << text;
    return problem(options + " --multi-prog " + name_);
  }
};

TEST_F(ProgramsByRanks, OfAFile) {
  std::ofstream(name_) << "# as srun has it\n0,3-4 ./a 'x y'\n1   ./b %t:%o\n*   ./c %o\n";
  Result<RunOptions> run = parse("-n 6 -H h:8 --multi-prog " + name_);
  ASSERT_TRUE(run) << run.error().message();
  const std::vector<std::pair<int, Words>> wanted = {
      {1, {"./a", "x y"}}, {1, {"./b", "1:0"}}, {1, {"./c", "0"}}, {2, {"./a", "x y"}}, {1, {"./c", "1"}}};
  ASSERT_EQ(run->apps.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(run->apps[i].ranks, wanted[i].first) << i;
    EXPECT_EQ(run->apps[i].command, wanted[i].second) << i;
    EXPECT_EQ(run->apps[i].hosts, Words{"h:8"}) << i;
  }
  std::ofstream(name_) << "0-1 ./a\n2 ./b\n";
  EXPECT_EQ(parse("--multi-prog " + name_)->apps[1].command, Words{"./b"});
}

TEST_F(ProgramsByRanks, WrongFilesAreNamed) {
  EXPECT_EQ(refused("0 ./a\n2 ./b\n"),
            name_ + ": no line names a program for rank 1; '*' in place of ranks stands for all others");
  EXPECT_EQ(refused("0-1 ./a\n1 ./b\n"), name_ + ":2: rank 1 has a program already, of line 1");
  EXPECT_EQ(refused("0-3 ./a\n", "-n 2"), name_ + ":1: rank 2 is named, and -n 2 gives ranks 0 to 1");
  EXPECT_EQ(refused("* ./a\n"),
            name_ + ": '*' stands for the ranks that no other line names; say by -n how many there are");
  EXPECT_EQ(refused("* ./a\n* ./b\n", "-n 2"), name_ + ":2: '*' stands in two lines");
  EXPECT_EQ(refused("x ./a\n"), name_ + ":1: 'x' is no list of ranks such as 0-2,5, and not '*'");
  EXPECT_EQ(refused("0\n"), name_ + ":1: a line is 'RANKS program arguments', such as '0-2,5 ./program'");
  EXPECT_EQ(refused("# none\n"), name_ + ": names no program; a line is '0-2,5 ./program arguments'");
  EXPECT_EQ(refused("0 'a\n"), name_ + ":1: a quote has no end");
  std::ofstream(name_) << "0 ./a\n";
  EXPECT_EQ(problem("--multi-prog " + name_ + " x"), "--multi-prog takes a file and nothing behind it, and not 'x'");
  EXPECT_EQ(problem("-n 1 ./p : --multi-prog " + name_),
            "--multi-prog names the programs of all ranks, and './p' stands beside it");
  EXPECT_EQ(problem("--multi-prog " + name_ + " : -n 1 ./p"),
            "--multi-prog names the programs of all ranks, and './p' stands beside it");
}

}  // namespace
}  // namespace tutti::launcher
