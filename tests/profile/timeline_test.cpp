// SPDX-License-Identifier: BSD-3-Clause
// The timelines of ranks as one: ends of messages find each other, collectives tell who was waited for, the critical path
// goes where the work is; and what is made of it for a browser and for Perfetto has no more than a page may have.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/profile/base64.hpp"
#include "launcher/profile/job_timeline.hpp"
#include "launcher/profile/profile_html.hpp"
#include "launcher/profile/profile_sums.hpp"
#include "launcher/profile/profile_trace.hpp"

namespace tutti::launcher {
namespace {

constexpr int64_t kMs = 1'000'000;

RankProfile rank_of(int rank, int size, int node = 0, int64_t clock = 0) {
  RankProfile out;
  out.rank = rank, out.size = size, out.node = node;
  out.program = "solver";
  out.ended = true;
  out.begun = clock, out.over = clock + 100 * kMs;
  for (const char* const name : {"MPI_Recv", "MPI_Send", "MPI_Allreduce"}) {
    ProfileSite& site = out.sites.emplace_back();
    site.function = name;
    site.place = "solver.c:" + std::to_string(out.sites.size());
    site.calls = 1;
  }
  out.timeline.period = 10 * kMs;
  out.timeline.spent.assign(4, std::vector<int64_t>(10));
  return out;
}

// Rank 1 sends at 40 ms, for which rank 0 has waited since 10 ms; both meet at 90 ms, where rank 1 comes last.
std::vector<RankProfile> job(int node = 0, int64_t clock = 0) {
  std::vector<RankProfile> ranks{rank_of(0, 2), rank_of(1, 2, node, clock)};
  ranks[0].timeline.spans = {{.site = 0,
                              .begun = 10 * kMs,
                              .over = 42 * kMs,
                              .waited = 31 * kMs,
                              .waits_to = 41 * kMs,
                              .process = 1,
                              .kind = 0},
                             {.site = 2, .begun = 60 * kMs, .over = 91 * kMs}};
  ranks[1].timeline.spans = {{.site = 1, .begun = clock + 40 * kMs, .over = clock + 40 * kMs + kMs / 2},
                             {.site = 2, .begun = clock + 90 * kMs, .over = clock + 91 * kMs}};
  ranks[0].collectives = {{.context = 3,
                           .serial = 1,
                           .leader = 0,
                           .entered = 60 * kMs,
                           .waits_from = 60 * kMs,
                           .left = 91 * kMs,
                           .site = 2}};
  ranks[1].collectives = {{.context = 3,
                           .serial = 1,
                           .leader = 0,
                           .entered = clock + 90 * kMs,
                           .waits_from = clock + 90 * kMs,
                           .left = clock + 91 * kMs,
                           .site = 2}};
  ranks[0].timeline.spent[2][6] = ranks[0].timeline.spent[2][7] = ranks[0].timeline.spent[2][8] = 10 * kMs;
  ranks[1].timeline.messages = {
      {.is_receive = false, .process = 0, .tag = 5, .context = 2, .number = 1, .at = clock + 40 * kMs, .bytes = 64},
      {.is_receive = false, .process = 0, .tag = 5, .context = 2, .number = 2, .at = clock + 80 * kMs, .bytes = 64}};
  ranks[0].timeline.messages = {
      {.is_receive = true, .process = 1, .tag = 5, .context = 2, .number = 1, .at = 41 * kMs, .bytes = 64},
      {.is_receive = true, .process = 1, .tag = 6, .context = 2, .number = 1, .at = 50 * kMs, .bytes = 64}};
  return ranks;
}

TEST(JobTimeline, EndsOfMessagesFindEachOther) {
  const JobTimeline timeline = job_timeline(job());
  ASSERT_EQ(timeline.messages.size(), 1U) << "the others have one end";
  EXPECT_EQ(timeline.messages[0].from, 1U);
  EXPECT_EQ(timeline.messages[0].sent, 40 * kMs);
  EXPECT_EQ(timeline.messages[0].received, 41 * kMs);
}

TEST(JobTimeline, ACollectiveTellsWhoWasWaitedFor) {
  const JobTimeline timeline = job_timeline(job());
  const TimelineSpan& span = timeline.ranks[0].spans[1];
  EXPECT_EQ(span.waited, 30 * kMs);
  EXPECT_EQ(span.process, 1);
  EXPECT_EQ(span.waits_to, 90 * kMs);
  EXPECT_EQ(span.kind, static_cast<int>(kLateToCollective));
  EXPECT_EQ(timeline.ranks[1].spans[1].waited, 0) << "it came last";
  // As much of the time in collectives is waiting: 30 of 31.
  EXPECT_NEAR(static_cast<double>(timeline.ranks[0].spent[1][7]), 10.0 * kMs * 30 / 31, 1e4);
}

TEST(JobTimeline, ClocksOfNodesAreAligned) {
  const JobTimeline timeline = job_timeline(job(1, 5'000 * kMs));
  EXPECT_GE(timeline.clock_error, 0);
  EXPECT_NEAR(static_cast<double>(timeline.messages.at(0).sent), 40.0 * kMs,
              1.0 * kMs + static_cast<double>(timeline.clock_error));
}

TEST(JobTimeline, WithoutTimelinesThereIsNone) {
  std::vector<RankProfile> ranks = job();
  for (RankProfile& rank : ranks) rank.timeline = {};
  EXPECT_TRUE(job_timeline(ranks).ranks.empty());
  EXPECT_TRUE(critical_path(job_timeline(ranks)).empty());
  EXPECT_NE(profile_html(ranks).find("There is no timeline"), std::string::npos);
}

TEST(CriticalPath, GoesToWhomOthersWaitFor) {
  std::vector<RankProfile> ranks = job();
  ranks[0].over += kMs;  // it ends last
  const std::vector<PathPiece> path = critical_path(job_timeline(ranks));
  ASSERT_FALSE(path.empty());
  int64_t at = 0, of_slow = 0;
  for (const PathPiece& piece : path) {
    EXPECT_EQ(piece.from, at) << "without gaps";
    at = piece.to;
    if (piece.rank == 1) of_slow += piece.to - piece.from;
  }
  EXPECT_EQ(at, 101 * kMs);
  EXPECT_EQ(of_slow, 90 * kMs) << "rank 1 is waited for until it enters the collective";
  EXPECT_EQ(path.front().rank, 1U);
  EXPECT_EQ(path.back().rank, 0U);
}

TEST(CriticalPath, RanksThatWaitForEachOtherDoNotHoldItUp) {
  std::vector<RankProfile> ranks = job();
  for (size_t r = 0; r < 2; ++r) {
    ranks[r].collectives.clear();
    ranks[r].timeline.spans = {{.site = 0,
                                .begun = 10 * kMs,
                                .over = 50 * kMs,
                                .waited = 40 * kMs,
                                .waits_to = 50 * kMs,
                                .process = r == 0 ? 1 : 0,
                                .kind = 0}};
  }
  EXPECT_LE(critical_path(job_timeline(ranks)).size(), 20U);
}

TEST(ProfileHtml, HoldsWhatCouldEndAScript) {
  std::vector<RankProfile> ranks = job();
  ranks[0].program = "</script><b>";
  const std::string page = profile_html(ranks);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>"), std::string::npos);
  for (const char* const elsewhere : {"http://", "https://", "src=", "@import"})
    EXPECT_EQ(page.find(elsewhere), std::string::npos);
}

// Whether the trace has an event that begins so.
testing::AssertionResult has(const std::string& trace, const std::string& event) {
  if (trace.find(event) != trace.npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no " << event << " in\n" << trace;
}
std::string slice(const std::string& name, const std::string& times, int process, int thread) {
  return "{\"ph\":\"X\",\"name\":\"" + name + "\",\"cat\":\"mpi\"," + times + ",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(thread) + ",";
}
std::string flow(const std::string& kind, int number, const std::string& time, int process, int thread) {
  return "{\"ph\":" + kind + ",\"name\":\"message\",\"cat\":\"message\",\"id\":" + std::to_string(number) +
         ",\"ts\":" + time + ",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) + ",";
}

// Numbers of processes and threads count from 1: 0 is the idle process to Perfetto.
TEST(ProfileTrace, HasSlicesAndFlows) {
  const std::string trace = profile_trace(job());
  EXPECT_TRUE(has(trace, slice("MPI_Recv", "\"ts\":10000.000,\"dur\":32000.000", 1, 1)));
  EXPECT_TRUE(has(trace, flow("\"s\"", 1, "40000.000", 2, 2)));
  EXPECT_TRUE(has(trace, flow("\"f\",\"bp\":\"e\"", 1, "41000.000", 1, 1)));
  EXPECT_TRUE(has(trace, "\"name\":\"rank 0 (node 0)\""));
}

// Slices of one thread that overlap are dropped by readers.
TEST(ProfileTrace, ThreadsHaveLanes) {
  std::vector<RankProfile> ranks = job();
  ranks[0].timeline.spans.insert(ranks[0].timeline.spans.begin() + 1,
                                 {.site = 1, .begun = 30 * kMs, .over = 70 * kMs, .thread = 5});
  // The call that it did not come out of, of a thread that is not known.
  ranks[0].open_site = 0;
  ranks[0].sites[0].waited.assign(8, 0);
  ranks[0].sites[0].waited[4] = 95 * kMs;  // up to the end of the job, since 5 ms
  const std::string trace = profile_trace(ranks);
  EXPECT_TRUE(has(trace, slice("MPI_Recv", "\"ts\":5000.000,\"dur\":95000.000", 1, 1)));
  EXPECT_TRUE(has(trace, slice("MPI_Recv", "\"ts\":10000.000,\"dur\":32000.000", 1, 3)));
  EXPECT_TRUE(has(trace, slice("MPI_Send", "\"ts\":30000.000,\"dur\":40000.000", 1, 5)));
  EXPECT_TRUE(has(trace, slice("MPI_Send", "\"ts\":40000.000,\"dur\":500.000", 2, 2)));
  EXPECT_TRUE(has(trace, "\"args\":{\"name\":\"MPI, thread 5\"}"));
  // The arrow goes to the call that has waited for its sender.
  EXPECT_TRUE(has(trace, flow("\"f\",\"bp\":\"e\"", 1, "41000.000", 1, 3)));
}

TEST(ProfileTrace, ArrowsGoFromCallToCallAndForward) {
  std::vector<RankProfile> ranks = job();
  // It came while the rank worked: the next call has it.
  ranks[0].timeline.messages[0].at = 50 * kMs;
  std::string trace = profile_trace(ranks);
  EXPECT_TRUE(has(trace, flow("\"f\"", 1, "50000.000", 1, 1)));
  EXPECT_TRUE(has(trace, "\"messages left out, for their calls are not here\":0"));
  // There is none, or perhaps a short one that was not kept.
  ranks[0].timeline.messages[0].at = 95 * kMs;
  EXPECT_TRUE(has(profile_trace(ranks), "\"messages left out, for their calls are not here\":1"));
  ranks[0].timeline.messages[0].at = 50 * kMs;
  ranks[0].timeline.least = kMs / 4;
  EXPECT_TRUE(has(profile_trace(ranks), "\"messages left out, for their calls are not here\":1"));
  // By the clocks it came before it was sent.
  ranks = job();
  ranks[0].timeline.messages[0].at = 30 * kMs;
  trace = profile_trace(ranks);
  EXPECT_TRUE(has(trace, flow("\"s\"", 1, "40000.000", 2, 2)));
  EXPECT_TRUE(has(trace, flow("\"f\",\"bp\":\"e\"", 1, "40000.000", 1, 1)));
  ranks[0].timeline.spans[0].over = 35 * kMs;  // and its receive is over before, too
  EXPECT_TRUE(has(profile_trace(ranks), "\"messages left out, for their calls are not here\":1"));
}

TEST(Base64, IsThatOfTheRfc) {  // RFC 4648, section 10
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace tutti::launcher
