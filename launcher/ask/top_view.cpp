// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/top_view.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/bytes_text.hpp"
#include "launcher/data/json_text.hpp"

namespace tutti::launcher {
namespace {

// A call lasts so long before it counts as waiting, where nobody knows for whom.
constexpr int64_t kLongMilliseconds = 100;
constexpr std::string_view kKeys = "r c t o: order   up, down: choose   Enter: look at one   w: why   q: quit";

RankState state_of(const RankView& rank) {
  if (rank.process_state == 'T' || rank.process_state == 't') return RankState::stopped;
  if (rank.finalized) return RankState::finalized;
  if (rank.looks) return RankState::asking;
  if (rank.inside)
    return !rank.waits_for.empty() || !rank.waits_elsewhere.empty() || rank.milliseconds >= kLongMilliseconds
               ? RankState::waiting
               : RankState::in_mpi;
  return rank.process_state == 'S' || rank.process_state == 'D' ? RankState::asleep : RankState::computing;
}

std::string whom_of(const RankView& rank) {
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(rank.waits_for.size(), 4); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ",", rank.waits_for[i]);
  if (rank.waits_for_count > 4 && !out.empty()) out += fmt::format(" of {}", rank.waits_for_count);
  return out;
}

std::string span_text(int64_t milliseconds) {
  if (milliseconds < 0) return "";
  if (milliseconds < 1000) return fmt::format("{} ms", milliseconds);
  return fmt::format("{:.1f} s", static_cast<double>(milliseconds) / 1000);
}

// What ranks do alike.
std::string kind_of(const TopRow& row) {
  return row.rank->inside ? row.rank->call + row.rank->place : word_of(row.state);
}

void find_odd(std::vector<TopRow>& rows) {
  std::map<std::string, size_t> kinds;
  for (const TopRow& row : rows) ++kinds[kind_of(row)];
  for (TopRow& row : rows) row.odd = kinds[kind_of(row)] * 4 < rows.size();
}

// By characters, of which each begins with a byte that is none of UTF-8's later ones.
int characters_of(std::string_view text) {
  return static_cast<int>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}
// How many bytes the first `width` characters are.
size_t bytes_of(std::string_view text, int width) {
  int characters = 0;
  for (size_t at = 0; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && characters++ == width) return at;
  return text.size();
}
std::string cut(const std::string& line, int width) {
  return line.substr(0, bytes_of(line, width));
}

// As wide as what stands in them.
struct Columns {
  int host = 4, whom = 9;
  bool bytes;  // there is room for them
  Columns(const std::vector<TopRow>& rows, int width) : bytes(width >= 100) {
    for (const TopRow& row : rows) {
      host = std::clamp(characters_of(row.rank->host), host, 12);
      whom = std::clamp(characters_of(whom_of(*row.rank)), whom, 12);
    }
  }
};

// The call with its arguments and its place, or, where there is no room for that, its function and its line.
std::string does_of(const RankView& rank, int room) {
  if (rank.call.empty()) return "";
  const std::string after = rank.inside ? "" : "after ";
  std::string full = after + rank.call + (rank.place.empty() ? "" : " at " + rank.place);
  if (characters_of(full) <= room) return full;
  return fmt::format("{}{} {}", after, rank.call.substr(0, rank.call.find('(')),
                     rank.place.substr(0, rank.place.find(',')));
}

std::string amount_text(double bytes) {
  return bytes < 0 ? "" : bytes_text(bytes);
}

std::string line_of(const TopRow& row, const Columns& columns, int width) {
  const RankView& rank = *row.rank;
  const std::string rate = row.calls_a_second < 0 ? "" : fmt::format("{:.0f}", row.calls_a_second);
  const std::string bytes = columns.bytes ? fmt::format(" {:>9}", amount_text(row.bytes_a_second)) : "";
  std::string out = fmt::format("{}{:>6} {:<{}.{}} {:<9} {:>8}{} {:>8}  {:<{}.{}} ", row.odd ? "*" : " ", rank.rank,
                                rank.host, columns.host, columns.host, word_of(row.state), rate, bytes,
                                span_text(rank.milliseconds), whom_of(rank), columns.whom, columns.whom);
  return cut(out + does_of(rank, width - characters_of(out)), width);
}

std::string head_of(const std::vector<TopRow>& rows) {
  std::map<RankState, int> states;
  std::set<std::string> hosts;
  double calls = 0, bytes = 0;
  bool all_bytes = true;  // are known
  for (const TopRow& row : rows) {
    ++states[row.state], hosts.insert(row.rank->host);
    calls += std::max(0.0, row.calls_a_second), bytes += row.bytes_a_second;
    all_bytes &= row.bytes_a_second >= 0;
  }
  const RankView& first = *rows.front().rank;
  std::string out = fmt::format("job {}: {}, {} of {} ranks on {} {}:", first.job, first.program, rows.size(),
                                first.size, hosts.size(), hosts.size() == 1 ? "node" : "nodes");
  const char* between = "";
  for (const auto& [state, count] : states)
    out += fmt::format("{} {} {}", std::exchange(between, ","), count, word_of(state));
  return out +
         fmt::format("; {:.0f} calls{}{} a second", calls, all_bytes ? ", " : "", all_bytes ? bytes_text(bytes) : "");
}

}  // namespace

const char* word_of(RankState state) {
  constexpr const char* kWords[] = {"computing", "asleep", "in MPI", "waiting", "asking", "stopped", "finalized"};
  return kWords[static_cast<size_t>(state)];
}

std::vector<TopRow> top_rows(const Look& before, const Look& now, TopOrder order) {
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  std::map<int, int64_t> calls_before;
  for (const RankView& rank : before.view.ranks) calls_before[rank.rank] = rank.calls;
  std::vector<TopRow> rows;
  for (const RankView& rank : now.view.ranks) {
    TopRow row{.rank = &rank, .state = state_of(rank)};
    const auto then = calls_before.find(rank.rank);
    if (then != calls_before.end() && rank.calls >= then->second && seconds > 0)
      row.calls_a_second = static_cast<double>(rank.calls - then->second) / seconds;
    if (row.calls_a_second >= 0 && rank.bytes_a_call >= 0)
      row.bytes_a_second = row.calls_a_second * static_cast<double>(rank.bytes_a_call);
    rows.push_back(row);
  }
  find_odd(rows);
  std::ranges::stable_sort(rows, [order](const TopRow& a, const TopRow& b) {
    switch (order) {
      case TopOrder::odd:
        return std::tuple(!a.odd, a.rank->rank) < std::tuple(!b.odd, b.rank->rank);
      case TopOrder::rank:
        return a.rank->rank < b.rank->rank;
      case TopOrder::calls:
        return a.calls_a_second > b.calls_a_second;
      case TopOrder::time:
        return a.rank->milliseconds > b.rank->milliseconds;
    }
    return false;
  });
  return rows;
}

std::string top_text(const std::vector<TopRow>& rows, const TopShape& shape) {
  if (rows.empty()) return "";
  const Columns columns(rows, shape.width);
  std::vector<std::string> lines{cut(head_of(rows), shape.width)};
  // On a low screen the keys give way first, and then what the columns are called.
  const bool has_keys = shape.keys && shape.height >= 6;
  if (shape.height >= 4)
    lines.push_back(
        cut(fmt::format("  {:>5} {:<{}} {:<9} {:>8}{} {:>8}  {:<{}} {}", "rank", "node", columns.host, "is", "calls/s",
                        columns.bytes ? "   bytes/s" : "", "for", "waits for", columns.whom, "in, or after"),
            shape.width));
  const size_t room = static_cast<size_t>(std::max(shape.height, 1)) - lines.size() - (has_keys ? 1 : 0);
  const size_t shown = rows.size() <= room ? rows.size() : std::max<size_t>(room, 1) - 1;
  const auto chosen = static_cast<size_t>(
      std::ranges::find_if(rows, [&](const TopRow& row) { return row.rank->rank == shape.chosen; }) - rows.begin());
  const size_t begin = chosen < rows.size() && chosen >= shown ? chosen + 1 - shown : 0;
  for (size_t i = begin; i < begin + shown; ++i) {
    const std::string line = line_of(rows[i], columns, shape.width);
    lines.push_back(i == chosen ? "\x1b[7m" + line + "\x1b[m" : line);
  }
  if (shown < rows.size() && room > 0)
    lines.push_back(cut(fmt::format("  and {} other ranks", rows.size() - shown), shape.width));
  if (has_keys) lines.push_back(cut(std::string(kKeys), shape.width));
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string fitted(std::string_view text, int width, int height) {
  std::string out;
  for (int line = 0; line < height && !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size()), fits = bytes_of(text.substr(0, end), std::max(width, 1));
    out += text.substr(0, fits);
    out += '\n';
    text.remove_prefix(fits + (fits == end && end < text.size() ? 1 : 0));
  }
  return out;
}

std::string top_json(const std::vector<TopRow>& rows) {
  std::string out = "[";
  for (const TopRow& row : rows) {
    const RankView& rank = *row.rank;
    std::string waits;
    for (const int other : rank.waits_for) waits += fmt::format("{}{}", waits.empty() ? "" : ",", other);
    out += fmt::format(
        "{}\n "
        "{{\"job\":{},\"rank\":{},\"size\":{},\"host\":{},\"pid\":{},\"state\":\"{}\",\"calls\":{},\"calls_per_"
        "second\":{},\"bytes_per_second\":{},"
        "\"call\":{},\"place\":{},\"milliseconds\":{},\"waits_for\":[{}],\"odd\":{}}}",
        out.size() > 1 ? "," : "", json_text(rank.job), rank.rank, rank.size, json_text(rank.host), rank.pid,
        word_of(row.state), rank.calls, row.calls_a_second < 0 ? "null" : fmt::format("{:.1f}", row.calls_a_second),
        row.bytes_a_second < 0 ? "null" : fmt::format("{:.0f}", row.bytes_a_second), json_text(rank.call),
        json_text(rank.place), rank.milliseconds, waits, row.odd);
  }
  return out + "\n]\n";
}

}  // namespace tutti::launcher
