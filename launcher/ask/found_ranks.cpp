// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/found_ranks.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "launcher/ask/inquiry.hpp"
#include "launcher/node/look.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

bool is_this_host(const std::string& host) {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return host == name;
}

// The job of `seen` is not seen whole, and no mpirun here could be asked.
std::string where_to_ask(const RankView& seen) {
  if (seen.launcher.empty()) return "the others run on other nodes: ask there";
  if (is_this_host(seen.launcher)) return "";  // has been told
  return fmt::format("its mpirun runs on {} and knows of all: try 'tutti why {}' there", seen.launcher, seen.job);
}

}  // namespace

JobView find_ranks(const std::string& job_name, const Question& question) {
  JobView out{.ranks = look_at_ranks(job_name, question.records_of), .groups = {}, .failed = {}, .notes = {}};
  const auto of_job = [&](const std::string& job) { return [&job](const RankView& view) { return view.job == job; }; };
  for (const std::string& job : jobs_that_listen()) {
    if (job.find(job_name) == job.npos) continue;
    const auto first = std::ranges::find(out.ranks, job, &RankView::job);
    // Whoever sees all of them needs nobody else, who may be stopped.
    if (first != out.ranks.end() && std::ranges::count_if(out.ranks, of_job(job)) == first->size) continue;
    Result<JobView> told = ask_job(job, question);
    if (!told) {
      // Others' jobs are none of ours, unless one is asked for.
      if (told.error().mpi_class() != MPI_ERR_ACCESS || !job_name.empty()) out.notes.push_back(told.error().message());
      continue;
    }
    out.notes.insert(out.notes.end(), told->notes.begin(), told->notes.end());
    if (told->ranks.empty() && told->groups.empty()) continue;
    std::erase_if(out.ranks, of_job(job));
    std::ranges::move(told->ranks, std::back_inserter(out.ranks));
    std::ranges::move(told->groups, std::back_inserter(out.groups));
    std::ranges::move(told->failed, std::back_inserter(out.failed));
  }
  std::ranges::sort(out.ranks, [](const RankView& a, const RankView& b) {
    return std::tie(a.job, a.rank) < std::tie(b.job, b.rank);
  });
  std::set<std::string> known;
  for (const RankView& view : out.ranks) {
    if (!known.insert(view.job).second) continue;
    const auto failed = std::ranges::count(out.failed, view.job, &FailedView::job);
    if (std::ranges::count_if(out.ranks, of_job(view.job)) + failed == view.size) continue;
    const std::string note = is_this_host(view.host) ? where_to_ask(view) : "";
    if (!note.empty()) out.notes.push_back(fmt::format("not all ranks of job {} are seen: {}", view.job, note));
  }
  if (question.together) std::ranges::move(groups_of(std::exchange(out.ranks, {})), std::back_inserter(out.groups));
  return out;
}

}  // namespace tutti::launcher
