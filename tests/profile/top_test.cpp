// SPDX-License-Identifier: BSD-3-Clause
// What `tutti top` draws, of ranks that nobody has started: it fits each screen, and shows whom somebody has chosen.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/flight.hpp"
#include "launcher/ask/top_view.hpp"
#include "launcher/node/call_bytes.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

// Rank 5 is outside of MPI, and all others wait for it.
Look look_of(int ranks, int64_t seconds) {
  Look look{std::chrono::steady_clock::time_point() + std::chrono::seconds(seconds), {}};
  for (int rank = 0; rank < ranks; ++rank) {
    RankView& view = look.view.ranks.emplace_back();
    view.job = "job", view.program = "solver", view.host = "nöde1";
    view.rank = rank, view.size = ranks;
    view.inside = rank != 5;
    view.process_state = 'R';
    view.call = "MPI_Recv(1 of MPI_INT, from 5, tag 0)";
    view.place = "solver.c:140, in exchange()";
    view.milliseconds = 1000 * seconds + rank;
    if (view.inside) view.waits_for = {5}, view.waits_for_count = 1;
    view.calls = (rank + 1) * 100 * seconds;
    view.bytes_a_call = 1024;
  }
  return look;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// As a terminal has it: what only says how it looks takes no room.
int width_of(std::string line) {
  for (const std::string_view escape : {"\x1b[7m", "\x1b[m"})
    if (const size_t at = line.find(escape); at != line.npos) line.erase(at, escape.size());
  return static_cast<int>(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(Top, FitsEachScreen) {
  const Look before = look_of(300, 1), now = look_of(300, 2);
  for (const TopOrder order : {TopOrder::odd, TopOrder::rank, TopOrder::calls, TopOrder::time})
    for (int width = 1; width < 220; width += 7)
      for (int height = 1; height < 60; ++height) {
        const std::vector<TopRow> rows = top_rows(before, now, order);
        const std::string text = top_text(rows, {.width = width, .height = height, .order = order, .chosen = 250});
        EXPECT_TRUE(text.ends_with('\n'));
        const std::vector<std::string> lines = lines_of(text);
        ASSERT_LE(static_cast<int>(lines.size()), height);
        for (const std::string& line : lines) ASSERT_LE(width_of(line), width) << line;
        if (height >= 5) {
          EXPECT_NE(text.find("\x1b[7m"), text.npos) << "rank 250 is on the screen";
        }
        if (width > 30 && height >= 5) {
          EXPECT_NE(text.find(" other ranks\n"), text.npos);
        }
      }
}

TEST(Top, SaysWhatMatters) {
  const Look before = look_of(9, 1), now = look_of(9, 2);
  const std::vector<TopRow> rows = top_rows(before, now, TopOrder::odd);
  EXPECT_EQ(rows[0].rank->rank, 5);
  EXPECT_TRUE(rows[0].odd);
  EXPECT_EQ(rows[0].state, RankState::computing);
  EXPECT_EQ(rows[1].state, RankState::waiting);
  EXPECT_DOUBLE_EQ(rows[1].calls_a_second, 100);
  const std::vector<std::string> narrow = lines_of(top_text(rows, {.width = 80, .height = 24}));
  EXPECT_TRUE(narrow[0].starts_with("job job: solver, 9 of 9 ranks on 1 node: 1 computing, 8 waiting;")) << narrow[0];
  EXPECT_NE(narrow[3].find(" 5         MPI_Recv solver.c:140"), std::string::npos) << narrow[3];
  const std::vector<std::string> wide = lines_of(top_text(rows, {.width = 200, .height = 24}));
  EXPECT_NE(wide[3].find("MPI_Recv(1 of MPI_INT, from 5, tag 0) at solver.c:140, in exchange()"), std::string::npos);
  EXPECT_TRUE(wide[0].ends_with("; 4500 calls, 4.4 MiB a second")) << wide[0];
  EXPECT_NE(wide[3].find(" waiting        100   100 KiB "), std::string::npos) << wide[3];
  EXPECT_EQ(top_rows(before, now, TopOrder::calls)[0].rank->rank, 8);
}

TEST(Top, BytesOfCalls) {
  const auto call = [](int64_t count, MPI_Datatype type) {
    flight::CallRecord made;
    made.count = count, made.type = reinterpret_cast<uintptr_t>(type), made.marks = flight::kData;
    return made;
  };
  std::vector<flight::CallRecord> calls{call(100, MPI_INT), call(10, MPI_DOUBLE), flight::CallRecord()};
  EXPECT_EQ(bytes_a_call(calls), (400 + 80) / 3);
  calls.push_back(call(1, reinterpret_cast<MPI_Datatype>(uintptr_t{0x7f0000001000})));
  EXPECT_EQ(bytes_a_call(calls), -1) << "the program has made it";
  EXPECT_EQ(bytes_a_call({}), -1);
}

TEST(Top, LongLinesOfATextGoOn) {
  EXPECT_EQ(fitted("abcdef\ngh\n\nij", 4, 10), "abcd\nef\ngh\n\nij\n");
  EXPECT_EQ(fitted("abcdef\ngh", 4, 1), "abcd\n");
  EXPECT_EQ(fitted("äöü", 2, 5), "äö\nü\n");
}

}  // namespace
}  // namespace tutti::launcher
