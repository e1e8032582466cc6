// SPDX-License-Identifier: BSD-3-Clause
// Who has which processors: what a second job is told while the first one lives, and while somebody holds the lock.
#include "launcher/core_claims.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

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

TEST_F(CoreClaims, NothingIsCertainWhileTheLockIsHeld) {
  claim("a", {1});
  const int held = ::open(place_.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  const Claims told = claim("b", {});
  EXPECT_FALSE(told.certain);
  EXPECT_EQ(told.taken, std::vector<int>{1});
  ::close(held);
  EXPECT_TRUE(claim("c", {}).certain);
}

TEST_F(CoreClaims, WithoutAPlaceNobodyHasAnything) {
  place_ += "/none";
  const Claims told = claim("a", {1});
  EXPECT_TRUE(told.certain);
  EXPECT_EQ(told.taken, std::vector<int>());
}

}  // namespace
}  // namespace tutti::launcher
