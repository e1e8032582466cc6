// SPDX-License-Identifier: BSD-3-Clause
// Which color and key the ranks say by which a communicator is divided, in runs: ranks of one color in equal steps whose
// keys grow in equal steps, and lines of such runs, one for each color or several of one. Where colors and keys follow
// from ranks by arithmetic (rank % k, rank / k, rows and columns of a grid), a few runs say it of a million ranks.
// Plain, for messages: it is what a reduction makes of what each rank says, joined in rank order. Runs whose number would
// be larger than kMost are no longer told apart: `too_many`. Owns nothing; knows nothing of communicators.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/process_list.hpp"

namespace tutti {

// Rank `rank + i line_rank_step + j rank_step` says the color `color + i line_color_step` and the key
// `key + i line_key_step + j key_step`, 0 <= i < lines, 0 <= j < count. What has one line has no steps of lines, what has
// one rank in a line none of ranks. Steps of ranks are positive within a line.
struct SplitRun {
  int32_t rank = 0, color = 0, key = 0;
  int32_t count = 1, rank_step = 0, key_step = 0;
  int32_t lines = 1, line_rank_step = 0, line_color_step = 0, line_key_step = 0;
};

class SplitRuns {
 public:
  static constexpr size_t kMost = 100;

  SplitRuns() = default;  // of nobody
  // Of one rank; one that says no color (negative) is not among those that say something.
  SplitRuns(int rank, int color, int key);
  // Of the ranks of both; those of `left` are lower than those of `right`.
  static SplitRuns joined(const SplitRuns& left, const SplitRuns& right);

  // Nothing else is known then.
  bool too_many() const { return too_many_ != 0; }
  std::span<const SplitRun> runs() const { return std::span(runs_).first(size_); }
  // The ranks that say `color`, in the order of their keys and, where these are equal, of the ranks.
  ProcessList members(int color) const;

 private:
  uint32_t size_ = 0, too_many_ = 0;
  std::array<SplitRun, kMost> runs_ = {};
};

}  // namespace tutti
