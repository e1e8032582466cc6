// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/why.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/log.hpp"
#include "launcher/ask/collective_calls.hpp"
#include "launcher/ask/found_ranks.hpp"
#include "launcher/ask/other_users.hpp"
#include "launcher/ask/why_text.hpp"
#include "launcher/node/look.hpp"

namespace tutti::launcher {
namespace {

struct Options {
  bool help = false, json = false;
  std::string job, user;
  std::vector<int> records_of;  // of one rank: to be shown; of two: to be compared
};

std::optional<int> rank_in(const std::string& word) {
  int rank = -1;
  const char* end = word.data() + word.size();
  const auto [at, problem] = std::from_chars(word.data(), end, rank);
  return problem == std::errc() && at == end && rank >= 0 ? std::optional(rank) : std::nullopt;
}

// An empty result has been told.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--json") {
      out.json = true;
    } else if (word == "--record" || word == "--dump") {
      const size_t wanted = word == "--dump" ? 1 : 2;
      out.records_of.clear();
      while (out.records_of.size() < wanted && i + 1 < arguments.size()) {
        const std::optional<int> rank = rank_in(arguments[++i]);
        if (!rank) break;
        out.records_of.push_back(*rank);
      }
      if (out.records_of.size() == wanted) continue;
      if (wanted == 1)
        say(Level::error, "--dump takes a rank; try: tutti why --dump 3");
      else
        say(Level::error, "--record takes two ranks; try: tutti why --record 0 3");
      return std::nullopt;
    } else if (word == "--user") {
      if (i + 1 == arguments.size() || arguments[i + 1].empty()) {
        say(Level::error, "--user takes a name; try: tutti why --user alice");
        return std::nullopt;
      }
      out.user = arguments[++i];
    } else if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (word.starts_with("-") || word.empty() || !out.job.empty()) {
      say(Level::error, "tutti why takes --json, --record A B, --dump A, --user NAME and one job, not '{}'", word);
      return std::nullopt;
    } else {
      out.job = word;
    }
  }
  return out;
}

// What the records of one or two ranks hold.
int show_records(const Options& options, const std::vector<RankView>& ranks) {
  if (ranks.front().job != ranks.back().job) {
    say(Level::error, "several jobs run here, such as {} and {}: name one", ranks.front().job, ranks.back().job);
    return 1;
  }
  std::vector<const RankView*> chosen;
  for (const int rank : options.records_of) {
    const auto found = std::ranges::find(ranks, rank, &RankView::rank);
    if (found == ranks.end()) {
      say(Level::error, "job {} has no rank {} that is seen from here", ranks[0].job, rank);
      return 1;
    }
    chosen.push_back(&*found);
  }
  const std::string text = chosen.size() == 1 ? (options.json ? record_json(*chosen[0]) : record_text(*chosen[0]))
                           : options.json     ? comparison_json(*chosen[0], *chosen[1])
                                              : comparison_text(*chosen[0], *chosen[1]);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

int why_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 2;
  if (options->help) {
    std::fputs(
        "Usage: tutti why [--json] [--record A B | --dump A] [--user NAME] [JOB]\n"
        "Prints what the ranks of your running jobs are doing, or of JOB alone; with --record how\n"
        "the collective calls of two ranks differ, with --dump those of one. Root sees with --user\n"
        "what that user would.\n",
        stdout);
    return 0;
  }
  if (!options->user.empty()) {
    if (Error e = become_user(options->user)) {
      say(Level::error, "{}", e.message());
      return 1;
    }
  }
  const JobView found = find_ranks(
      options->job, {.records_of = options->records_of, .together = !options->json && options->records_of.empty()});
  for (const std::string& note : found.notes) say(Level::warning, "{}", note);
  if (found.ranks.empty() && found.groups.empty()) {
    say(Level::error, "no rank of {} is seen from this node, unless with --check=off",
        options->job.empty() ? "yours" : "job " + options->job);
    return 1;
  }
  if (!options->records_of.empty()) return show_records(*options, found.ranks);
  JobNames jobs;  // also those that are not asked for, which ranks may wait for
  for (const RankView& view : options->job.empty() ? std::vector<RankView>() : look_at_ranks(""))
    jobs[view.job_number] = view.job;
  std::fputs((options->json ? why_json(found, jobs) : why_text(found, jobs)).c_str(), stdout);
  return 0;
}

}  // namespace tutti::launcher
