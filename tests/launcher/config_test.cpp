// SPDX-License-Identifier: BSD-3-Clause
// Settings: layers, origins, and the sentences about what is wrong.
#include "base/config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/nearest.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() : folder_(fs::path(testing::TempDir()) / ("config." + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    sources_.system_file = folder_ / "system.yaml";
    sources_.user_file = folder_ / "user.yaml";
  }
  ~ConfigTest() override { fs::remove_all(folder_); }

  void system(const std::string& text) { std::ofstream(sources_.system_file) << text; }
  void user(const std::string& text) { std::ofstream(sources_.user_file) << text; }
  Result<Config> load(const std::vector<GivenSetting>& given = {}) { return Config::load(given, sources_); }
  std::string problem(const std::vector<GivenSetting>& given = {}) {
    Result<Config> config = load(given);
    return config ? "no error" : config.error().message();
  }

  fs::path folder_;
  SettingSources sources_;
};

TEST_F(ConfigTest, DefaultsNeedNoFile) {
  Result<Config> config = load();
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->flag("progress.thread"));
  EXPECT_EQ(config->duration("progress.tick_min"), std::chrono::microseconds(200));
  EXPECT_EQ(config->duration("launch.node_timeout"), std::chrono::milliseconds(1500));
  EXPECT_EQ(config->text("launch.rsh"), "ssh");
  EXPECT_EQ(config->number("wait.spins"), 20000);
  EXPECT_EQ(config->value("wait.spins").origin, "default");
}

TEST_F(ConfigTest, LayersRise) {
  system("wait:\n  spins: 1\n");
  EXPECT_EQ(load()->number("wait.spins"), 1);
  user("# a comment\nwait.spins: 2\n");
  EXPECT_EQ(load()->number("wait.spins"), 2);
  EXPECT_EQ(load()->value("wait.spins").origin, sources_.user_file.string() + ":2");
  sources_.environment["TUTTI_WAIT_SPINS"] = "3";
  EXPECT_EQ(load()->number("wait.spins"), 3);
  EXPECT_EQ(load()->value("wait.spins").origin, "TUTTI_WAIT_SPINS");
  Result<Config> config = load({{"wait.spins", "4", "--set wait.spins=4"}});
  EXPECT_EQ(config->number("wait.spins"), 4);
  EXPECT_EQ(config->value("wait.spins").origin, "--set wait.spins=4");
}

TEST_F(ConfigTest, UnknownNamesAreErrorsWithPlaceAndNearestName) {
  system("log:\n  level: note\nprogress:\n  tread: on\n");
  EXPECT_EQ(problem(), sources_.system_file.string() +
                           ":4: there is no setting 'progress.tread'; did you mean 'progress.thread'?");
  system("");
  sources_.environment["TUTTI_LOG_LEVLE"] = "note";
  EXPECT_EQ(problem(), "environment: TUTTI_LOG_LEVLE is not a setting; did you mean 'TUTTI_LOG_LEVEL'?");
  sources_.environment = {{"TUTTI_JOB", "x"}, {"TUTTI_ROOT", "/opt"}, {"TUTTI_TEST_ANY", "1"}};
  EXPECT_EQ(problem(), "no error");
  EXPECT_EQ(problem({{"nonsense", "1", "--set nonsense=1"}}), "--set nonsense=1: there is no setting 'nonsense'");
}

TEST_F(ConfigTest, EachVariableOfTheTableIsKnown) {
  for (const Setting& s : settings())
    sources_.environment[variable_of(s.name)] = s.fallback.empty() ? "text" : std::string(s.fallback);
  EXPECT_EQ(problem(), "no error");
}

TEST_F(ConfigTest, WrongValuesAreErrorsThatSayWhatIsExpected) {
  const struct {
    const char *name, *value, *expected;
  } cases[] = {
      {"progress.thread", "maybe", "on or off"},
      {"wait.spins", "-1", "a whole number in 0..1000000000"},
      {"wait.spins", "12x", "a whole number in 0..1000000000"},
      {"wait.spins", "99999999999999999999", "a whole number in 0..1000000000"},
      {"log.level", "loud", "one of error|warning|note|debug"},
      {"launch.kill_grace", "5", "a time such as 200us, 16ms or 2s"},
      {"launch.kill_grace", "-5s", "a time such as 200us, 16ms or 2s"},
      {"launch.kill_grace", "1e300s", "a time such as 200us, 16ms or 2s"},
      {"launch.kill_grace", "nan", "a time such as 200us, 16ms or 2s"},
      {"launch.rsh", "", "text, and not empty"},
      {"launch.rsh", " \t", "text, and not empty"},
      {"launch.map_by", "", "text, and not empty"},
      {"launch.bind_to", "", "one of auto|none|hwthread|core|l2cache|l3cache|numa|socket"},
      {"launch.node_timeout", "0", "a time such as 200us, 16ms or 2s, in 500ms..1440min"},
      {"launch.connect_timeout", "0s", "a time such as 200us, 16ms or 2s, in 100ms..1440min"},
      {"progress.tick_min", "0", "a time such as 200us, 16ms or 2s, in 1us..1min"},
      {"progress.tick_max", "9min", "a time such as 200us, 16ms or 2s, in 1us..1min"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(problem({{c.name, c.value, "--set"}}),
              fmt::format("--set: '{}' is not a value of {}, which is {}", c.value, c.name, c.expected));
}

TEST_F(ConfigTest, SettingsThatContradictEachOtherAreErrors) {
  EXPECT_EQ(problem({{"progress.tick_min", "20ms", "--set progress.tick_min=20ms"},
                     {"progress.tick_max", "10ms", "elsewhere"}}),
            "progress.tick_min (20ms, from: --set progress.tick_min=20ms) is longer than "
            "progress.tick_max (10ms, from: elsewhere)");
}

TEST_F(ConfigTest, FilesThatAreNoSettingsAreErrorsWithTheLine) {
  system("- one\n- two\n");
  EXPECT_NE(problem().find("system.yaml:1: expected lines such as"), std::string::npos);
  system("log:\n  level: [note, debug]\n");
  EXPECT_NE(problem().find("system.yaml:2: log.level takes one value"), std::string::npos);
  system("log: {level: note\nwait: 3\n");
  EXPECT_NE(problem().find("system.yaml:"), std::string::npos) << problem();
  system("log:\n  # level: debug\n");
  EXPECT_EQ(problem(), "no error");
  system("\x01\x02\xff\xfe: {{{{");
  EXPECT_NE(problem(), "no error");
  system("launch:\n    rsh: ssh\n log.level: note\n");
  EXPECT_NE(problem().find("system.yaml:3:"), std::string::npos) << problem();
  // What can begin no document: the parser takes nothing of it, however often it is asked.
  for (const char* text : {",", ",\n", ",a", "&a ,", "[,a", "- \n,", "x: 1\n,", "\t,", "!t ,", "? ,", ",---\n,"}) {
    system(text);
    EXPECT_NE(problem().find("system.yaml:"), std::string::npos) << text << ": " << problem();
  }
  system(",");
  EXPECT_NE(problem().find("system.yaml:1: what stands here"), std::string::npos) << problem();
}

TEST_F(ConfigTest, ANameGivenTwiceIsAnErrorWithBothLines) {
  const std::string system_place = sources_.system_file.string();
  const struct {
    const char *text, *rest;
  } cases[] = {
      {"wait:\n  spins: 1\nlog:\n  level: note\nwait:\n  spread: on\n",
       ":5: wait stands in line 1 already; join the two"},
      {"wait:\n  spins: 1\n  spread: on\n  spins: 1\n", ":4: wait.spins stands in line 2 already; join the two"},
      {"wait.spins: 1\nwait:\n  spins: 2\n", ":3: wait.spins stands in line 1 already; join the two"},
      {"wait:\n  # spins: 1\nlog:\nwait:\n", ":4: wait stands in line 1 already; join the two"},
      {"wait: {spins: 1, spins: 2}\n", ":1: wait.spins stands in line 1 already; join the two"},
      {"wait.spins: 1\n---\nwait.spins: 2\n", ":2: a second document begins here, with '---'; join the two"},
  };
  for (const auto& c : cases) {
    system(c.text);
    EXPECT_EQ(problem(), system_place + c.rest);
  }
  system("");
  user("wait.spins: 1\nwait.spins: 2\n");
  EXPECT_EQ(problem(), sources_.user_file.string() + ":2: wait.spins stands in line 1 already; join the two");
  // One file may say other than the other: that is what they are there for.
  system("wait.spins: 1\nwait:\n  spread: on\n");
  user("wait.spins: 2\n");
  EXPECT_EQ(problem(), "no error");
}

TEST_F(ConfigTest, WhatNestsTooDeeplyIsRefused) {
  system("log: &all\n  level: *all\n");
  EXPECT_NE(problem().find("log.level takes one value, not a list"), std::string::npos) << problem();
  system("logs:\n  level: note\n");
  EXPECT_NE(problem().find(":1: there is no setting 'logs'"), std::string::npos) << problem();
}

TEST_F(ConfigTest, PassesWhatDiffersToRanks) {
  Result<Config> config = load({{"wait.spins", "7", "--set"}, {"launch.rsh", "ssh", "--set"}});
  EXPECT_EQ(config->as_environment(), (std::vector<std::string>{"TUTTI_SETTINGS_RESOLVED=1", "TUTTI_WAIT_SPINS=7"}));
}

std::string contents(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Settings, EachIsDocumentedAndShownInTheInstalledFile) {
  const std::string page = contents(TUTTI_SOURCE "/man/tutti.yaml.5");
  const std::string installed = contents(TUTTI_SOURCE "/conf/tutti.yaml");
  for (const Setting& s : settings()) {
    EXPECT_NE(page.find(s.name), std::string::npos) << s.name << " is missing in tutti.yaml(5)";
    const std::string leaf(s.name.substr(s.name.find('.') + 1));
    EXPECT_NE(installed.find("# " + leaf + ":"), std::string::npos) << s.name;
    EXPECT_FALSE(s.doc.empty());
  }
}

TEST(Settings, TheInstalledFileIsReadAndChangesNothing) {
  SettingSources sources;
  sources.system_file = TUTTI_SOURCE "/conf/tutti.yaml";
  Result<Config> config = Config::load({}, sources);
  ASSERT_TRUE(config) << config.error().message();
  for (const Config::Value& v : config->values()) EXPECT_EQ(v.origin, "default");
}

// Whoever uncomments what is there gets all of it.
TEST(Settings, TheInstalledFileHoldsWhenAllOfItIsUncommented) {
  const std::string file = testing::TempDir() + "uncommented." + std::to_string(::getpid());
  std::ifstream installed(TUTTI_SOURCE "/conf/tutti.yaml");
  {
    std::ofstream out(file);
    for (std::string line; std::getline(installed, line);)
      out << (line.starts_with("  # ") ? "  " + line.substr(4) : line) << '\n';
  }
  SettingSources sources;
  sources.system_file = file;
  Result<Config> config = Config::load({}, sources);
  fs::remove(file);
  ASSERT_TRUE(config) << config.error().message();
  for (const Config::Value& v : config->values()) {
    EXPECT_NE(v.origin, "default") << v.setting->name;
    EXPECT_EQ(v.text, v.setting->fallback) << v.setting->name;
  }
}

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("levle", "level"), 1);
  constexpr std::string_view names[] = {"host", "hostfile", "timeout"};
  EXPECT_EQ(nearest_name("hostfiel", names), "hostfile");
  EXPECT_EQ(nearest_name("xyzzy", names), "");
  EXPECT_EQ(did_you_mean("timout", names, "--"), "; did you mean '--timeout'?");
}

}  // namespace
}  // namespace tutti
