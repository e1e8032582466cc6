// SPDX-License-Identifier: BSD-3-Clause
// Who has which processors: what a second job is told while the first one lives, and while somebody holds the lock.
#include "launcher/node/core_claims.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "launcher/data/job_map.hpp"

namespace tutti::launcher {
namespace {

class CoreClaims : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/claims.XXXXXX";
    ASSERT_TRUE(::mkdtemp(path));
    place_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(place_); }
  // What a job is told that then takes these.
  Claims claim(const std::string& job, const std::vector<int>& wanted) {
    Claims told;
    claim_processors(
        job, [&](const Claims& claims) { return told = claims, wanted; }, std::chrono::milliseconds(20), place_);
    return told;
  }
  std::string place_;
};

TEST_F(CoreClaims, ASecondJobSeesWhatTheFirstHas) {
  Claims told = claim("a", {1, 2});
  EXPECT_TRUE(told.certain);
  EXPECT_EQ(told.taken, std::vector<int>());
  told = claim("b", {3});
  EXPECT_TRUE(told.certain);
  EXPECT_EQ(told.taken, (std::vector<int>{1, 2}));
}

TEST_F(CoreClaims, NothingIsCertainWhileAnotherJobChooses) {
  claim("a", {1});
  claim_processors(
      "b",
      [&](const Claims& claims) {
        EXPECT_TRUE(claims.certain);
        const Claims told = claim("c", {});
        EXPECT_FALSE(told.certain);
        EXPECT_EQ(told.taken, std::vector<int>{1});
        return std::vector<int>{};
      },
      std::chrono::milliseconds(20), place_);
  EXPECT_TRUE(claim("d", {}).certain);
}

// Anybody who may read a folder may lock it.
TEST_F(CoreClaims, ALockOfTheFolderIsNothing) {
  const int held = ::open(place_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  EXPECT_TRUE(claim("a", {}).certain);
  ::close(held);
}

TEST_F(CoreClaims, FilesOfOthersAreNoLocks) {
  if (::geteuid() != 0) GTEST_SKIP() << "making another user's files needs root";
  const auto plant = [&](int number) {
    const std::string name = place_ + "/tutti-cores-0-" + std::to_string(number);
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT, 0666);
    EXPECT_EQ(::fchown(fd, 65534, 65534), 0);
    EXPECT_EQ(::flock(fd, LOCK_EX), 0);
    return fd;  // held until the end of the process
  };
  plant(0);
  const auto chooses_alone = [&] {
    bool alone = false;
    const std::string why = claim_processors(
        "a", [&](const Claims&) { return alone = !claim("b", {}).certain, std::vector<int>{}; },
        std::chrono::milliseconds(20), place_);
    EXPECT_EQ(why.empty(), alone) << why;
    return alone;
  };
  EXPECT_TRUE(chooses_alone());
  for (int i = 1; i < 16; ++i) plant(i);
  EXPECT_FALSE(chooses_alone());
}

TEST_F(CoreClaims, AFurtherLinkToTheLockIsNothing) {
  const std::string name = place_ + "/tutti-cores-" + std::to_string(::geteuid()) + "-0", link = place_ + "/link";
  ::close(::open(name.c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(::link(name.c_str(), link.c_str()), 0);
  EXPECT_TRUE(claim("a", {}).certain);
  ::unlink(link.c_str());
}

TEST_F(CoreClaims, NamesOfStrangersDoNotHideARecord) {
  for (int i = 0; i < 1100; ++i)
    std::filesystem::create_symlink("/nowhere", place_ + "/" + job_prefix("x" + std::to_string(i)) + "cores.1");
  claim("b", {3});
  EXPECT_EQ(claim("a", {}).taken, std::vector<int>{3});
}

TEST_F(CoreClaims, NothingStays) {
  claim("a", {});
  EXPECT_TRUE(std::filesystem::is_empty(place_));
}

TEST_F(CoreClaims, ThoseWhoTakeTurnsNeverMeet) {
  std::atomic<int> inside{0}, met{0}, alone{0};
  std::vector<std::thread> jobs;
  for (int i = 0; i < 4; ++i)
    jobs.emplace_back([&, i] {
      for (int turn = 0; turn < 50; ++turn)
        claim_processors(
            std::to_string(i),
            [&](const Claims& claims) {
              if (!claims.certain) return std::vector<int>{};
              met += inside.fetch_add(1) != 0;
              std::this_thread::yield();
              --inside;
              ++alone;
              return std::vector<int>{};
            },
            std::chrono::seconds(5), place_);
    });
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(met, 0);
  EXPECT_EQ(alone, 200);
}

TEST_F(CoreClaims, WithoutAPlaceNobodyHasAnything) {
  place_ += "/none";
  const Claims told = claim("a", {1});
  EXPECT_TRUE(told.certain);
  EXPECT_EQ(told.taken, std::vector<int>());
}

}  // namespace
}  // namespace tutti::launcher
