// SPDX-License-Identifier: BSD-3-Clause
// The table of options: each row is taken, or refused with a sentence; the page of the manual has
// the same rows; and what the options of other launchers mean.
#include "launcher/words/option_table.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "launcher/data/job_map.hpp"
#include "launcher/data/output_shape.hpp"

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

TEST(OptionTable, EachNameOfEachRowIsTakenOrRefusedWithASentence) {
  std::set<std::string_view> seen;
  for (const Option& option : option_table())
    for (std::string_view name : option.names) {
      EXPECT_TRUE(seen.insert(name).second) << name << " stands in two rows";
      ASSERT_EQ(option.value.empty(), option.sample.empty()) << name;
      const std::string line =
          "--" + std::string(name) + (option.values == 0 ? "=" : " ") + std::string(option.sample) + " prog";
      const std::string said = problem(line);
      if (is_refused(option)) {
        EXPECT_NE(said.find("--" + std::string(name) + " is not supported: "), said.npos) << said;
      } else if (name == "app" || name == "configfile" || name == "config") {
        EXPECT_NE(said.find("'prog' stands on the command line"), said.npos) << said;
      } else if (name == "multi-prog") {
        EXPECT_EQ(said, "--multi-prog prog: the file cannot be read (No such file or directory)");
      } else {
        EXPECT_EQ(said, "no error") << line;
      }
      EXPECT_TRUE(help_on(name)) << name;
    }
}

TEST(OptionTable, ThePageOfTheManualHasTheSameRows) {
  std::ifstream file(TUTTI_SOURCE "/man/tutti-options.7");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(option_rows()), std::string::npos) << "the rows of man/tutti-options.7 should be:\n"
                                                               << option_rows();
}

TEST(OptionTable, CompletionOfZshHasTheSameRows) {
  std::ifstream file(TUTTI_SOURCE "/packaging/completion/_tutti");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(option_specs()), std::string::npos)
      << "the rows of packaging/completion/_tutti should be:\n"
      << option_specs();
}

TEST(OptionTable, CompletionOfShellsKnowsTheLongNames) {
  std::ifstream file(TUTTI_SOURCE "/packaging/completion/tutti.bash");
  std::ostringstream text;
  text << file.rdbuf();
  for (const Option& option : option_table())
    for (std::string_view name : option.names)
      if (name.size() > 2 && is_offered(option)) {
        EXPECT_NE(text.str().find("--" + std::string(name)), std::string::npos) << "--" << name;
      }
}

TEST(OptionTable, RanksOfEachNode) {
  for (const char* line : {"-N 2 p", "-ppn 2 p", "--npernode 2 p", "--ntasks-per-node=2 p"})
    EXPECT_EQ(parse(line)->map_by, "ppr:2:node") << line;
  EXPECT_EQ(parse("--cpus-per-rank 3 -N 2 p")->map_by, "ppr:2:node:pe=3");
  EXPECT_EQ(parse("-N 2 --cpus-per-rank 3 p")->map_by, "ppr:2:node:pe=3");
  EXPECT_EQ(parse("--cpus-per-rank 3 p")->map_by, "slot:pe=3");
  EXPECT_EQ(problem("-N two p"), "-N takes a number of ranks for each node, not 'two'");
}

TEST(OptionTable, PlacesOfRanks) {
  EXPECT_EQ(parse("--npersocket 2 p")->map_by, "ppr:2:socket");
  EXPECT_EQ(parse("--ntasks-per-core 1 p")->map_by, "ppr:1:core");
  EXPECT_EQ(parse("--rankfile f p")->map_by, "rankfile");
  EXPECT_EQ(parse("--map-by rankfile:file=a/b p")->rankfile, "a/b");
  EXPECT_EQ(parse("--map-by rankfile:a:nooversubscribe p")->map_by, "rankfile:nooversubscribe");
  EXPECT_EQ(parse("--map-by RankFile:FILE=A/b:NoOversubscribe p")->map_by, "rankfile:nooversubscribe");
  EXPECT_EQ(parse("--map-by RankFile:FILE=A/b p")->rankfile, "A/b");
  EXPECT_EQ(parse("--map-by PPR:2:Package:PE=4 p")->map_by, "ppr:2:package:pe=4");
  EXPECT_EQ(parse("--map-by DIST:Mlx5_0 p")->map_by, "dist:Mlx5_0");
  EXPECT_EQ(parse("--bind-to L3CACHE p")->bind_to, "l3cache");
  EXPECT_EQ(parse("--mca rmaps_base_mapping_policy PPR:1:Socket p")->map_by, "ppr:1:socket");
  EXPECT_EQ(parse("--map-by node:NOLOCAL:PE=2 p")->map_by, "node:pe=2");
  EXPECT_TRUE(parse("--map-by :NOLOCAL p")->other_nodes_only);
  EXPECT_FALSE(parse("--map-by node p")->other_nodes_only);
  EXPECT_NE(problem("--map-by PE-LIST=0,1 p").find("type --cpu-set LIST"), std::string::npos);
  EXPECT_EQ(parse("--cpu-set 0,2-3 p")->processors, "0,2-3");
  EXPECT_NE(problem("--cpu-list a p").find("numbers of processors"), std::string::npos);
  EXPECT_TRUE(parse("--use-hwthread-cpus p")->hwthreads);
  EXPECT_EQ(parse("--rank-by fill p")->rank_by, "fill");
  EXPECT_NE(problem("--rank-by x p").find("--rank-by takes slot"), std::string::npos);
}

TEST(OptionTable, VariablesOfRanks) {
  Result<RunOptions> run = parse("-genv A b -env C=d --unset E* -genvlist F,G p");
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->variables, Words{"A=b"});  // of all programs
  EXPECT_EQ(run->apps[0].variables, Words{"C=d"});
  EXPECT_EQ(run->inherit.unset, Words{"E*"});
  EXPECT_FALSE(run->inherit.all);
  EXPECT_EQ(run->inherit.only, (Words{"F", "G"}));
  run = parse("--export=ALL,A=b,C p");
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->inherit.all);
  EXPECT_EQ(run->apps[0].variables, Words{"A=b"});
  EXPECT_FALSE(parse("--export=NONE p")->inherit.all);
  EXPECT_EQ(problem("-genv A"), "-genv needs two values: NAME VALUE");
}

TEST(OptionTable, Streams) {
  Result<RunOptions> run = parse("--output tag,timestamp,merge:nocopy,file=o.%r --stdin 3 p");
  ASSERT_TRUE(run) << run.error().message();
  const OutputShape& shape = run->output;
  EXPECT_TRUE(shape.tag && shape.timestamp && shape.merge && !shape.copy);
  EXPECT_EQ(shape.file, "o.%r");
  EXPECT_EQ(run->input_rank, 3);
  EXPECT_EQ(parse("--stdin none p")->input_rank, std::nullopt);
  EXPECT_EQ(parse("--stdin all p")->input_rank, kEveryRank);
  EXPECT_NE(problem("--stdin most p").find("all, none or the number"), std::string::npos);
  EXPECT_NE(problem("--output file=%x p").find("%r for the rank"), std::string::npos);
  EXPECT_NE(problem("--output tga p").find("not 'tga'"), std::string::npos);
}

TEST(OptionTable, FilesOfOutputAreNeverSharedByRanks) {
  OutputShape shape;
  shape.file = "x%%.%n.%j.%r";
  EXPECT_EQ(output_file(shape, 3, OutputStream::out, "n1", "job"), "x%.n1.job.3");
  EXPECT_EQ(output_file(shape, 3, OutputStream::err, "n1", "job"), "x%.n1.job.3.err");
  shape.merge = true;
  EXPECT_EQ(output_file(shape, 3, OutputStream::err, "n1", "job"), "x%.n1.job.3");
  shape.file = "x";
  EXPECT_EQ(output_file(shape, 3, OutputStream::out, "n1", "job"), "x.3");
  shape.folder = "f";
  shape.merge = false;
  EXPECT_EQ(output_file(shape, 3, OutputStream::err, "n1", "job"), "f/rank.3/stderr");
}

TEST(OptionTable, ParametersOfOpenMpi) {
  Result<RunOptions> run = parse(
      "--mca btl self,tcp --mca plm_rsh_agent rsh --prtemca hwloc_base_binding_policy none "
      "--mca no_such x -mca rmaps_base_no_oversubscribe 1 p");
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->notes.size(), 2u);
  EXPECT_TRUE(run->notes[0].starts_with("--mca btl self,tcp changes nothing: ")) << run->notes[0];
  EXPECT_TRUE(run->notes[1].starts_with("--mca no_such x changes nothing: it is a parameter"));
  ASSERT_EQ(run->settings.size(), 1u);
  EXPECT_EQ(run->settings[0].name, "launch.rsh");
  EXPECT_EQ(run->settings[0].value, "rsh");
  EXPECT_EQ(run->bind_to, "none");
  EXPECT_TRUE(run->nooversubscribe);
}

TEST(OptionTable, ParametersOfOpenMpiThatHaveAnAnswer) {
  const struct {
    const char *name, *answer;
  } cases[] = {
      {"orte_tmpdir_base", "TMPDIR"},           {"btl_tcp_port_min_v4", "UCX_TCP_PORT_RANGE"},
      {"plm_base_verbose", "--verbose"},        {"btl_vader_eager_limit", "chosen by themselves"},
      {"opal_cuda_support", "the main memory"}, {"btl_tcp_if_include", "UCX_NET_DEVICES"},
  };
  for (const auto& each : cases) {
    Result<RunOptions> run = parse(fmt::format("--mca {} 1 p", each.name));
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_EQ(run->notes.size(), 1u) << each.name;
    EXPECT_NE(run->notes[0].find(each.answer), std::string::npos) << run->notes[0];
  }
}

TEST(OptionTable, DisplayAndHelp) {
  Result<RunOptions> run = parse("--display map,bind:parseable --dry-run p");
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->display, (Words{"map", "bindings"}));
  EXPECT_TRUE(run->parseable && run->dry_run);
  EXPECT_EQ(parse("--help --map-by")->help_topic, "--map-by");
  EXPECT_TRUE(help_on("options"));
  EXPECT_FALSE(help_on("nothing"));
  for (const char* topic : {"placement", "binding", "output", "environment", "files", "debugging"}) {
    ASSERT_TRUE(help_on(topic)) << topic;
    EXPECT_NE(help_on("topics")->find(topic), std::string::npos) << topic;
  }
  EXPECT_EQ(help_on("mapping"), help_on("placement"));  // as Open MPI calls it
  EXPECT_EQ(help_on("all"), help_on("options"));
  EXPECT_NE(help_on("binding")->find("--cpu-list, --cpu-set, --slot-list LIST"), std::string::npos)
      << *help_on("binding");
}

TEST(BindWords, QualifiersAndOtherNames) {
  MapPolicy policy;
  EXPECT_EQ(*take_bind_words("core:overload-allowed", policy), "core");
  EXPECT_EQ(*take_bind_words("board", policy), "none");
  EXPECT_EQ(policy.cores_per_rank, 1);
  EXPECT_EQ(*take_bind_words("core:4", policy), "core");
  EXPECT_EQ(policy.cores_per_rank, 4);
  EXPECT_FALSE(take_bind_words("core:x", policy));
  EXPECT_TRUE(policy.overload);
  EXPECT_TRUE(take_bind_words("core:no-overload", policy));
  EXPECT_FALSE(policy.overload);
}

TEST(Programs, OfAFile) {
  const std::string name = testing::TempDir() + "programs";
  std::ofstream(name) << "# two\n-n 1 ./a 'b c' \\\n  d\n\n-n 2 -x A=1 ./e\n";
  Result<RunOptions> run = parse("--app " + name);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->apps.size(), 2u);
  EXPECT_EQ(run->apps[0].command, (Words{"./a", "b c", "d"}));
  EXPECT_EQ(run->apps[1].ranks, 2);
  std::ofstream(name) << "-n 1 ./a\n-n x ./b\n";
  EXPECT_NE(problem("--app " + name).find(name + ":2: -n takes"), std::string::npos);
  std::ofstream(name) << "-n 1 './a\n";
  EXPECT_NE(problem("--app " + name).find("a quote has no end"), std::string::npos);
  EXPECT_NE(problem("--app /no/such").find("cannot be read (No such file or directory)"), std::string::npos);
  EXPECT_NE(problem("--app .").find("cannot be read (it is a folder)"), std::string::npos);
  // The last line may say that it goes on, though nothing does; lines of other editors end in two characters.
  std::ofstream(name) << "-n 1 ./a\n-n 2 ./b x \\";
  run = parse("--app " + name);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->apps.size(), 2u);
  EXPECT_EQ(run->apps[1].command, (Words{"./b", "x"}));
  std::ofstream(name) << "-n 1 ./a b \\\r\n  c\r\n-n 2 ./d \\\r\n";
  run = parse("--app " + name);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->apps.size(), 2u);
  EXPECT_EQ(run->apps[0].command, (Words{"./a", "b", "c"}));
  EXPECT_EQ(run->apps[1].command, (Words{"./d"}));
  for (const char* again : {"--app x", "--app other -n 2 ./a", "-n 1 --app /no/such ./a"}) {
    std::ofstream(name) << again << "\n";
    EXPECT_EQ(problem("--app " + name), name + ":1: --app has no place in a file of programs") << again;
  }
  std::ofstream(name) << "";
  EXPECT_NE(problem("--app " + name).find("names no program"), std::string::npos);
  std::remove(name.c_str());
}

}  // namespace
}  // namespace tutti::launcher
