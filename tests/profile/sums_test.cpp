// SPDX-License-Identifier: BSD-3-Clause
// How profiles of ranks become sums: who came last, also between nodes whose clocks differ, and what is not compared.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/profile/profile_page.hpp"
#include "launcher/profile/profile_sums.hpp"

namespace tutti::launcher {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int kCalls = 10;

// Ranks in an allreduce every 10 ms, which rank `late` enters 4 ms behind the others; all leave 0.1 ms after it.
std::vector<RankProfile> job(int size, int late, int ranks_a_node = 64, int64_t ahead_by_node = 0) {
  std::vector<RankProfile> out;
  for (int r = 0; r < size; ++r) {
    RankProfile rank;
    rank.rank = r;
    rank.size = size;
    rank.node = r / ranks_a_node;
    const int64_t ahead = rank.node * ahead_by_node;
    rank.program = "solver";
    rank.ended = true;
    rank.begun = ahead;
    rank.over = ahead + kCalls * 10 * kMs;
    ProfileSite site;
    site.function = "MPI_Allreduce";
    site.place = "solver.c:61, in step()";
    site.calls = site.collectives = kCalls;
    for (uint32_t serial = 1; serial <= kCalls; ++serial) {
      const int64_t start = ahead + serial * 10 * kMs, entered = start + (r == late ? 4 * kMs : 0);
      rank.collectives.push_back({.context = 4,
                                  .serial = serial,
                                  .leader = 0,
                                  .entered = entered,
                                  .waits_from = entered,
                                  .left = start + 4 * kMs + kMs / 10,
                                  .site = 0});
      site.time += rank.collectives.back().left - entered;
    }
    rank.sites.push_back(site);
    out.push_back(rank);
  }
  return out;
}

TEST(ProfileSums, WhoComesLastIsWaitedFor) {
  const ProfileSums sums = sums_of(job(4, 2));
  ASSERT_EQ(sums.places.size(), 1U);
  const PlaceSums& place = sums.places[0];
  EXPECT_EQ(place.calls, 4U * kCalls);
  EXPECT_EQ(place.compared, static_cast<uint64_t>(kCalls));
  EXPECT_EQ(place.late.last.at(2), static_cast<uint64_t>(kCalls));
  EXPECT_EQ(place.late.late_by.at(2), kCalls * 4 * kMs);
  EXPECT_EQ(place.waited[kLateToCollective], 3 * kCalls * 4 * kMs);
  EXPECT_EQ(sums.ranks[2].waiting, 0);
  EXPECT_EQ(sums.ranks[0].waiting, kCalls * 4 * kMs);
  EXPECT_EQ(sums.clock_error, -1) << "there is one node";
}

TEST(ProfileSums, WhoIsAtAFileIsWaitedForAsSuch) {
  std::vector<RankProfile> ranks = job(4, 2);
  for (ProfileCollective& each : ranks[2].collectives)
    if (each.serial > 2) each.at_file = 3 * kMs;
  ranks[2].files = {{}, {.pieces = 8, .bytes = 8000, .unaligned = 8, .time = 8 * 3 * kMs}, {}};
  const ProfileSums sums = sums_of(ranks);
  const PlaceSums& place = sums.places[0];
  EXPECT_EQ(place.waited[kAtFile], 3 * 8 * 4 * kMs);
  EXPECT_EQ(place.waited[kLateToCollective], 3 * 2 * 4 * kMs);
  EXPECT_EQ(place.at_file.last.at(2), 8U);
  EXPECT_EQ(sums.ranks[0].waiting, kCalls * 4 * kMs);
  EXPECT_EQ(sums.ranks[0].for_files, 8 * 4 * kMs);
  EXPECT_EQ(sums.ranks[2].for_files, 0);
  EXPECT_EQ(sums.written.ranks, std::vector<int>{2});
  EXPECT_EQ(place_reason(place, 4 * kCalls * 10 * kMs), "at a file: rank 2 is last in 100 %, by 4.0 ms");
  EXPECT_EQ(profile_hint(sums),
            "rank 2 is at a file while others wait for it in MPI_Allreduce at solver.c:61, in step()");
}

TEST(ProfileSums, AnImbalanceThatMovesHasNoCulprit) {
  std::vector<RankProfile> ranks = job(4, -1);
  for (RankProfile& rank : ranks)
    for (ProfileCollective& each : rank.collectives)
      if (static_cast<int>(each.serial % 4) == rank.rank) each.entered += 4 * kMs, each.waits_from += 4 * kMs;
  const std::string hint = profile_hint(sums_of(ranks));
  EXPECT_EQ(hint.find("who comes last to the calls of MPI_Allreduce at solver.c:61, in step() changes (rank "), 0U)
      << hint;
}

TEST(ProfileSums, SmallPiecesOfAFile) {
  std::vector<RankProfile> ranks = job(2, -1);
  ProfileSite site;
  site.function = "MPI_File_write_at";
  site.place = "solver.c:80, in store()";
  site.calls = 100;
  site.bytes = 4000;
  site.time = 40 * kMs;
  site.file = {.pieces = 100, .bytes = 4000, .unaligned = 100, .time = 39 * kMs};
  for (RankProfile& rank : ranks) rank.sites.push_back(site), rank.file_unit = 4096;
  EXPECT_EQ(
      profile_hint(sums_of(ranks)),
      "MPI_File_write_at at solver.c:80, in store() moves pieces of 40 B: MPI_File_write_at_all brings those of all "
      "ranks together");
  for (RankProfile& rank : ranks) rank.sites[1].file.bytes = 100 * 20'000;
  EXPECT_NE(profile_hint(sums_of(ranks)).find(", of which 100 % begin or end within a block of 4 KiB"),
            std::string::npos)
      << profile_hint(sums_of(ranks));
}

TEST(ProfileSums, OfCallsThatWereNotComparedAsMuchIsAssumed) {
  std::vector<RankProfile> ranks = job(2, 1);
  for (RankProfile& rank : ranks) {
    std::erase_if(rank.collectives, [](const ProfileCollective& each) { return each.serial % 2 != 0; });
    rank.every = 2;
  }
  const ProfileSums sums = sums_of(ranks);
  EXPECT_EQ(sums.places[0].compared, static_cast<uint64_t>(kCalls / 2));
  EXPECT_EQ(sums.places[0].waited[kLateToCollective], kCalls * 4 * kMs);
}

TEST(ProfileSums, RanksKeepDifferentlyMany) {
  std::vector<RankProfile> ranks = job(3, 1);
  std::erase_if(ranks[2].collectives, [](const ProfileCollective& each) { return each.serial % 4 != 0; });
  ranks[2].every = 4;
  EXPECT_EQ(sums_of(ranks).places[0].compared, 2U);
}

TEST(ProfileSums, ClocksOfNodesAreFoundFromTheCollectives) {
  const ProfileSums sums = sums_of(job(4, 3, 2, -77'000 * kMs));
  EXPECT_EQ(sums.places[0].late.last.at(3), static_cast<uint64_t>(kCalls));
  EXPECT_GE(sums.clock_error, 0);
  EXPECT_LE(sums.clock_error, 3 * kMs);
  EXPECT_NEAR(static_cast<double>(sums.places[0].waited[kLateToCollective]), 3.0 * kCalls * 4 * kMs,
              3.0 * kCalls * 3 * kMs);
}

TEST(ProfileSums, DisjointCommunicatorsMayHaveOneContext) {
  std::vector<RankProfile> ranks = job(4, 1);
  for (const int r : {2, 3})
    for (ProfileCollective& each : ranks[static_cast<size_t>(r)].collectives) each.leader = 2;
  const ProfileSums sums = sums_of(ranks);
  EXPECT_EQ(sums.places[0].compared, 2U * kCalls);
  EXPECT_EQ(sums.ranks[2].waiting, 0) << "rank 1 is of the other communicator";
}

TEST(ProfileSums, AContextThatIsUsedAgainIsAnotherCall) {
  std::vector<RankProfile> ranks = job(2, 1);
  for (RankProfile& rank : ranks) {
    const std::vector<ProfileCollective> first = rank.collectives;
    for (ProfileCollective again : first) {
      for (int64_t* time : {&again.entered, &again.waits_from, &again.left}) *time += 1000 * kMs;
      rank.collectives.push_back(again);
    }
  }
  EXPECT_EQ(sums_of(ranks).places[0].compared, 2U * kCalls);
}

TEST(ProfilePage, NamesRankAndLine) {
  const std::string page = profile_page(job(4, 2));
  EXPECT_NE(page.find("late to it: rank 2 is last in 100 %, by 4.0 ms"), std::string::npos) << page;
  EXPECT_NE(page.find("hint: rank 2 comes last to 100 % of the calls of MPI_Allreduce at solver.c:61"),
            std::string::npos)
      << page;
}

TEST(ProfilePage, SaysWhoIsMissing) {
  std::vector<RankProfile> ranks = job(4, 2);
  ranks.pop_back();
  ranks[0].ended = false;
  const std::string page = profile_page(ranks);
  EXPECT_NE(page.find("1 of 4 ranks have left no profile"), std::string::npos) << page;
  EXPECT_NE(page.find("1 of them did not come to the end of MPI_Finalize"), std::string::npos) << page;
  EXPECT_NE(profile_page({}).find("no rank has left one"), std::string::npos);
}

TEST(RankProfiles, FromAWireAreJudged) {
  RankProfile rank = job(1, 0)[0];
  EXPECT_TRUE(is_sound(rank));
  rank.collectives[0].site = 1;
  EXPECT_FALSE(is_sound(rank));
  rank = job(1, 0)[0];
  rank.open_site = 7;
  EXPECT_FALSE(is_sound(rank));
}

}  // namespace
}  // namespace tutti::launcher
