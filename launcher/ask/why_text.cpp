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

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (i > 0) text += ", ";
    text += end - i > 2 ? fmt::format("{} to {}", ranks[i], ranks[end - 1]) : std::to_string(ranks[i]);
    i = end - i > 2 ? end : i + 1;
  }
  return text;
}

std::string seconds_text(double seconds) {
  return seconds < 120 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

// What ranks of one group have in common.
std::string doing(const RankView& view) {
  const std::string where = view.communicator.empty() ? "" : " on " + view.communicator;
  const bool halted = view.process_state == 'T' || view.process_state == 't';
  const std::string stopped = halted ? view.kernel + "; " : "";
  const std::string outside = "outside of MPI" + (halted || view.kernel.empty() ? "" : ", " + view.kernel);
  if (view.finalized) return stopped + "behind MPI_Finalize";
  if (view.awaits_debugger)
    return stopped +
           "waits in MPI_Init for a debugger (--stop-on-start); it goes on when one is attached and lets it, "
           "or when mpirun gets SIGCONT";
  if (view.inside) return fmt::format("{}in {}{}, called at {}", stopped, view.call, where, view.place);
  if (view.looks) return fmt::format("{}asks again and again by {} at {}", stopped, view.call, view.place);
  if (view.call.empty()) return stopped + outside + ", and has made no call yet that communicates";
  return fmt::format("{}{}; the latest call was {}{} at {}", stopped, outside, view.call, where, view.place);
}

struct Group {
  std::string what;
  std::vector<const RankView*> members;
  std::vector<int> ranks() const {
    std::vector<int> out;
    for (const RankView* member : members) out.push_back(member->rank);
    return out;
  }
};

// "node1, node2 and 3 more"; where there is but one machine, nothing.
std::string hosts_text(const Group& group) {
  std::set<std::string> hosts;
  for (const RankView* member : group.members) hosts.insert(member->host);
  std::string text;
  size_t shown = 0;
  for (const std::string& host : hosts) {
    if (shown == kHostsShown && hosts.size() > kHostsShown + 1)
      return text + fmt::format(" and {} more", hosts.size() - shown);
    text += (shown++ ? ", " : "") + host;
  }
  return text;
}

void add_names(JobNames& jobs, const std::vector<RankView>& ranks) {
  for (const RankView& view : ranks)
    if (view.job_number != 0) jobs[view.job_number] = view.job;
}

// "rank 0 of job tutti.1a2b", "rank 0 of another job".
std::string elsewhere_text(const ElsewhereView& other, const JobNames& jobs) {
  const auto name = jobs.find(other.job_number);
  return fmt::format("rank {} of {}", other.rank, name == jobs.end() ? "another job" : "job " + name->second);
}

// "which failed 2.1 s ago", "of which rank 3 failed 2.1 s ago".
std::string failed_text(const std::set<int>& awaited, const std::map<int, const FailedView*>& failed) {
  std::vector<int> ranks;
  double latest = 1e99;
  for (const int rank : awaited) {
    const auto at = failed.find(rank);
    if (at == failed.end()) continue;
    ranks.push_back(rank);
    latest = std::min(latest, static_cast<double>(at->second->milliseconds) / 1e3);
  }
  if (ranks.empty()) return "";
  if (awaited.size() == 1) return fmt::format(", which failed {} ago", seconds_text(latest));
  return fmt::format(", of which {} failed {} ago", ranks_text(ranks), seconds_text(latest));
}

// Whom the ranks of a group wait for, all of them together: "ranks 1, 4", "some of ranks 1 to 12 and more".
std::string awaited_text(const Group& group, const JobNames& jobs, const std::map<int, const FailedView*>& failed) {
  std::set<int> awaited;
  std::set<std::string> elsewhere;
  bool some = false, more = false;
  for (const RankView* member : group.members) {
    awaited.insert(member->waits_for.begin(), member->waits_for.end());
    for (const ElsewhereView& other : member->waits_elsewhere) elsewhere.insert(elsewhere_text(other, jobs));
    some |= member->waits_for_some;
    more |= member->waits_for_count > std::ssize(member->waits_for) + std::ssize(member->waits_elsewhere);
  }
  const bool several = awaited.size() + elsewhere.size() > 1 || more;
  std::string text = awaited.empty() ? "" : ranks_text({awaited.begin(), awaited.end()});
  for (const std::string& other : elsewhere) text += (text.empty() ? "" : ", ") + other;
  if (text.empty()) return text;
  return (some && several ? "some of " : "") + text + (more ? " and more" : "") + failed_text(awaited, failed);
}

std::string seen_text(int seen, int failed, int size) {
  const std::string text = seen + failed == size ? "are seen" : "are seen from here";
  return failed == 0 ? text : fmt::format("{}, {} {} failed", text, failed, failed == 1 ? "has" : "have");
}

// Those that have failed for one reason at about one time stand together.
std::string ends_text(const std::map<int, const FailedView*>& failed) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> ends;
  for (const auto& [rank, how] : failed)
    ends[{how->why, seconds_text(static_cast<double>(how->milliseconds) / 1e3)}].push_back(rank);
  std::string text;
  for (const auto& [how, ranks] : ends)
    text += fmt::format("  {}: failed {} ago: {}\n", ranks_text(ranks), how.second, how.first);
  return text;
}

std::string group_text(const Group& group, bool odd, bool several_hosts, const JobNames& jobs,
                       const std::map<int, const FailedView*>& failed) {
  double least = 1e99, most = -1;
  bool exact = true;
  for (const RankView* member : group.members) {
    const double seconds = static_cast<double>(member->milliseconds) / 1e3;
    if (seconds >= 0) least = std::min(least, seconds);
    most = std::max(most, seconds);
    exact = exact && member->exact;
  }
  std::string text = fmt::format("  {}: {}", ranks_text(group.ranks()), group.what);
  if (most >= 0) {
    const std::string range =
        most - least > 0.5 ? seconds_text(least) + " to " + seconds_text(most) : seconds_text(most);
    if (group.members[0]->inside)
      text += fmt::format(", for {}", range);
    else if (!group.members[0]->call.empty())
      text += fmt::format(", {}{} ago", exact ? "" : "less than ", range);
  }
  if (const std::string others = awaited_text(group, jobs, failed); !others.empty()) text += "; waiting for " + others;
  if (several_hosts) text += "; on " + hosts_text(group);
  if (odd && group.members.size() == 1) text += fmt::format(" (process {})", group.members[0]->pid);
  text += '\n';
  size_t shown = 0;
  for (const RankView* member : group.members) {
    if (member->file.empty()) continue;
    if (shown++ == kFilesShown) {
      text += "      and others are at files\n";
      break;
    }
    text += fmt::format("      rank {} is {}\n", member->rank, member->file);
  }
  if (!odd) return text;
  for (const std::string& call : group.members[0]->latest) text += fmt::format("      before: {}\n", call);
  return text;
}

}  // namespace

std::string why_text(const JobView& view, JobNames jobs) {
  const std::vector<RankView>& ranks = view.ranks;
  add_names(jobs, ranks);
  std::string text;
  for (size_t begin = 0; begin < ranks.size();) {
    size_t end = begin;
    std::vector<Group> groups;
    for (; end < ranks.size() && ranks[end].job == ranks[begin].job; ++end) {
      const std::string what = doing(ranks[end]);
      const auto same = std::ranges::find(groups, what, &Group::what);
      if (same == groups.end())
        groups.push_back({what, {&ranks[end]}});
      else
        same->members.push_back(&ranks[end]);
    }
    std::ranges::stable_sort(groups,
                             [](const Group& a, const Group& b) { return a.members.size() > b.members.size(); });
    const bool several_hosts = std::any_of(ranks.begin() + static_cast<std::ptrdiff_t>(begin),
                                           ranks.begin() + static_cast<std::ptrdiff_t>(end),
                                           [&](const RankView& r) { return r.host != ranks[begin].host; });
    const int size = ranks[begin].size, seen = static_cast<int>(end - begin);
    std::map<int, const FailedView*> failed;
    for (const FailedView& each : view.failed)
      if (each.job == ranks[begin].job) failed[each.rank] = &each;
    text += fmt::format("job {}: {}, {} of its {} ranks {}\n", ranks[begin].job, ranks[begin].program,
                        seen == size ? "all" : std::to_string(seen), size,
                        seen_text(seen, static_cast<int>(failed.size()), size));
    // The many do what is expected; a rank or two that do something else are what to look at.
    const size_t many = groups[0].members.size();
    for (const Group& group : groups)
      text += group_text(group, groups.size() > 1 && group.members.size() * 2 <= many + 1 && &group != &groups[0],
                         several_hosts, jobs, failed);
    text += ends_text(failed);
    if (groups.size() > 1 && many > 1) {
      std::vector<int> odd;
      for (const Group& group : groups)
        if (&group != &groups[0] && group.members.size() < many)
          for (const int rank : group.ranks()) odd.push_back(rank);
      std::ranges::sort(odd);
      if (!odd.empty()) text += fmt::format("  unlike most: {}\n", ranks_text(odd));
    }
    begin = end;
  }
  return text;
}

std::string why_json(const JobView& view, JobNames jobs) {
  const std::vector<RankView>& ranks = view.ranks;
  add_names(jobs, ranks);
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
