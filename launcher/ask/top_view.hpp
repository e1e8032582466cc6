// SPDX-License-Identifier: BSD-3-Clause
// What `tutti top` shows: rows of ranks, of two looks at them, and their text. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_view.hpp"

namespace tutti::launcher {

struct Look {
  std::chrono::steady_clock::time_point at;
  JobView view;
};

enum class RankState { computing, asleep, in_mpi, waiting, asking, stopped, finalized };
const char* word_of(RankState state);

struct TopRow {
  const RankView* rank = nullptr;  // of the later look
  RankState state = RankState::computing;
  double calls_a_second = -1, bytes_a_second = -1;  // -1: not known
  bool odd = false;                                 // it does what most do not
};

enum class TopOrder { odd, rank, calls, time };

// Of one job, in an order: first those that are odd, by rank, those with most calls, or those that have done the same for
// longest.
std::vector<TopRow> top_rows(const Look& before, const Look& now, TopOrder order);

// How the screen is cut, and what is chosen.
struct TopShape {
  int width = 100, height = 30;
  TopOrder order = TopOrder::odd;
  int chosen = -1;   // a rank, which is shown
  bool keys = true;  // the last line says what can be pressed
};
// At most `height` lines of `width` characters each, each with its end; how many ranks it leaves out is told.
std::string top_text(const std::vector<TopRow>& rows, const TopShape& shape);
// The first lines of a text, of which those that are too long go on in the next one.
std::string fitted(std::string_view text, int width, int height);
std::string top_json(const std::vector<TopRow>& rows);

}  // namespace tutti::launcher
