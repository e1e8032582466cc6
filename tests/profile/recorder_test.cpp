// SPDX-License-Identifier: BSD-3-Clause
// The timeline of a rank stays small and says of all its time what it was spent with, however many calls there are; and two
// ranks keep the same messages.
#include "profile/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

namespace tutti::profile {
namespace {

std::unique_ptr<Timeline> empty_timeline(int rank) {
  auto out = std::make_unique<Timeline>();
  out->rank = rank;
  out->begun = 1000;
  out->period_bits = kFirstPeriodBits;
  return out;
}

uint64_t spent(const Timeline& timeline, Doing what) {
  return std::accumulate(std::begin(timeline.period), std::end(timeline.period), uint64_t{0},
                         [what](uint64_t sum, const Period& p) { return sum + p.ticks[static_cast<size_t>(what)]; });
}

TEST(Recorder, KeepsTheSumsOfAllTime) {
  const auto timeline = empty_timeline(0);
  Recorder recorder(*timeline, 0, 2);
  uint64_t at = 1000, waited = 0, moved = 0;
  for (uint64_t i = 0; i < 100'000; ++i) {
    at += 5000;
    const uint64_t took = 700 + i % 900, waits = i % 3 == 0 ? took / 2 : 0;
    recorder.add_call({.begun = at, .over = at + took, .waited = waits}, Doing::moving);
    at += took, waited += waits, moved += took - waits;
  }
  EXPECT_EQ(spent(*timeline, Doing::waiting), waited);
  EXPECT_EQ(spent(*timeline, Doing::moving), moved);
  EXPECT_EQ(spent(*timeline, Doing::in_files), 0U);
  // No period has more than it lasts, and the run fills at least half of them.
  const uint64_t width = uint64_t{1} << timeline->period_bits;
  for (const Period& each : timeline->period) EXPECT_LE(each.ticks[0] + each.ticks[1], width);
  EXPECT_GE((at - 1000) >> timeline->period_bits, kPeriods / 2 - 1);
}

TEST(Recorder, KeepsTheCallsThatLastedLongest) {
  const auto timeline = empty_timeline(0);
  Recorder recorder(*timeline, 0, 2);
  uint64_t at = 1000;
  std::multiset<uint64_t> longest;
  for (uint64_t i = 0; i < 50'000; ++i) {
    const uint64_t took = 100 + i * 7919 % 50'000;
    recorder.add_call({.begun = at, .over = at + took}, Doing::moving);
    at += took + 10;
    longest.insert(took);
  }
  EXPECT_LE(timeline->spans, kSpans);
  EXPECT_GE(timeline->spans, kSpans / 2);
  std::multiset<uint64_t> kept;
  for (uint32_t i = 0; i < timeline->spans; ++i) kept.insert(timeline->span[i].over - timeline->span[i].begun);
  // What is longer than the least is there, all of it.
  EXPECT_EQ(std::distance(kept.upper_bound(timeline->least), kept.end()),
            std::distance(longest.upper_bound(timeline->least), longest.end()));
}

TEST(Recorder, CallsThatAreAlikeDoNotFillIt) {
  const auto timeline = empty_timeline(0);
  Recorder recorder(*timeline, 0, 2);
  for (uint64_t i = 0; i < 30'000; ++i)
    recorder.add_call({.begun = 1000 + i * 20, .over = 1010 + i * 20}, Doing::moving);
  EXPECT_LE(timeline->spans, kSpans);
  EXPECT_EQ(timeline->least, 10U);
  EXPECT_EQ(spent(*timeline, Doing::moving), 300'000U);
}

using Name = std::tuple<uint64_t, int, uint32_t>;  // context, tag, number
std::set<Name> names(const Timeline& timeline, bool is_receive) {
  std::set<Name> out;
  for (uint32_t i = 0; i < timeline.messages; ++i)
    if (timeline.message[i].is_receive == is_receive)
      out.insert({timeline.message[i].context, timeline.message[i].tag, timeline.message[i].number});
  return out;
}

TEST(Recorder, BothEndsOfAMessageAreKept) {
  const auto here = empty_timeline(0), there = empty_timeline(1);
  Recorder sender(*here, 0, 2), receiver(*there, 1, 2);
  // The receiver takes them in another order than they were sent, but those of a tag in theirs.
  constexpr int kTags = 5, kEach = 9'000;
  for (int i = 0; i < kEach; ++i)
    for (int tag = 0; tag < kTags; ++tag)
      sender.add_message(
          {.what = life::Happening::operation_posted, .process = 1, .tag = tag, .context = 2, .bytes = 8}, false, 5);
  for (int tag = kTags - 1; tag >= 0; --tag)
    for (int i = 0; i < kEach; ++i)
      receiver.add_message({.what = life::Happening::message_matched,
                            .is_receive = true,
                            .process = 0,
                            .tag = tag,
                            .context = 2,
                            .bytes = 8},
                           true, 9);
  EXPECT_EQ(here->every, there->every);
  EXPECT_GT(here->messages, kMessages / 4);
  EXPECT_LE(here->messages, kMessages);
  EXPECT_EQ(names(*here, false), names(*there, true));
  EXPECT_EQ(here->peer[1].messages, static_cast<uint64_t>(kTags * kEach));
  EXPECT_EQ(here->peer[1].bytes, static_cast<uint64_t>(8 * kTags * kEach));
}

TEST(Recorder, TooManyTagsAreCounted) {
  const auto timeline = empty_timeline(0);
  Recorder recorder(*timeline, 0, 2);
  constexpr int kTags = 3 * static_cast<int>(kFlows);
  for (int tag = 0; tag < kTags; ++tag)
    recorder.add_message(
        {.what = life::Happening::operation_posted, .process = 1, .tag = tag, .context = 2, .bytes = 1}, false, 5);
  EXPECT_GT(timeline->unnamed_messages, static_cast<uint64_t>(kFlows));
  EXPECT_EQ(timeline->peer[1].bytes, static_cast<uint64_t>(kTags)) << "what is sent is counted all the same";
}

TEST(Recorder, OfManyProcessesWhatFindsNoPlaceIsSummedUp) {
  const auto timeline = empty_timeline(0);
  constexpr int kSize = 5000;
  Recorder recorder(*timeline, 0, kSize);
  for (int process = 1; process < kSize; ++process)
    recorder.add_message({.what = life::Happening::operation_posted, .process = process, .context = 2, .bytes = 3},
                         false, 5);
  uint64_t bytes = timeline->other_peers_bytes;
  for (const Peer& peer : timeline->peer) bytes += peer.bytes;
  EXPECT_EQ(bytes, uint64_t{3} * (kSize - 1));
}

}  // namespace
}  // namespace tutti::profile
