// SPDX-License-Identifier: BSD-3-Clause
// Command lines and host files: what is understood, and the sentences about the rest.
#include "launcher/words/options.hpp"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cctype>
#include <sstream>

#include "launcher/place/hosts.hpp"

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

TEST(Options, EverythingBehindTheProgramIsItsOwn) {
  Result<RunOptions> run = parse("-n 3 prog -n 4 --host x --help");
  ASSERT_TRUE(run);
  ASSERT_EQ(run->apps.size(), 1u);
  EXPECT_EQ(run->apps[0].ranks, 3);
  EXPECT_EQ(run->apps[0].command, (Words{"prog", "-n", "4", "--host", "x", "--help"}));
}

TEST(Options, NamesHaveOneDashOrTwoAndTheirValueBehindEitherSign) {
  for (const char* line : {"-n 2 p", "-np 2 p", "--np 2 p", "--n=2 p", "-np=2 p", "-c 2 -- p"}) {
    Result<RunOptions> run = parse(line);
    ASSERT_TRUE(run) << line << ": " << run.error().message();
    EXPECT_EQ(run->apps[0].ranks, 2) << line;
  }
}

TEST(Options, AllOfThem) {
  Result<RunOptions> run = parse(
      "--hostfile f -x A=b=c -x D --wdir /w --map-by node --bind-to none --report-bindings "
      "--tag-output --timeout 1.5 --pset left=0-3,8 --pset app://x=1 --memory-alloc-kinds system,mpi "
      "--initial-errhandler mpi_errors_return --set a=b --oversubscribe --allow-run-as-root -H a:2,b p");
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->hostfile, "f");
  EXPECT_EQ(run->apps[0].variables, (Words{"A=b=c", "D"}));
  EXPECT_EQ(run->apps[0].folder, "/w");
  EXPECT_EQ(run->apps[0].hosts, (Words{"a:2", "b"}));
  EXPECT_EQ(run->map_by, "node");
  EXPECT_EQ(run->bind_to, "none");
  EXPECT_TRUE(run->report_bindings && run->output.tag);
  EXPECT_EQ(run->timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(run->process_sets, (Words{"left:0-3,8", "app://x:1"}));
  EXPECT_EQ(run->memory_kinds, "system,mpi");
  EXPECT_EQ(run->initial_errhandler, "mpi_errors_return");
  ASSERT_EQ(run->settings.size(), 1u);
  EXPECT_EQ(run->settings[0].name, "a");
  EXPECT_EQ(run->settings[0].origin, "--set a=b");
}

TEST(Options, SeveralPrograms) {
  Result<RunOptions> run = parse("-n 1 -x A=1 a x : -n 2 -H h b");
  ASSERT_TRUE(run);
  ASSERT_EQ(run->apps.size(), 2u);
  EXPECT_EQ(run->apps[0].command, (Words{"a", "x"}));
  EXPECT_EQ(run->apps[0].variables, Words{"A=1"});
  EXPECT_EQ(run->apps[1].command, Words{"b"});
  EXPECT_EQ(run->apps[1].hosts, Words{"h"});
  EXPECT_TRUE(run->apps[1].variables.empty());
}

TEST(Options, WrongOnesGetASentence) {
  EXPECT_EQ(problem("--hostfil f p"),
            "unknown option '--hostfil'; did you mean '--hostfile'? ('--help options' lists all)");
  // Of two letters any other word is near, and none is meant; nor is one that is far, or of no use here.
  for (const char* option : {"-z", "-zq", "--hosthint", "--xterms"})
    EXPECT_EQ(problem(std::string(option) + " p"),
              fmt::format("unknown option '{}' ('--help options' lists all)", option));
  EXPECT_EQ(problem("-n"), "-n needs a value: N");
  EXPECT_EQ(problem("--np x p"), "--np takes a number of ranks from 1 to 1000000, not 'x'");
  EXPECT_EQ(problem("-n 2x p"), "-n takes a number of ranks from 1 to 1000000, not '2x'");
  EXPECT_EQ(problem("-n 0 p"), "-n takes a number of ranks from 1 to 1000000, not '0'");
  EXPECT_EQ(problem("--tag-output=1 p"), "--tag-output takes no value");
  EXPECT_EQ(problem("--timeout -1 p"), "--timeout takes a positive number of seconds, not '-1'");
  EXPECT_EQ(problem("--set x p"), "--set takes name=value, not 'x'");
  EXPECT_EQ(problem("-x =b p"), "-x takes NAME or NAME=value, not '=b'");
  EXPECT_EQ(problem("-H a,,b p"), "-H takes names such as node1:2,node2:2 or node[1-2]:2, not ',b'");
  EXPECT_EQ(problem("--timeout nan p"), "--timeout takes a positive number of seconds, not 'nan'");
  EXPECT_EQ(problem("--timeout inf p"), "--timeout takes a positive number of seconds, not 'inf'");
  for (const char* option : {"--hostfile", "--host", "--wdir", "--map-by", "--bind-to", "--set", "-x"})
    EXPECT_TRUE(problem(std::string(option) + "= p").starts_with(std::string(option) + " needs a value")) << option;
  EXPECT_EQ(problem("-n 2"), "no program is given; try: mpirun -n 4 ./program");
  EXPECT_EQ(problem("p :"), "no program stands behind ':'; write: mpirun -n 1 ./a : -n 3 ./b");
}

TEST(Options, BracketsInNamesOfHosts) {
  EXPECT_EQ(parse("-H node[1-2,7]:3,a p")->apps[0].hosts, (Words{"node1:3", "node2:3", "node7:3", "a"}));
  EXPECT_EQ(parse("-w u@n[08-10]-ib p")->apps[0].hosts, (Words{"u@n08-ib", "u@n09-ib", "u@n10-ib"}));
  EXPECT_EQ(parse("-H [fe80::1]:2 p")->apps[0].hosts, Words{"[fe80::1]:2"});
  EXPECT_EQ(problem("-H node[1- p"), "-H: 'node[1-' is not a list of nodes such as node[1-3,7]");
  EXPECT_EQ(problem("--host node[3-1] p"), "--host: 'node[3-1]' is not a list of nodes such as node[1-3,7]");
}

TEST(Options, WhatStandsInTheProgramsPlace) {
  EXPECT_EQ(problem("4 ./hello"), "'4' stands where the program should, and -n is missing; type: mpirun -n 4 ./hello");
  EXPECT_EQ(problem("-l 4"), "'4' stands where the program should, and -n is missing; type: mpirun -n 4 ./program");
  EXPECT_EQ(problem("-n 2 A_1=b ./hello"),
            "'A_1=b' stands where the program should; to give ranks a variable type: -x A_1=b");
  for (const char* line : {"-n 2 ./4 x", "-n 1 -- 4", "-n 1 -- A=b", "-n 1 ./A=b", "-n 1 =b"})
    EXPECT_EQ(problem(line), "no error") << line;
  EXPECT_TRUE(parse("help")->help);
  EXPECT_EQ(parse("help -n")->help_topic, "-n");
  EXPECT_TRUE(parse("version")->version);
  EXPECT_EQ(parse("-n 1 help")->apps[0].command, Words{"help"});
}

TEST(Options, HelpHasTwoColumns) {
  std::istringstream help(run_help("mpirun"));
  int lines = 0;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  ")) continue;
    ++lines;
    // An option with its words behind it, an option alone, or words alone.
    const std::string left = line.substr(0, 30);
    if (line.starts_with("  -") && left.find("  ", 2) == left.npos && line.size() <= 90) continue;
    EXPECT_TRUE(line.size() > 30 && line[29] == ' ' && line[30] != ' ') << line;
  }
  EXPECT_GT(lines, 40);
}

TEST(Options, HelpNamesEveryOption) {
  const std::string help = run_help("mpirun");
  for (const char* word : {"-np", "--host", "--hostfile", "-x", "--wdir", "--map-by", "--bind-to", "--report-bindings",
                           "--tag-output", "--timeout", "--set", "--version"})
    EXPECT_NE(help.find(word), std::string::npos) << word;
}

Host host(const char* name, std::optional<int> slots = {}, std::optional<int> max_slots = {}) {
  return {.name = name, .slots = slots, .max_slots = max_slots};
}

TEST(Hostfile, BothNotationsAndComments) {
  Result<std::vector<Host>> hosts = parse_hostfile(
      "# all\nnode1 slots=4 # big\n\n  node2:2\nnode3\nuser@node4 slots=1 "
      "max_slots=8\n[fe80::1]:3\n"
      "node1 slots=2\n::1\r\n",
      "f");
  // A carriage return is white space.
  ASSERT_TRUE(hosts) << hosts.error().message();
  EXPECT_EQ(*hosts, (std::vector<Host>{host("node1", 6), host("node2", 2), host("node3"), host("user@node4", 1, 8),
                                       host("fe80::1", 3), host("::1")}));
}

TEST(Hostfile, ByteOrderMarksAndLineEndsOfDosAreNoPartOfNames) {
  Result<std::vector<Host>> hosts =
      parse_hostfile("\xef\xbb\xbfnode1 slots=4 max-slots=6\r\nNODE1. slots=1\r\n\r\nnode2\r\n", "f");
  ASSERT_TRUE(hosts) << hosts.error().message();
  EXPECT_EQ(*hosts, (std::vector<Host>{host("node1", 5, 6), host("node2")}));
}

TEST(Hostfile, NumbersThatContradictEachOtherAreErrors) {
  const struct {
    const char *line, *said;
  } cases[] = {
      {"a slots=2 slots=3", "f:2: 'slots=3' comes after another number of the same kind"},
      {"a:2 slots=2", "f:2: 'slots=2' comes after another number of the same kind"},
      {"a max_slots=2 max-slots=2", "f:2: 'max-slots=2' comes after another number of the same kind"},
      {"a slots=4 max_slots=3", "f:2: 'max_slots=3' is less than its slots"},
      {"a slots=2 max_slots=0", "f:2: 'max_slots=0' is not expected here"},
      {"@a", "f:2: '@a' is not expected here"},
      {"a@", "f:2: 'a@' is not expected here"},
      {"node[1-3]", "f:2: 'node[1-3]' is not expected here"},
      {"\xff\xfen\x1b", "f:2: '\\xff\\xfen\\x1b' is not expected here"},
  };
  for (const auto& c : cases) {
    Result<std::vector<Host>> hosts = parse_hostfile(std::string("ok\n") + c.line + "\n", "f");
    ASSERT_FALSE(hosts) << c.line;
    EXPECT_TRUE(hosts.error().message().starts_with(c.said)) << hosts.error().message();
  }
}

TEST(Hostfile, WrongLinesAreNamed) {
  for (const char* line : {"node1 slot=2", "node1 slots=0", "node1 slots=x", "node1:0", "node1 2", "-oProxyCommand=x",
                           "node1;reboot", "node:99999999999"}) {
    Result<std::vector<Host>> hosts = parse_hostfile(std::string("ok\n") + line + "\n", "my/file");
    ASSERT_FALSE(hosts) << line;
    EXPECT_TRUE(hosts.error().message().starts_with("my/file:2: ")) << hosts.error().message();
    EXPECT_NE(hosts.error().message().find("'name slots=N'"), std::string::npos);
  }
  EXPECT_EQ(parse_hostfile("# none\n", "f").error().message(), "f: names no host");
}

TEST(Hosts, OwnNamesAreKnown) {
  EXPECT_TRUE(is_own_name("localhost"));
  EXPECT_TRUE(is_own_name("127.0.0.1"));
  EXPECT_TRUE(is_own_name("LocalHost."));
  EXPECT_TRUE(is_own_name("127.0.1.1"));
  EXPECT_TRUE(is_own_name(own_name()));
  EXPECT_TRUE(is_own_name(own_name() + "."));
  std::string capitals = own_name();
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_TRUE(is_own_name(capitals));
  for (const std::string& address : own_addresses()) EXPECT_TRUE(is_own_name(address)) << address;
  EXPECT_FALSE(is_own_name("no-such-host.invalid"));
}

TEST(Hosts, UsersOfThisMachine) {
  const auto said = [](const std::string& host) {
    Result<Allocation> all = allocate(*parse("-H " + host + " p"));
    return all ? all->hosts[0].name + (all->hosts[0].own ? " own" : "") : all.error().message();
  };
  const passwd* me = ::getpwuid(::geteuid());
  if (me) {
    EXPECT_EQ(said(std::string(me->pw_name) + "@localhost"), own_name() + " own");
  }
  EXPECT_EQ(said("nosuchuser@localhost"),
            "--host: nosuchuser@localhost: on this machine ranks are your own, not those of user "
            "nosuchuser; write localhost, or start mpirun as nosuchuser");
  EXPECT_EQ(said("nosuchuser@a.invalid"), "nosuchuser@a.invalid");
}

TEST(Hosts, TheSameInCapitals) {
  Result<Allocation> all = allocate(*parse("-H a.invalid,A.Invalid.,LOCALHOST p : -H A.INVALID:3 q"));
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->hosts, (std::vector<Host>{host("a.invalid", 3), {own_name(), 1, true}}));
  EXPECT_EQ(all->app_hosts, (std::vector<std::vector<int>>{{0, 1}, {0}}));
}

TEST(Hosts, WithoutAnyItIsThisMachine) {
  Result<Allocation> all = allocate(*parse("p"));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->hosts, (std::vector<Host>{{own_name(), {}, true}}));
  EXPECT_EQ(all->app_hosts, (std::vector<std::vector<int>>{{0}}));
}

TEST(Hosts, EachMentionIsASlotAndProgramsMayHaveTheirOwn) {
  Result<Allocation> all = allocate(*parse("-H a.invalid,a.invalid,localhost p : -H b.invalid:3,a.invalid q"));
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->hosts.size(), 3u);
  EXPECT_EQ(all->hosts[0], host("a.invalid", 2));
  EXPECT_EQ(all->hosts[1], (Host{own_name(), 1, true}));
  EXPECT_EQ(all->hosts[2], host("b.invalid", 3));
  EXPECT_EQ(all->app_hosts, (std::vector<std::vector<int>>{{0, 1}, {0, 2}}));
}

}  // namespace
}  // namespace tutti::launcher
