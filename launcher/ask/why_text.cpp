// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/why_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/printable.hpp"
#include "launcher/data/json_text.hpp"

namespace tutti::launcher {
namespace {

constexpr size_t kHostsShown = 3;
constexpr size_t kFilesShown = 4;  // ranks of a group that are in calls for files

std::string ranks_text(const std::vector<Span>& ranks) {
  std::string text = count_of(ranks) == 1 ? "rank " : "ranks ", list;
  for (const Span& span : ranks) {
    if (span.count > 2) {
      list += fmt::format("{}{} to {}", list.empty() ? "" : ", ", span.first, span.end() - 1);
      continue;
    }
    for (int rank = span.first; rank < span.end(); ++rank) list += fmt::format("{}{}", list.empty() ? "" : ", ", rank);
  }
  return text + list;
}

std::string seconds_text(double seconds) {
  return seconds < 120 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

// "node1, node2 and 3 more"; where there is but one machine, nothing.
std::string hosts_text(const RankGroup& group) {
  std::string text;
  size_t shown = 0;
  for (const std::string& host : group.hosts) {
    if (shown == kHostsShown && group.hosts.size() > kHostsShown + 1)
      return text + fmt::format(" and {} more", group.hosts.size() - shown);
    text += (shown++ ? ", " : "") + host;
  }
  return text;
}

void add_name(JobNames& jobs, const RankView& view) {
  if (view.job_number != 0) jobs[view.job_number] = view.job;
}

// "rank 0 of job tutti.1a2b", "rank 0 of another job".
std::string elsewhere_text(const ElsewhereView& other, const JobNames& jobs) {
  const auto name = jobs.find(other.job_number);
  return fmt::format("rank {} of {}", other.rank, name == jobs.end() ? "another job" : "job " + name->second);
}

// Of one job, by rank.
using Failed = std::map<int, const FailedView*>;

// "which failed 2.1 s ago", "of which rank 3 failed 2.1 s ago".
std::string failed_text(const std::vector<Span>& awaited, const Failed& failed) {
  std::vector<Span> ranks;
  double latest = 1e99;
  for (const Span& span : awaited)
    for (auto at = failed.lower_bound(span.first); at != failed.end() && at->first < span.end(); ++at) {
      add(ranks, at->first);
      latest = std::min(latest, static_cast<double>(at->second->milliseconds) / 1e3);
    }
  if (ranks.empty()) return "";
  if (count_of(awaited) == 1) return fmt::format(", which failed {} ago", seconds_text(latest));
  return fmt::format(", of which {} failed {} ago", ranks_text(ranks), seconds_text(latest));
}

// Whom the ranks of a group wait for, all of them together: "ranks 1, 4", "some of ranks 1 to 12 and more".
std::string awaited_text(const RankGroup& group, const JobNames& jobs, const Failed& failed) {
  std::set<std::string> elsewhere;
  for (const ElsewhereView& other : group.waits_elsewhere) elsewhere.insert(elsewhere_text(other, jobs));
  const bool several = count_of(group.waits_for) + elsewhere.size() > 1 || group.waits_for_more;
  std::string text = group.waits_for.empty() ? "" : ranks_text(group.waits_for);
  for (const std::string& other : elsewhere) text += (text.empty() ? "" : ", ") + other;
  if (text.empty()) return text;
  return (group.waits_for_some && several ? "some of " : "") + text + (group.waits_for_more ? " and more" : "") +
         failed_text(group.waits_for, failed);
}

std::string seen_text(size_t seen, size_t failed, size_t size) {
  const std::string text = seen + failed == size ? "are seen" : "are seen from here";
  return failed == 0 ? text : fmt::format("{}, {} {} failed", text, failed, failed == 1 ? "has" : "have");
}

// Those that have failed for one reason at about one time stand together.
std::string ends_text(const Failed& failed) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> ends;
  for (const auto& [rank, how] : failed)
    ends[{how->why, seconds_text(static_cast<double>(how->milliseconds) / 1e3)}].push_back(rank);
  std::string text;
  for (const auto& [how, ranks] : ends)
    text += fmt::format("  {}: failed {} ago: {}\n", ranks_text(spans_of(ranks)), how.second, how.first);
  return text;
}

std::string group_text(const RankGroup& group, bool odd, bool several_hosts, const JobNames& jobs,
                       const Failed& failed) {
  std::string text = fmt::format("  {}: {}", ranks_text(group.ranks), group.what);
  if (group.most >= 0) {
    const double least = static_cast<double>(group.least) / 1e3, most = static_cast<double>(group.most) / 1e3;
    const std::string range =
        most - least > 0.5 ? seconds_text(least) + " to " + seconds_text(most) : seconds_text(most);
    if (group.first.inside)
      text += fmt::format(", for {}", range);
    else if (!group.first.call.empty())
      text += fmt::format(", {}{} ago", group.exact ? "" : "less than ", range);
  }
  if (const std::string others = awaited_text(group, jobs, failed); !others.empty()) text += "; waiting for " + others;
  if (several_hosts) text += "; on " + hosts_text(group);
  if (odd && count_of(group.ranks) == 1) text += fmt::format(" (process {})", group.first.pid);
  text += '\n';
  for (size_t i = 0; i < std::min(group.files.size(), kFilesShown); ++i)
    text += fmt::format("      rank {} is {}\n", group.files[i].rank, group.files[i].text);
  if (group.files.size() > kFilesShown) text += "      and others are at files\n";
  if (!odd) return text;
  for (const std::string& call : group.first.latest) text += fmt::format("      before: {}\n", call);
  return text;
}

// Of one job. The many do what is expected; a rank or two that do something else are what to look at.
std::string job_text(std::vector<RankGroup> groups, const JobNames& jobs, const Failed& failed) {
  const RankView first = groups[0].first;
  size_t seen = 0;
  std::set<std::string> hosts;
  for (const RankGroup& group : groups) {
    seen += count_of(group.ranks);
    hosts.insert(group.hosts.begin(), group.hosts.end());
  }
  const auto size = static_cast<size_t>(first.size);
  std::ranges::stable_sort(
      groups, [](const RankGroup& a, const RankGroup& b) { return count_of(a.ranks) > count_of(b.ranks); });
  std::string text =
      fmt::format("job {}: {}, {} of its {} ranks {}\n", first.job, first.program,
                  seen == size ? "all" : std::to_string(seen), size, seen_text(seen, failed.size(), size));
  const size_t many = count_of(groups[0].ranks);
  std::vector<Span> unlike;
  for (const RankGroup& group : groups) {
    const size_t count = count_of(group.ranks);
    const bool odd = &group != &groups[0] && groups.size() > 1 && count * 2 <= many + 1;
    text += group_text(group, odd, hosts.size() > 1, jobs, failed);
    if (&group != &groups[0] && count < many) unlike = united(unlike, group.ranks);
  }
  text += ends_text(failed);
  if (many > 1 && !unlike.empty()) text += fmt::format("  unlike most: {}\n", ranks_text(unlike));
  return text;
}

}  // namespace

std::string why_text(const JobView& view, JobNames jobs) {
  std::map<std::string, std::vector<RankGroup>> by_job;
  for (const std::vector<RankGroup>& groups : {view.groups, groups_of(view.ranks)})
    for (const RankGroup& group : groups) {
      add_name(jobs, group.first);
      by_job[group.first.job].push_back(group);
    }
  std::string text;
  for (auto& [job, all] : by_job) {
    Failed failed;
    for (const FailedView& each : view.failed)
      if (each.job == job) failed[each.rank] = &each;
    text += job_text(std::move(all), jobs, failed);
  }
  return text;
}

std::string why_json(const JobView& view, JobNames jobs) {
  const std::vector<RankView>& ranks = view.ranks;
  for (const RankView& each : ranks) add_name(jobs, each);
  std::string text = "[";
  for (const RankView& r : ranks) {
    std::string awaited, elsewhere, latest;
    for (const int rank : r.waits_for) awaited += fmt::format("{}{}", awaited.empty() ? "" : ",", rank);
    for (const ElsewhereView& other : r.waits_elsewhere)
      elsewhere += (elsewhere.empty() ? "" : ",") + json_text(elsewhere_text(other, jobs));
    for (const std::string& call : r.latest) latest += fmt::format("{}{}", latest.empty() ? "" : ",", json_text(call));
    text += fmt::format(
        "{}\n "
        "{{\"job\":{},\"rank\":{},\"size\":{},\"host\":{},\"pid\":{},\"program\":{},\"process_"
        "state\":\"{}\",\"kernel\":{},"
        "\"state\":\"{}\",\"call\":{},\"place\":{},\"communicator\":{},\"milliseconds\":{},"
        "\"exact\":{},\"waits_"
        "for\":[{}],\"waits_elsewhere\":[{}],\"waits_for_some\":{},"
        "\"file\":{},\"latest\":[{}]}}",
        text.size() > 1 ? "," : "", json_text(r.job), r.rank, r.size, json_text(r.host), r.pid, json_text(r.program),
        r.process_state, json_text(r.kernel),
        r.finalized         ? "finalized"
        : r.awaits_debugger ? "awaits-debugger"
        : r.inside          ? "inside"
        : r.looks           ? "asking"
                            : "outside",
        json_text(r.call), json_text(r.place), json_text(r.communicator), r.milliseconds, r.exact, awaited, elsewhere,
        r.waits_for_some, json_text(r.file), latest);
  }
  for (const FailedView& each : view.failed)
    text +=
        fmt::format("{}\n {{\"job\":{},\"rank\":{},\"state\":\"failed\",\"why\":{},\"milliseconds\":{}}}",
                    text.size() > 1 ? "," : "", json_text(each.job), each.rank, json_text(each.why), each.milliseconds);
  return text + "\n]\n";
}

}  // namespace tutti::launcher
