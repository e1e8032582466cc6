// SPDX-License-Identifier: BSD-3-Clause
#include "base/split_runs.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace tutti {
namespace {

using Runs = std::vector<SplitRun>;

int64_t last_rank(const SplitRun& run) {  // of the first line
  return run.rank + int64_t{run.count - 1} * run.rank_step;
}
int64_t last_key(const SplitRun& run) {
  return run.key + int64_t{run.count - 1} * run.key_step;
}
// A step between keys may have more bits than they; between ranks and between colors, which are not negative, not.
bool fits(int64_t step) {
  return step >= std::numeric_limits<int32_t>::min() && step <= std::numeric_limits<int32_t>::max();
}

// `lines` lines of it, from `from` on.
SplitRun lines_of(const SplitRun& run, int from, int lines) {
  SplitRun part = run;
  part.rank += from * run.line_rank_step;
  part.color += from * run.line_color_step;
  part.key += from * run.line_key_step;
  part.lines = lines;
  if (lines == 1) part.line_rank_step = part.line_color_step = part.line_key_step = 0;
  return part;
}

// Lines of two runs that have the same colors.
struct Common {
  int left, right;  // where they begin in either
  int lines;        // 0: there are none
};

// Of several lines of one color the last one on the left and the first one on the right may be two parts of one.
Common in_common(const SplitRun& left, const SplitRun& right) {
  const auto is_of_one_color = [](const SplitRun& run) { return run.lines > 1 && run.line_color_step == 0; };
  if (is_of_one_color(left) || is_of_one_color(right)) {
    if (left.color != right.color) return {};
    return {is_of_one_color(left) ? left.lines - 1 : 0, 0, 1};
  }
  if (left.lines > 1 && right.lines > 1 && left.line_color_step != right.line_color_step) return {};
  const int64_t step = left.lines > 1 ? left.line_color_step : right.lines > 1 ? right.line_color_step : 1;
  const int64_t way = int64_t{right.color} - left.color;
  if (way % step != 0) return {};
  const int64_t behind = way / step;  // the line of the left one that is the first of the right one
  const int64_t from_left = std::max<int64_t>(behind, 0), from_right = std::max<int64_t>(-behind, 0);
  const int64_t lines = std::min(left.lines - from_left, right.lines - from_right);
  if (lines <= 0) return {};
  return {static_cast<int>(from_left), static_cast<int>(from_right), static_cast<int>(lines)};
}

// Each line of the one followed by that of the other, if all are runs again.
std::optional<SplitRun> end_to_end(const SplitRun& left, const SplitRun& right) {
  if (left.line_rank_step != right.line_rank_step || left.line_key_step != right.line_key_step) return {};
  const int64_t rank_step = right.rank - last_rank(left), key_step = right.key - last_key(left);
  const auto goes_on = [&](const SplitRun& run) {
    return run.count == 1 || (run.rank_step == rank_step && run.key_step == key_step);
  };
  if (rank_step <= 0 || !fits(key_step) || !goes_on(left) || !goes_on(right)) return {};
  SplitRun both = left;
  both.count += right.count;
  both.rank_step = static_cast<int32_t>(rank_step);
  both.key_step = static_cast<int32_t>(key_step);
  return both;
}

// Two lines that look like the beginning of more may be none: they are judged anew each time.
Runs taken_apart(std::span<const SplitRun> runs) {
  Runs apart;
  for (const SplitRun& run : runs) {
    if (run.lines != 2) {
      apart.push_back(run);
      continue;
    }
    apart.push_back(lines_of(run, 0, 1));
    apart.push_back(lines_of(run, 1, 1));
  }
  return apart;
}

void keep_rest(const SplitRun& run, int from, int lines, Runs& to) {
  if (from > 0) to.push_back(lines_of(run, 0, from));
  if (from + lines < run.lines) to.push_back(lines_of(run, from + lines, run.lines - from - lines));
}

// What goes on from the left to the right becomes one run; of several that it may go on from, the nearest is taken.
Runs joined_at_the_seam(std::span<const SplitRun> lower, std::span<const SplitRun> upper) {
  Runs left = taken_apart(lower), right = taken_apart(upper), alone;
  for (size_t i = 0; i < right.size(); ++i) {
    const SplitRun run = right[i];
    std::optional<SplitRun> best;
    Common where{};
    size_t whose = 0;
    for (size_t l = 0; l < left.size(); ++l) {
      const Common common = in_common(left[l], run);
      if (common.lines == 0) continue;
      const SplitRun part = lines_of(left[l], common.left, common.lines);
      const SplitRun rest = lines_of(run, common.right, common.lines);
      const auto gap = [&](const SplitRun& both) { return both.rank_step; };
      if (std::optional<SplitRun> both = end_to_end(part, rest); both && (!best || gap(*both) < gap(*best))) {
        best = both;
        where = common;
        whose = l;
      }
    }
    if (!best) {
      alone.push_back(run);
      continue;
    }
    const SplitRun whole = left[whose];
    left[whose] = *best;
    keep_rest(whole, where.left, where.lines, left);
    keep_rest(run, where.right, where.lines, right);
  }
  left.insert(left.end(), alone.begin(), alone.end());
  return left;
}

// The lines of the one followed by those of the other, if they are lines of one run.
std::optional<SplitRun> in_lines(const SplitRun& first, const SplitRun& next) {
  if (first.count != next.count || first.rank_step != next.rank_step || first.key_step != next.key_step) return {};
  const SplitRun last = lines_of(first, first.lines - 1, 1);
  const int64_t rank_step = int64_t{next.rank} - last.rank, color_step = int64_t{next.color} - last.color,
                key_step = int64_t{next.key} - last.key;
  // Single ranks of a color are rather the beginning of one line.
  if (color_step < 0 || (color_step == 0 && (first.count == 1 || rank_step <= 0)) || !fits(key_step)) return {};
  const auto goes_on = [&](const SplitRun& run) {
    return run.lines == 1 ||
           (run.line_rank_step == rank_step && run.line_color_step == color_step && run.line_key_step == key_step);
  };
  if (!goes_on(first) || !goes_on(next)) return {};
  SplitRun both = first;
  both.lines += next.lines;
  both.line_rank_step = static_cast<int32_t>(rank_step);
  both.line_color_step = static_cast<int32_t>(color_step);
  both.line_key_step = static_cast<int32_t>(key_step);
  return both;
}

Runs lined_up(Runs runs) {
  std::ranges::sort(runs, {}, [](const SplitRun& run) {
    return std::tuple(run.count, run.rank_step, run.key_step, run.color, run.rank);
  });
  Runs lines;
  for (const SplitRun& run : runs) {
    if (std::optional<SplitRun> both = lines.empty() ? std::nullopt : in_lines(lines.back(), run))
      lines.back() = *both;
    else
      lines.push_back(run);
  }
  return lines;
}

// ---- back to ranks

// Ranks in the order of their keys: neither step is 0, or it is that of the keys, and then that of the ranks is positive.
struct Sequence {
  int64_t key;
  int rank, count, rank_step, key_step;

  auto place() const { return std::tuple(key, rank); }
  auto last_place() const { return std::tuple(key + int64_t{count - 1} * key_step, rank + (count - 1) * rank_step); }
  void drop_first() {
    key += key_step;
    rank += rank_step;
    --count;
  }
};

Sequence by_key(const SplitRun& line) {
  if (line.key_step >= 0) return {line.key, line.rank, line.count, line.rank_step, line.key_step};
  return {last_key(line), static_cast<int>(last_rank(line)), line.count, -line.rank_step, -line.key_step};
}

}  // namespace

SplitRuns::SplitRuns(int rank, int color, int key) {
  if (color < 0) return;
  runs_[0].rank = rank;
  runs_[0].color = color;
  runs_[0].key = key;
  size_ = 1;
}

SplitRuns SplitRuns::joined(const SplitRuns& left, const SplitRuns& right) {
  SplitRuns both;
  both.too_many_ = left.too_many_ | right.too_many_;
  if (both.too_many_) return both;
  if (left.size_ == 0 || right.size_ == 0) return left.size_ ? left : right;
  const Runs runs = lined_up(joined_at_the_seam(left.runs(), right.runs()));
  both.too_many_ = runs.size() > kMost;
  if (both.too_many_) return both;
  both.size_ = static_cast<uint32_t>(runs.size());
  std::ranges::copy(runs, both.runs_.begin());
  return both;
}

ProcessList SplitRuns::members(int color) const {
  std::vector<Sequence> sequences;
  for (const SplitRun& run : runs()) {
    const int64_t way = int64_t{color} - run.color;
    int from = 0, lines = way == 0 ? 1 : 0;
    if (run.lines > 1 && run.line_color_step == 0) {
      lines = way == 0 ? run.lines : 0;
    } else if (run.lines > 1 && way % run.line_color_step == 0 && way >= 0 && way / run.line_color_step < run.lines) {
      from = static_cast<int>(way / run.line_color_step);
      lines = 1;
    }
    for (int i = 0; i < lines; ++i) sequences.push_back(by_key(lines_of(run, from + i, 1)));
  }
  std::ranges::sort(sequences, {}, &Sequence::place);
  const auto meets_next = [](const Sequence& one, const Sequence& next) { return one.last_place() > next.place(); };
  ProcessList::Builder members;
  if (std::ranges::adjacent_find(sequences, meets_next) == sequences.end()) {
    for (const Sequence& each : sequences) members.add_range(each.rank, each.count, each.rank_step);
    return members.take();
  }
  const auto later = [](const Sequence& one, const Sequence& other) { return one.place() > other.place(); };
  std::priority_queue<Sequence, std::vector<Sequence>, decltype(later)> open(later, std::move(sequences));
  while (!open.empty()) {
    Sequence first = open.top();
    open.pop();
    members.add(first.rank);
    first.drop_first();
    if (first.count > 0) open.push(first);
  }
  return members.take();
}

}  // namespace tutti
