// SPDX-License-Identifier: BSD-3-Clause
// Profiles as files: what is written is read, what is damaged is refused with the line; and what is told of two of them.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/profile/profile_compare.hpp"
#include "launcher/profile/profile_file.hpp"
#include "launcher/profile/profile_page.hpp"

namespace tutti::launcher {
namespace {

ProfileSite site(std::string function, std::string place, std::vector<int64_t> batches, uint64_t per_batch = 10) {
  ProfileSite out;
  out.function = std::move(function);
  out.place = std::move(place);
  out.batches = std::move(batches);
  out.calls = per_batch * out.batches.size();
  for (const int64_t mean : out.batches) out.time += mean * static_cast<int64_t>(per_batch);
  return out;
}

JobProfile job(std::vector<ProfileSite> sites, int ranks = 2) {
  JobProfile out;
  for (int r = 0; r < ranks; ++r) {
    RankProfile rank;
    rank.rank = r;
    rank.size = ranks;
    rank.program = "solver";
    rank.ended = true;
    rank.begun = 1'000'000 + r;
    rank.over = 4'000'000'000;
    rank.sites = sites;
    out.push_back(rank);
  }
  return out;
}

RankProfile full_rank() {
  RankProfile rank = job({site("MPI_Recv", "a b.c:7, in f(int)", {5, 6, 7, 8})}, 1)[0];
  rank.sent = {0, 3}, rank.sent_bytes = {0, 3};
  rank.received = {4}, rank.received_bytes = {0};
  rank.sites[0].region = "solve it";
  rank.sites[0].waited = {1, 2, 3, 4, 5};
  rank.sites[0].culprits = {{-1, 2, 77}};
  rank.sites[0].durations = {0, 0, 9};
  rank.sites[0].file = {.pieces = 5, .bytes = 50, .unaligned = 4, .time = 7};
  rank.files = {
      {}, {.pieces = 5, .bytes = 50, .unaligned = 4, .time = 7}, {.pieces = 1, .bytes = 0, .unaligned = 0, .time = 2}};
  rank.file_unit = 4096;
  rank.collectives = {{.context = ~uint64_t{5},
                       .serial = 9,
                       .leader = 0,
                       .entered = 5,
                       .waits_from = 6,
                       .left = 7,
                       .site = 0,
                       .at_file = 4}};
  rank.timeline.period = 1000;
  rank.timeline.spans = {
      {.site = 0, .begun = 5, .over = 9, .waited = 2, .waits_to = 7, .process = 0, .kind = 1, .thread = 3}};
  rank.timeline.messages = {
      {.is_receive = true, .process = 0, .tag = 6, .context = 8, .number = 2, .at = 8, .bytes = 77, .thread = 11}};
  return rank;
}

TEST(ProfileFile, SaysAgainWhatWasWritten) {
  const JobProfile written{full_rank()};
  const std::string text = profile_as_lines(written);
  const Result<JobProfile> read = profile_of_lines(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(profile_as_lines(*read), text);
  EXPECT_EQ(profile_page(*read), profile_page(written));
  const ProfileSite& site = read->at(0).sites.at(0);
  EXPECT_EQ(site.place, "a b.c:7, in f(int)");
  EXPECT_EQ(site.region, "solve it");
  EXPECT_EQ(site.culprits.at(0).process, -1);
  EXPECT_EQ(read->at(0).collectives.at(0).context, ~uint64_t{5});
  EXPECT_EQ(read->at(0).collectives.at(0).at_file, 4);
  EXPECT_EQ(read->at(0).files.at(1).unaligned, 4U);
  EXPECT_EQ(site.file.bytes, 50U);
  EXPECT_EQ(read->at(0).timeline.spans.at(0).thread, 3);
  EXPECT_EQ(read->at(0).timeline.messages.at(0).thread, 11);
}

TEST(ProfileFile, ReadsOnesOfBeforeFilesAndThreadsWereTold) {
  std::string text;
  for (const char* line :
       {"tutti-profile\t1\n", "rank\t0\t1\t0\tsolver\t1\t0\t9\t1\t-1\t0\t0\t0\n",
        "site\tMPI_Barrier\ta.c:1\t\t1\t1\t0\t5\n", "collective\t0\t0\t4\t1\t1\t2\t3\n", "timeline\t1000\t0\t1\t0\t0\n",
        "span\t0\t1\t9\t0\t0\t0\t-1\n", "message\t1\t0\t2\t5\t1\t4\t8\n"})
    text += line;
  const Result<JobProfile> read = profile_of_lines(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->at(0).collectives.at(0).left, 3);
  EXPECT_EQ(read->at(0).collectives.at(0).at_file, 0);
  EXPECT_EQ(read->at(0).timeline.spans.at(0).thread, 0);
  EXPECT_EQ(read->at(0).timeline.messages.at(0).bytes, 8);
}

TEST(ProfileFile, PassesOverWhatALaterOneAdds) {
  std::string text = profile_as_lines({full_rank()});
  text.insert(text.find("\nsent"), "\tmore");
  text += "weather\tfine\n";
  const Result<JobProfile> read = profile_of_lines(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(profile_as_lines(*read), profile_as_lines({full_rank()}));
}

TEST(ProfileFile, RefusesWhatItIsNot) {
  const std::string good = profile_as_lines({full_rank()});
  const auto problem = [](std::string_view text) {
    const Result<JobProfile> read = profile_of_lines(text);
    return read ? std::string("none") : read.error().message();
  };
  EXPECT_NE(problem("").find("it is no profile"), std::string::npos);
  EXPECT_NE(problem("#!/bin/sh\n").find("it is no profile"), std::string::npos);
  EXPECT_NE(problem("tutti-profile\t7\n").find("of version 7, and this Tutti reads version 1"), std::string::npos);
  EXPECT_NE(problem(good.substr(0, good.size() - 1)).find("may be cut off"), std::string::npos);
  EXPECT_NE(problem("tutti-profile\t1\nsite\tx\n").find("line 2 "), std::string::npos);
  std::string other = good;
  other.replace(other.find("collective\t0"), 12, "collective\t9");
  EXPECT_NE(problem(other).find("name what there is not"), std::string::npos);
  other = good;
  other.replace(other.find("\t7\n"), 3, "\t7x\n");
  EXPECT_NE(problem(other).find("line "), std::string::npos);
}

TEST(ProfileFile, GivesATerminalNothingToObey) {
  std::string text = profile_as_lines({full_rank()});
  text.replace(text.find("solver"), 6, "so\x1b[2J");
  const Result<JobProfile> read = profile_of_lines(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(profile_page(*read).find('\x1b'), std::string::npos);
}

// ---- comparing

const std::vector<int64_t> kSteady = {1000, 1010, 990, 1005, 995, 1000, 1010, 990};
std::vector<int64_t> times(double factor, std::vector<int64_t> batches = kSteady) {
  for (int64_t& each : batches) each = static_cast<int64_t>(static_cast<double>(each) * factor);
  return batches;
}
Verdict verdict(const std::vector<int64_t>& before, const std::vector<int64_t>& now) {
  return changes_of({job({site("MPI_Recv", "a.c:1", before)})}, {job({site("MPI_Recv", "a.c:1", now)})}).at(0).verdict;
}

TEST(ProfileComparison, TellsAChangeFromNoise) {
  EXPECT_EQ(verdict(kSteady, times(1.5)), Verdict::slower);
  EXPECT_EQ(verdict(times(1.5), kSteady), Verdict::faster);
  EXPECT_EQ(verdict(kSteady, kSteady), Verdict::noise);
  EXPECT_EQ(verdict(kSteady, times(1.005)), Verdict::noise) << "less than a hundredth";
  const std::vector<int64_t> wild = {200, 3000, 500, 100, 2500, 900, 400, 400};
  EXPECT_EQ(verdict(wild, times(1.5, wild)), Verdict::noise);
  EXPECT_EQ(verdict({1000, 1000}, {9000, 9000}), Verdict::too_few);
}

TEST(ProfileComparison, SeveralRunsSayHowRunsDiffer) {
  const auto run = [](double factor) { return job({site("MPI_Recv", "a.c:1", times(factor))}); };
  EXPECT_EQ(changes_of({run(1), run(2), run(1.5)}, {run(1.9), run(2.5), run(1.2)}).at(0).verdict, Verdict::noise);
  EXPECT_EQ(changes_of({run(1), run(1.01), run(1.02)}, {run(1.5), run(1.51), run(1.52)}).at(0).verdict,
            Verdict::slower);
  const auto once = [](int64_t time) { return job({site("MPI_Bcast", "a.c:1", {time}, 1)}); };
  EXPECT_EQ(changes_of({once(5), once(6)}, {once(90), once(91)}).at(0).verdict, Verdict::slower);
  EXPECT_EQ(changes_of({once(5), once(90)}, {once(90), once(10)}).at(0).verdict, Verdict::noise);
  EXPECT_EQ(changes_of({once(5), once(6)}, {once(90)}).at(0).verdict, Verdict::too_few);
}

TEST(ProfileComparison, FindsPlacesThatHaveMoved) {
  const JobProfile before =
      job({site("MPI_Recv", "a.c:10, in f()", kSteady), site("MPI_Recv", "a.c:20, in f()", times(3))});
  const JobProfile now =
      job({site("MPI_Recv", "a.c:12, in f()", kSteady), site("MPI_Recv", "a.c:29, in f()", times(9))});
  const std::vector<PlaceChange> changes = changes_of({before}, {now});
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].place, "a.c:29, in f()");
  EXPECT_EQ(changes[0].verdict, Verdict::slower);
  EXPECT_EQ(changes[1].verdict, Verdict::noise);
  const JobProfile more = job({site("MPI_Send", "a.c:10, in f()", kSteady)});
  EXPECT_EQ(changes_of({before}, {more}).size(), 3U) << "they call other functions";
}

TEST(ProfileComparison, PageSaysWhatIsSlower) {
  const std::string page =
      comparison_page({job({site("MPI_Recv", "a.c:1", kSteady), site("MPI_Send", "a.c:2", kSteady)})},
                      {job({site("MPI_Recv", "a.c:1", times(2)), site("MPI_Bcast", "a.c:3", kSteady)})});
  EXPECT_LT(page.find("\nslower\n"), page.find("MPI_Recv at a.c:1")) << page;
  EXPECT_LT(page.find("\nonly now\n"), page.find("MPI_Bcast at a.c:3")) << page;
  EXPECT_LT(page.find("\nonly before\n"), page.find("MPI_Send at a.c:2")) << page;
  EXPECT_NE(page.find("a call 1.0 us -> 2.0 us, noise"), std::string::npos) << page;
}

}  // namespace
}  // namespace tutti::launcher
