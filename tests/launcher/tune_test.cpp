// SPDX-License-Identifier: BSD-3-Clause
// `tutti tune` without a job: what figures say of settings, and how lines come into a file of settings.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/config.hpp"
#include "launcher/tune/choice.hpp"
#include "launcher/tune/tuned_file.hpp"

namespace {

using namespace tutti::launcher;
namespace fs = std::filesystem;

// Rounds at one placement in which every length takes a microsecond, by the shipped choice and by all others.
class Measured {
 public:
  explicit Measured(int rounds, std::vector<std::string> names) {
    for (int r = 0; r < rounds; ++r) {
      Round round;
      for (const std::string& name : names)
        for (long bytes = 64; bytes <= 4 << 20; bytes *= 4)
          for (const char* mode : {"reused", "fresh"}) round.shipped[fmt::format("{} {} {}", name, bytes, mode)] = 1e-6;
      round.trials.assign(3, round.shipped);
      rounds_.push_back(round);
    }
  }
  // What the choice of this place takes in these rounds.
  Measured& takes(size_t trial, const std::string& key, double ratio, size_t from = 0, size_t count = 99) {
    for (size_t r = from; r < std::min(rounds_.size(), from + count); ++r) rounds_[r].trials[trial][key] = ratio * 1e-6;
    return *this;
  }
  Measured& takes_both(size_t trial, const std::string& name, double ratio) {
    return takes(trial, name + " reused", ratio).takes(trial, name + " fresh", ratio);
  }
  std::vector<Round> rounds() const { return rounds_; }

 private:
  std::vector<Round> rounds_;
};

TEST(Choice, reads_the_lines_that_are_times) {
  const Times times = times_of(
      "tutti: warning: something\ntune: bcast 64 reused 0.000000125\n\ntune: bcast x\ntune: scan 4096 fresh "
      "1e-5\nrest");
  EXPECT_EQ(times, (Times{{"bcast 64 reused", 1.25e-7}, {"scan 4096 fresh", 1e-5}}));
}

TEST(Choice, has_rules_for_each_trial_until_there_are_no_more) {
  EXPECT_TRUE(rules_of_trial(0).starts_with("bcast shared=yes shared; reduce shared=yes shared; "));
  EXPECT_NE(rules_of_trial(1).find("allgather shared=yes direct"), std::string::npos);
  EXPECT_EQ(rules_of_trial(2), "scan shared=yes shared_chain; exscan shared=yes shared_chain");
  EXPECT_EQ(rules_of_trial(3), "");
}

TEST(Choice, takes_what_is_clearly_faster_and_joins_lengths) {
  const Measured m = Measured(3, {"bcast", "scan"})
                         .takes_both(1, "bcast 1024", 0.8)
                         .takes_both(1, "bcast 4096", 0.7)
                         .takes_both(0, "bcast 16384", 0.6)
                         .takes_both(1, "bcast 16384", 0.5)
                         .takes_both(1, "bcast 64", 0.95)
                         .takes_both(2, "scan 64", 0.5);
  const std::vector<TunedRule> wanted{{"bcast", "binomial", 512, 32768, 0.8}, {"scan", "shared_chain", 0, 128, 0.5}};
  const std::vector<TunedRule> got = worthwhile({m.rounds()});
  ASSERT_EQ(got.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got[i].collective, wanted[i].collective);
    EXPECT_EQ(got[i].algorithm, wanted[i].algorithm);
    EXPECT_EQ(got[i].above, wanted[i].above);
    EXPECT_EQ(got[i].up_to, wanted[i].up_to);
    EXPECT_NEAR(got[i].ratio, wanted[i].ratio, 1e-9);
  }
  EXPECT_EQ(override_of(got),
            "bcast shared=yes ranks=2 bytes>512 bytes<=32k binomial; scan shared=yes ranks=2 bytes<=128 shared_chain");
}

TEST(Choice, leaves_what_is_slower_with_fresh_data_or_elsewhere_or_at_most_times) {
  const Measured fresh = Measured(3, {"gather"}).takes(1, "gather 4096 reused", 0.5).takes(1, "gather 4096 fresh", 1.1);
  EXPECT_TRUE(worthwhile({fresh.rounds()}).empty());
  const Measured near = Measured(3, {"gather"}).takes_both(1, "gather 4096", 0.5);
  const Measured far = Measured(3, {"gather"}).takes_both(1, "gather 4096", 1.2);
  EXPECT_EQ(worthwhile({near.rounds()}).size(), 1u);
  EXPECT_TRUE(worthwhile({near.rounds(), far.rounds()}).empty());
  // One round in five says nothing.
  const Measured once = Measured(5, {"gather"}).takes(1, "gather 4096 reused", 0.1, 2, 1);
  EXPECT_TRUE(worthwhile({once.rounds()}).empty());
  EXPECT_TRUE(worthwhile({}).empty());
}

TEST(Choice, has_a_rule_for_the_other_reduce_scatter_too) {
  const Measured m = Measured(1, {"reduce_scatter_block"}).takes_both(1, "reduce_scatter_block 1048576", 0.5);
  EXPECT_EQ(override_of(worthwhile({m.rounds()})),
            "reduce_scatter_block shared=yes ranks=2 bytes>512k bytes<=2m pairwise; reduce_scatter shared=yes ranks=2 "
            "bytes>512k bytes<=2m pairwise");
}

TEST(Choice, leaves_reading_out_only_where_no_message_is_slower_without) {
  Measured all(3, {"message", "exchange", "stream"});
  for (const char* name : {"message", "exchange", "stream"})
    for (long bytes = 64 << 10; bytes <= 4 << 20; bytes *= 4) all.takes_both(0, fmt::format("{} {}", name, bytes), 0.8);
  const WithoutReading good = without_reading({all.rounds()});
  EXPECT_TRUE(good.is_worthwhile);
  EXPECT_NEAR(good.ratio, 0.8, 1e-9);
  all.takes(0, "stream 1048576 reused", 1.2);
  EXPECT_FALSE(without_reading({all.rounds()}).is_worthwhile);
  EXPECT_FALSE(without_reading({Measured(3, {"message"}).rounds()}).is_worthwhile);
}

// ---- files

class TunedFile : public testing::Test {
 protected:
  TunedFile() : folder_(fs::path(testing::TempDir()) / fmt::format("tutti-tune-{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~TunedFile() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  static std::string read(const std::string& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  const std::vector<std::string> names_{"transport.cma", "collectives.override"};
  const fs::path folder_;
};

std::string lines_of(const std::string& rules) {
  return tuned_lines({{"a remark"}, {{"collectives.override", rules}}});
}

TEST_F(TunedFile, is_made_with_its_folder_and_is_read_as_settings) {
  const std::string file = path("a/b/tutti.yaml");
  ASSERT_FALSE(write_tuned_lines(file, lines_of("bcast binomial; scan bytes<=4k chain"), names_));
  tutti::SettingSources sources;
  sources.user_file = file;
  const tutti::Result<tutti::Config> config = tutti::Config::load({}, sources);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->text("collectives.override"), "bcast binomial; scan bytes<=4k chain");
  EXPECT_EQ(config->value("collectives.override").origin, file + ":3");
}

TEST_F(TunedFile, keeps_what_else_is_there_and_replaces_its_own_lines) {
  const std::string mine = "# mine\nlaunch:\n  bind_to: none\nwait.spins: 7";
  const std::string file = put("tutti.yaml", mine);
  ::chmod(file.c_str(), 0600);
  ASSERT_FALSE(write_tuned_lines(file, lines_of("bcast binomial"), names_));
  EXPECT_EQ(read(file), mine + "\n" + lines_of("bcast binomial"));
  std::ofstream(file, std::ios::app) << "log.level: debug\n";
  ASSERT_FALSE(write_tuned_lines(file, lines_of("bcast chain"), names_));
  EXPECT_EQ(read(file), mine + "\n" + lines_of("bcast chain") + "log.level: debug\n");
  struct stat about{};
  ::stat(file.c_str(), &about);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  // Where nothing is worth a setting any more.
  ASSERT_FALSE(write_tuned_lines(file, "", names_));
  EXPECT_EQ(read(file), mine + "\nlog.level: debug\n");
  EXPECT_EQ(files(), 1u);
}

TEST_F(TunedFile, stays_a_link) {
  const std::string file = put("real.yaml", "");
  fs::create_symlink("real.yaml", path("link.yaml"));
  ASSERT_FALSE(write_tuned_lines(path("link.yaml"), lines_of("bcast binomial"), names_));
  EXPECT_TRUE(fs::is_symlink(path("link.yaml")));
  EXPECT_EQ(read(file), lines_of("bcast binomial"));
}

TEST_F(TunedFile, is_not_made_for_nothing) {
  ASSERT_FALSE(write_tuned_lines(path("none/tutti.yaml"), "", names_));
  EXPECT_FALSE(fs::exists(path("none")));
}

TEST_F(TunedFile, is_refused_where_others_have_written_what_would_be_chosen) {
  const auto refused = [&](const std::string& text, const std::string& words) {
    const std::string file = put("tutti.yaml", text);
    for (const tutti::Error& e :
         {check_tuned_file(file, names_), write_tuned_lines(file, lines_of("bcast chain"), names_)}) {
      ASSERT_TRUE(e);
      EXPECT_NE(e.message().find(words), std::string::npos) << e.message();
      EXPECT_NE(e.message().find(file), std::string::npos) << e.message();
    }
    EXPECT_EQ(read(file), text);
    EXPECT_EQ(files(), 1u);
  };
  refused("wait.spins: 1\ncollectives:\n  override: bcast chain\n", "tutti.yaml:3 gives collectives.override already");
  refused(lines_of("bcast chain") + "transport.cma: off\n", "gives transport.cma already");
  refused("wait.spins: much\n", "wait.spins");
  refused("# >>> tutti tune\ntransport.cma: off\n", "belong together");
  refused("# <<< tutti tune\n# >>> tutti tune\n", "belong together");
  refused(lines_of("a") + lines_of("b"), "belong together");
}

TEST_F(TunedFile, is_refused_where_it_cannot_be_written) {
  const tutti::Error folder = check_tuned_file(folder_.string(), names_);
  ASSERT_TRUE(folder);
  EXPECT_NE(folder.message().find("is no file of settings"), std::string::npos) << folder.message();
  const tutti::Error below = check_tuned_file(put("tutti.yaml", "") + "/x/tutti.yaml", names_);
  ASSERT_TRUE(below);
  EXPECT_NE(below.message().find("cannot be written"), std::string::npos) << below.message();
  fs::create_symlink("nowhere", path("loose.yaml"));
  EXPECT_TRUE(check_tuned_file(path("loose.yaml"), names_));
}

}  // namespace
