// SPDX-License-Identifier: BSD-3-Clause
#include "contract/deadlock_report.hpp"

#include <mpi.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/flight.hpp"
#include "contract/lying.hpp"
#include "engine/wait/waiter.hpp"

namespace tutti::contract {
namespace {

constexpr size_t kMostMembers = 32;  // listed

// "rank 1", "rank 1, 2 or 3", "any of 12 ranks"; of the whole condition. That a later one of rank
// `me`'s own collectives comes after an earlier one is left out: the earlier one tells more.
std::string needs_text(const Others& others, int me, const life::Condition& needs) {
  std::vector<int> processes;
  bool collective = false;
  needs.each_actor([&](const life::Actor& actor) {
    collective |= !actor.is_process();
    processes.push_back(actor.process);
  });
  std::ranges::sort(processes);
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  if (processes.empty()) return "nobody can end it";
  if (!needs.lacking().empty() && processes.size() == 1)
    return fmt::format("waits for {}, for which MPI_Pready has not been called", needs.lacking());
  if (collective && processes.size() > 1) std::erase(processes, me);
  const bool any = std::ranges::any_of(needs.nodes(), [](const life::Condition::Node& node) {
    return node.kind == life::Condition::Kind::any || node.kind == life::Condition::Kind::some;
  });
  std::string awaited;
  if (!needs.awaited().empty()) awaited = " to complete " + needs.awaited();
  if (needs.awaited_count() > 1) awaited += fmt::format(" and {} more", needs.awaited_count() - 1);
  return fmt::format("waits for {}{}{}{}", any && processes.size() > 1 ? "one of " : "",
                     processes_text(others, processes), collective ? " in it" : "", awaited);
}

// The members of a circle, each once.
std::vector<int> distinct(std::vector<int> members) {
  std::ranges::sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

std::string sentence_of(const Deadlock& deadlock) {
  const std::vector<int> core = distinct(deadlock.circle.members);
  std::string text;
  if (!deadlock.circle.closed && deadlock.states.at(core.front()).ended) {
    text = fmt::format("deadlock: {} has ended", processes_text(deadlock.others, core));
  } else if (!deadlock.circle.closed) {
    text = fmt::format("deadlock: {} waits for what no rank can do", processes_text(deadlock.others, core));
  } else if (core.size() == 1) {
    const std::vector<BlockedThread>& threads = deadlock.states.at(core.front()).threads;
    const auto lacks = std::ranges::find_if(threads, [](const auto& t) { return !t.needs.lacking().empty(); });
    text = fmt::format("deadlock: {} waits for {}", processes_text(deadlock.others, core),
                       lacks == threads.end() ? "itself" : lacks->needs.lacking() + ", which it has not made ready");
  } else {
    text = fmt::format("deadlock: {} wait for each other", processes_text(deadlock.others, core));
  }
  std::vector<int> others;
  std::ranges::set_difference(deadlock.members, core, std::back_inserter(others));
  if (!others.empty())
    text += fmt::format(", and {} {} for {}", processes_text(deadlock.others, others),
                        others.size() == 1 ? "waits" : "wait", core.size() == 1 ? "it" : "them");
  return text;
}

// "rank 0 waits for rank 2, rank 2 for rank 1, rank 1 for rank 0"
std::string circle_text(const Others& others, const Circle& circle) {
  std::string text;
  const size_t told = std::min(circle.members.size(), kMostMembers);
  for (size_t i = 0; i < told; ++i)
    text += fmt::format("{}{} {}for {}", i ? ", " : "", processes_text(others, {circle.members[i]}), i ? "" : "waits ",
                        processes_text(others, {circle.members[(i + 1) % circle.members.size()]}));
  return told < circle.members.size() ? text + ", and so on" : text;
}

// Members that stand in one collective call of a communicator, and do not agree what it is.
std::string disagreement(const Deadlock& deadlock) {
  std::map<std::pair<uint64_t, uint32_t>, std::vector<std::pair<int, Word>>> calls;  // different ones of each
  for (const int member : deadlock.members)
    for (const BlockedThread& thread : deadlock.states.at(member).threads) {
      if (!thread.context) continue;
      auto& known = calls[{thread.context, thread.serial}];
      for (const auto& [other, word] : known)
        if (other != member && compare(word, thread.signature) != Difference::none)
          return fmt::format(
              "{} are in different collective calls of one communicator where they must be in the same: {} and {}",
              processes_text(deadlock.others, {other, member}), name_of(word), name_of(thread.signature));
      const bool is_known =
          std::ranges::any_of(known, [&](const auto& each) { return each.second == thread.signature; });
      if (!is_known && known.size() < kMostMembers) known.emplace_back(member, thread.signature);
    }
  return "";
}

}  // namespace

Others& others_of_process() {
  static Others others;
  return others;
}

std::string processes_text(const Others& others, const std::vector<int>& processes) {
  const auto foreign = std::ranges::lower_bound(processes, others.job_size);
  std::vector<std::string> texts;
  if (foreign != processes.begin()) texts.push_back(ranks_text({processes.begin(), foreign}));
  for (auto each = foreign; each != processes.end(); ++each)
    texts.push_back(others.text_of ? others.text_of(*each) : ranks_text({*each}));
  std::string text;
  for (size_t i = 0; i < texts.size(); ++i) text += (i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ") + texts[i];
  return text;
}

void describe(const life::Blocked& blocked, BlockedThread& thread) {
  const flight::Record* record = flight::mine();
  if (record) thread.host = record->host;
  if (!blocked.call) return;
  const flight::CallRecord call = flight::latest_call(*flight::mine(), *blocked.call);
  thread.call = flight::description(call) + comm_text(call.context);
  CodeAddress caller = code_address(call.caller);
  thread.module = std::move(caller.module);
  thread.offset = caller.offset;
}

Finding finding_of(const Deadlock& deadlock) {
  Finding finding;
  finding.error_class = MPI_ERR_OTHER;
  finding.exit_code = kDeadlockCode;
  finding.sentence = sentence_of(deadlock);

  std::vector<CodeAddress> addresses;
  const size_t listed = std::min(deadlock.members.size(), kMostMembers);
  for (size_t i = 0; i < listed; ++i)
    for (const BlockedThread& thread : deadlock.states.at(deadlock.members[i]).threads)
      addresses.push_back({thread.module, thread.offset});
  const std::vector<std::string> places = source_places(addresses);
  size_t at = 0;
  for (size_t i = 0; i < listed; ++i)
    for (const BlockedThread& thread : deadlock.states.at(deadlock.members[i]).threads) {
      const int member = deadlock.members[i];
      const bool named = member >= deadlock.others.job_size || thread.host.empty();  // its text has the node
      const std::string name = processes_text(deadlock.others, {member}) + (named ? "" : " on " + thread.host);
      const std::string& place = places[at++];
      if (deadlock.states.at(member).ended)
        finding.details.push_back(name + " has ended its sessions, is at its exit, and calls MPI no more");
      else
        finding.details.push_back(fmt::format("{}: {} at {}, {}", name,
                                              thread.call.empty() ? "a call of MPI" : thread.call, place,
                                              needs_text(deadlock.others, member, thread.needs)));
    }
  if (listed < deadlock.members.size())
    finding.details.push_back(fmt::format("(and {} more)", deadlock.members.size() - listed));
  if (deadlock.circle.closed && distinct(deadlock.circle.members).size() > 1)
    finding.details.push_back(circle_text(deadlock.others, deadlock.circle));
  if (std::string different = disagreement(deadlock); !different.empty())
    finding.details.push_back(std::move(different));
  return finding;
}

}  // namespace tutti::contract
