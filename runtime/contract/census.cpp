// SPDX-License-Identifier: BSD-3-Clause
#include "contract/census.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <utility>

namespace tutti::contract {
namespace {

// Below those that do not answer, by one rank.
constexpr size_t kMostNeighbours = 64;
// In one round.
constexpr size_t kMostCalled = 4, kMostCircles = 64;
// Of those that seem to wait in vain, told to one that is called.
constexpr size_t kMostTold = 1024;

// How long answers may take from a rank with nobody below it, and how much longer for each level below.
constexpr std::chrono::milliseconds kAnswerTime{1000}, kAnswerTimeOfLevel{125};

// One of a circle, or where it ends at a process that has ended, of those that wait for it.
int speaker_of(const Sketches& sketches, const std::vector<int>& dead, const Circle& circle) {
  const auto has_ended = [&](int process) { return std::ranges::binary_search(sketches.ended, process); };
  if (!circle.closed && has_ended(circle.members.front())) {
    const auto waits = std::ranges::find_if(dead, [&](int process) { return !has_ended(process); });
    return waits == dead.end() ? circle.members.front() : *waits;
  }
  return std::ranges::min(circle.members);
}

// Ascending numbers as runs, which mostly are few.
void put_runs(Bytes& to, std::span<const int> numbers) {
  std::vector<std::pair<int32_t, int32_t>> runs;
  for (const int number : numbers) {
    if (runs.empty() || runs.back().first + runs.back().second != number) runs.emplace_back(number, 0);
    ++runs.back().second;
  }
  put(to, static_cast<uint32_t>(runs.size()));
  for (const auto& [first, count] : runs) {
    put(to, first);
    put(to, count);
  }
}

bool get_runs(std::span<const std::byte>& from, int below, std::vector<int>& numbers) {
  uint32_t runs = 0;
  if (!get(from, runs)) return false;
  for (; runs > 0; --runs) {
    int32_t first = 0, count = 0;
    if (!get(from, first) || !get(from, count) || first < 0 || count < 0 || count > below - first) return false;
    for (int i = 0; i < count; ++i) numbers.push_back(first + i);
  }
  return true;
}

}  // namespace

std::vector<int> children_in_census(int rank, int ranks) {
  int64_t jump = rank ? rank & -rank : 1;
  while (rank == 0 && jump < ranks) jump *= 2;
  std::vector<int> children;
  for (jump /= 2; jump > 0; jump /= 2)
    if (rank + jump < ranks) children.push_back(static_cast<int>(rank + jump));
  return children;
}

// A child that is 2^n away has n levels below it, and the first one has the most.
int height_in_census(int rank, int ranks) {
  const std::vector<int> children = children_in_census(rank, ranks);
  return children.empty() ? 0 : static_cast<int>(std::bit_width(static_cast<unsigned>(children.front() - rank)));
}

Census::Census(std::chrono::nanoseconds limit, Means means) : limit_(limit), means_(std::move(means)) {}

// ---- wishes

// The first one that is there.
int Census::root() const {
  int rank = 0;
  while (rank < means_.process && is_gone(rank)) ++rank;
  return rank;
}

int Census::above() const {
  int rank = means_.process;
  do rank = parent_in_census(rank);
  while (rank > 0 && is_gone(rank));
  return rank == 0 ? root() : rank;
}

void Census::wish(Clock::time_point now) {
  if (means_.ranks > 0) hand_on_wish(now);
}

// What stood still before the last round was in it, and nobody else wishes for one so soon after it.
void Census::hand_on_wish(Clock::time_point now) {
  if (is_open_ || (seen_ != Clock::time_point{} && now < seen_ + limit_)) return;
  if (const int root = this->root(); root != means_.process) {
    if (handed_on_ != Clock::time_point{} && now < handed_on_ + limit_ / 2) return;
    handed_on_ = now;
    return send(above(), What::wish, {root, 0});
  }
  if (now < next_round_) {
    is_wished_ = true;
    return;
  }
  is_wished_ = false;
  begin(means_.process, {means_.process, ++rounds_}, now);
}

// ---- a round

void Census::begin(int asker, const Round& round, Clock::time_point now) {
  if (is_open_) give_up_the_silent();
  round_ = round;
  seen_ = now;
  is_open_ = true;
  asker_ = asker;
  gathered_.clear();
  missing_.clear();
  asked_ = 0;
  means_.sketch(gathered_);
  deadline_ = now + std::max<Clock::duration>(limit_, kAnswerTime) +
              height_in_census(means_.process, means_.ranks) * kAnswerTimeOfLevel;
  ask_below(asker == means_.process ? 0 : means_.process);  // the root is 0, or those before it are gone
  if (missing_.empty()) finish(now);
}

void Census::ask_below(int rank) {
  for (const int child : children_in_census(rank, means_.ranks)) {
    if (child == means_.process) {
      ask_below(child);
      continue;
    }
    const bool gone = is_gone(child), silent = silent_.contains(child);
    if (!gone && asked_ < kMostNeighbours) {
      ++asked_;
      if (!silent) missing_.insert(child);
      send(child, What::round, round_);
    }
    if ((gone || silent) && asked_ < kMostNeighbours) ask_below(child);
  }
}

void Census::close_if_late(Clock::time_point now) {
  if (!is_open_ || now < deadline_) return;
  give_up_the_silent();
  finish(now);
}

void Census::look(Clock::time_point now) {
  close_if_late(now);
  if (is_wished_ && !is_open_ && now >= next_round_) hand_on_wish(now);
}

void Census::message(int from, std::span<const std::byte> message, Clock::time_point now) {
  What what;
  Round round;
  if (means_.ranks == 0 || !get(message, what) || !get(message, round)) return;
  close_if_late(now);
  switch (what) {
    case What::wish:
      hand_on_wish(now);
      break;
    case What::round: {
      // Of those who have asked already one has the answer, or will have it.
      const bool is_new = round.root != round_.root || static_cast<int32_t>(round.number - round_.number) > 0;
      if (!is_new) return send(from, What::sketches, round);
      begin(from, round, now);
      break;
    }
    case What::sketches:
      silent_.erase(from);
      if (!is_open_ || round != round_) break;
      gathered_.insert(gathered_.end(), message.begin(), message.end());
      if (missing_.erase(from) && missing_.empty()) finish(now);
      break;
    case What::call:
      hand_on_call(message);
      break;
  }
}

void Census::give_up_the_silent() {
  silent_.insert(missing_.begin(), missing_.end());
  missing_.clear();
}

void Census::finish(Clock::time_point now) {
  is_open_ = false;
  if (asker_ == means_.process) return judge(now);
  send(asker_, What::sketches, round_, gathered_);
  gathered_ = {};
}

void Census::send(int to, What what, const Round& round, std::span<const std::byte> rest) {
  Bytes bytes;
  bytes.reserve(sizeof what + sizeof round + rest.size());
  put(bytes, what);
  put(bytes, round);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  means_.tell(to, bytes);
}

// ---- calls

void Census::call(int process, std::vector<int> circle, std::span<const int> dead) {
  std::ranges::sort(circle);
  circle.erase(std::unique(circle.begin(), circle.end()), circle.end());
  if (circle.size() > kMostTold) circle.resize(kMostTold);
  Bytes bytes;
  put(bytes, process);
  put_runs(bytes, circle);
  put_runs(bytes, dead);
  hand_on_call(bytes);
}

// Down the tree, past those that do not answer.
void Census::hand_on_call(std::span<const std::byte> call) {
  const std::span<const std::byte> whole = call;
  int32_t process = 0;
  if (!get(call, process) || process < 0 || process >= means_.ranks) return;
  if (process != means_.process) {
    const auto is_here = [this](int rank) TUTTI_ENGINE_OWNED { return !is_gone(rank) && !silent_.contains(rank); };
    int next = process;
    for (int above = parent_in_census(next); next > 0 && above != means_.process && is_here(above);
         above = parent_in_census(next))
      next = above;
    return send(next, What::call, round_, whole);
  }
  std::vector<int> circle, dead;
  if (get_runs(call, means_.ranks, circle) && get_runs(call, means_.ranks, dead)) means_.called(circle, dead);
}

// ---- at the root

void Census::judge(Clock::time_point now) {
  const Bytes gathered = std::exchange(gathered_, {});
  Sketches sketches;
  const bool is_whole = read_sketches(gathered, means_.ranks, sketches);
  next_round_ = now + std::max<Clock::duration>(limit_, sketches.count * kPauseForEach);
  if (!is_whole) return;
  sketches.graph.solve(std::numeric_limits<int>::max(), sketches.count == means_.ranks);
  const std::vector<int> dead = sketches.graph.dead();
  if (!dead.empty()) call_some(sketches, dead);
  if (sketches.need_others.empty()) return;
  // Those that go on only if processes of other jobs do.
  Sketches without;
  read_sketches(gathered, means_.ranks, without);
  without.graph.solve(means_.ranks, sketches.count == means_.ranks);
  call_for_others(without, dead);
}

// One of each circle, those first that have not been called yet.
void Census::call_some(const Sketches& sketches, const std::vector<int>& dead) {
  std::vector<int> told = dead;
  if (told.size() > kMostTold) told.resize(kMostTold);
  std::map<int, std::vector<int>> circles;  // by who speaks for it
  size_t called = 0;
  const size_t step = std::max<size_t>(dead.size() / kMostCircles, 1);
  for (size_t i = rounds_ % step; i < dead.size() && called < kMostCalled; i += step) {
    const Circle circle = sketches.graph.circle_from(dead[i]);
    const int speaker = speaker_of(sketches, dead, circle);
    if (!circles.try_emplace(speaker, circle.members).second || !called_.insert(speaker).second) continue;
    ++called;
    call(speaker, circle.members, told);
  }
  if (called > 0) return;
  called_.clear();
  for (const auto& [speaker, members] : circles) {
    if (called++ == kMostCalled) break;
    called_.insert(speaker);
    call(speaker, members, told);
  }
}

void Census::call_for_others(const Sketches& sketches, const std::vector<int>& dead) {
  int first = -1;
  for (const int process : sketches.need_others) {
    if (std::ranges::binary_search(dead, process) || sketches.graph.alive({process})) continue;
    if (first < 0 || process < first) first = process;
    if (!called_.insert(process).second) continue;
    return call(process, {}, {});
  }
  if (first < 0) return;
  called_.clear();
  called_.insert(first);
  call(first, {}, {});
}

}  // namespace tutti::contract
