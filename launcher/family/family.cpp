// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/family/family.hpp"

#include <mpi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"

namespace tutti::launcher {
namespace {

// What a launcher that has been told to end takes beyond the grace of its ranks.
constexpr std::chrono::seconds kLastGrace{10};
constexpr std::chrono::seconds kVanish{60};  // no kernel stands between the two ends of such a link
// The kernel takes no argument of 128 KiB.
constexpr size_t kLongestHosts = 100 << 10;

// Whether the arguments of an mpirun say where its processes are to be: its options, not those of the programs, which
// stand between "--" and the ':' before the next program.
bool says_where(const std::vector<std::string>& arguments) {
  bool of_program = false;
  for (const std::string& word : arguments) {
    if (of_program ? word == ":" : word == "--") of_program = !of_program;
    if (!of_program && (word == "--host" || word == "--hostfile")) return true;
  }
  return false;
}

int exit_code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace

Family::Family(Loop& loop, Reaper& reaper, std::function<void(const std::string&)> tell_first)
    : loop_(loop), reaper_(reaper), tell_first_(std::move(tell_first)), names_(loop) {
  members_[kFirst].launched = true;
}

Family::~Family() {
  for (const auto& [number, member] : members_)
    if (member.process.words >= 0) ::close(member.process.words);
}

void Family::hear_first(const std::string& word) {
  hear(kFirst, word);
}

int Family::member_named(const std::string& name) const {
  const auto found = std::ranges::find_if(members_, [&](const auto& each) { return each.second.name == name; });
  return name.empty() || found == members_.end() ? -1 : found->first;
}

void Family::tell(int to, const std::string& word) {
  const auto member = members_.find(to);
  if (member == members_.end()) return;
  if (to == kFirst)
    tell_first_(word);
  else if (member->second.link)
    member->second.link->send_packed(Message::kin, word);
}

void Family::reply(const Asker& to, const Reply& reply) {
  tell(to.member, wire::pack(KinWord::reply, to.number, reply));
}

bool Family::hear(int from, std::string_view word) {
  KinWord what{};
  uint64_t number = 0;
  int code = 0;
  std::string key, data;
  wire::Unpacker unpack(word);
  unpack(what);
  switch (what) {
    case KinWord::introduce: {
      NodeTask task;
      return unpack.ends_with(task) && is_consistent(task) && (introduce(from, std::move(task)), true);
    }
    case KinWord::launched:
      return unpack.ends_with() && (launched(from), true);
    case KinWord::failed:
      return unpack.ends_with(code) && (failed(from, code), true);
    case KinWord::ask: {
      Ask question;
      return unpack.ends_with(number, question) && (ask(from, number, question), true);
    }
    case KinWord::meet:
      return unpack.ends_with(key, data) && (meet(from, key, data), true);
    case KinWord::answer: {
      if (!unpack.ends_with(number, code, data)) return false;
      const auto want = wants_.find(number);
      if (want == wants_.end() || want->second.first != from) return true;
      const Asker asker = want->second.second;
      wants_.erase(want);
      reply(asker, code == 0 ? Reply{.values = {data}} : Reply{.outcome = Outcome::not_found});
      return true;
    }
    default:
      return false;
  }
}

// Whoever is there hears of it before its ranks can say a word, and it of them.
void Family::introduce(int from, NodeTask task) {
  Member& fresh = members_.at(from);
  fresh.name = namespace_of(task);
  fresh.task = std::move(task);
  for (const auto& [number, other] : members_) {
    if (number == from || other.name.empty()) continue;
    tell(number, wire::pack(KinWord::learn, fresh.task));
    tell(from, wire::pack(KinWord::learn, other.task));
  }
  tell(from, wire::pack(KinWord::welcome));
}

void Family::launched(int from) {
  Member& child = members_.at(from);
  if (std::exchange(child.launched, true)) return;
  ::close(std::exchange(child.process.words, -1));
  if (members_.contains(child.spawner)) {
    const TieOf tie = std::minmax(child.spawner, from);
    ties_[tie] = 1;
    only_spawned_.insert(tie);
  }
  reply({child.spawner, child.number}, {.words = {child.name}});
}

void Family::failed(int from, int exit_code) {
  Member& member = members_.at(from);
  if (std::exchange(member.failed, true) || !member.launched) return;  // else whoever waits for its start is told
  if (from == kFirst) return end_others(exit_code);
  // What it has spawned and does not run yet is nobody's.
  for (const auto& [number, child] : members_)
    if (child.spawner == from && !child.launched) tell(number, wire::pack(KinWord::end, exit_code));
  for (const auto& [tie, times] : ties_) {
    if (tie.first != from && tie.second != from) continue;
    const int other = tie.first == from ? tie.second : tie.first;
    if (!members_.at(other).over) tell(other, wire::pack(KinWord::end, exit_code));
  }
}

void Family::first_is_over() {
  members_.at(kFirst).over = true;
  leave_waiting(kFirst);
}

// Nothing that others wait for will come from there any more.
void Family::leave_waiting(int member) {
  const std::string name = std::exchange(members_.at(member).name, "");
  names_.forget(name);
  std::vector<std::string> broken;
  for (const auto& [key, come] : meetings_)
    if (std::ranges::count(namespaces_of(key), name) > 0) broken.push_back(key);
  for (const std::string& key : broken) met(key, -1);
  for (auto want = wants_.begin(); want != wants_.end();) {
    const auto [whose, asker] = want->second;
    if (whose == member) reply(asker, {.outcome = Outcome::not_found});
    want = whose == member ? wants_.erase(want) : std::next(want);
  }
}

// The first launcher's job ends before its time, and all that came of it with it.
void Family::end_others(int exit_code) {
  ending_ = true;
  for (const auto& [number, member] : members_)
    if (number != kFirst) tell(number, wire::pack(KinWord::end, exit_code));
  patience_ = loop_.after(members_.at(kFirst).task.kill_grace + kLastGrace, [this] {
    for (const auto& [number, member] : members_)
      if (number != kFirst && !member.wait_status) ::kill(member.process.pid, SIGKILL);
  });
}

void Family::ask(int from, uint64_t number, const Ask& ask) {
  const auto answer = [this, asker = Asker{from, number}](const Reply& answer) { reply(asker, answer); };
  switch (ask.what) {
    case Ask::What::spawn:
      return spawn(from, number, ask);
    case Ask::What::publish:
      return names_.publish(ask, answer);
    case Ask::What::lookup:
      return names_.look_up(ask, answer);
    case Ask::What::unpublish:
      return names_.unpublish(ask, answer);
    case Ask::What::modex: {
      const int whose = ask.words.empty() ? -1 : member_named(ask.words[0]);
      if (whose < 0) return answer({.outcome = Outcome::not_found});
      wants_[next_want_] = {whose, {from, number}};
      return tell(whose, wire::pack(KinWord::want, next_want_++, ask.rank));
    }
  }
  answer({.outcome = Outcome::refused});
}

// Where the new processes may be, unless they say so themselves. In an allocation of Slurm's its own words do.
Error Family::add_options(const Ask& ask, std::vector<std::string>& arguments) const {
  const NodeTask& first = members_.at(kFirst).task;
  if (says_where(ask.words) || first.allocation.empty() || std::getenv("SLURM_JOB_ID")) return {};
  std::string hosts;
  for (size_t n = 0; n < first.allocation.size(); ++n)
    hosts += fmt::format("{}{}:{}", n == 0 ? "" : ",", first.allocation[n], first.allocation_slots[n]);
  if (hosts.size() > kLongestHosts)
    return failure(MPI_ERR_SPAWN, "the job has {} nodes, whose names are too long a list; name some by the key 'host'",
                   first.allocation.size());
  arguments.insert(arguments.end(), {"--host", hosts});
  return {};
}

void Family::spawn(int from, uint64_t number, const Ask& ask) {
  Member child{.spawner = from, .number = number, .who = ask.who};
  std::vector<std::string> arguments;
  const bool ends = ending_ || members_.at(from).failed;
  Error problem = ends ? failure(MPI_ERR_SPAWN, "the job ends") : add_options(ask, arguments);
  arguments.insert(arguments.end(), ask.words.begin(), ask.words.end());
  if (!problem) {
    Result<KinLauncher> started = start_kin_launcher(arguments, ask.environment, ask.who);
    if (started)
      child.process = *started;
    else
      problem = std::move(started).error();
  }
  if (problem) return tell_not_started(child, problem.message());
  const int index = next_member_++;
  child.link = std::make_unique<Link>(loop_, child.process.kin, kVanish);
  child.link->expect_up_to(kLongestMessage);
  members_[index] = std::move(child);
  watch(index);
}

// "rank 0 of ./prog" has spawned it; empty: that is gone.
std::string Family::spawner_of(const Member& child) const {
  const auto asking = members_.find(child.spawner);
  if (asking == members_.end()) return "";
  const size_t colon = child.who.rfind(':');
  const std::string rank = colon < child.who.size() ? child.who.substr(colon + 1) : "?";
  const std::vector<App>& apps = asking->second.task.map.apps;
  return fmt::format("rank {}{}", rank, apps.empty() ? "" : " of " + apps[0].command[0]);
}

void Family::tell_not_started(const Member& child, const std::string& why) {
  const auto asking = members_.find(child.spawner);
  if (!ending_ && asking != members_.end() && !asking->second.failed)
    say(Level::warning, "{} wants more processes started by PMIx, and they could not be started: {}", spawner_of(child),
        why);
  reply({child.spawner, child.number}, {.outcome = Outcome::not_started});
}

// A launcher says itself why its job ends. One that is killed cannot.
void Family::tell_killed(const Member& child) const {
  const int status = *child.wait_status;
  if (ending_ || child.failed || !child.launched || !WIFSIGNALED(status)) return;
  const std::string spawner = spawner_of(child);
  say(Level::error,
      "the launcher of the processes that {} has spawned by PMIx (process {}) was killed by signal {} ({})",
      spawner.empty() ? "a rank" : spawner, child.process.pid, WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

void Family::watch(int child) {
  Member& member = members_.at(child);
  member.link->attach({[this, child](Message type, std::string_view word) {
                         return type == Message::kin && hear(child, word)
                                    ? Error()
                                    : failure(MPI_ERR_OTHER, "it said what makes no sense");
                       },
                       [this, child](LinkEnd, const std::string&) {
                         members_.at(child).closed = true;
                         loop_.post([this, child] { gone(child); });
                       }});
  reaper_.expect(member.process.pid, [this, child](int status, int64_t) {
    members_.at(child).wait_status = status;
    loop_.post([this, child] { gone(child); });
  });
}

// When the process has ended and all that it has said is heard.
void Family::gone(int child) {
  const auto at = members_.find(child);
  if (at == members_.end() || !at->second.closed || !at->second.wait_status) return;
  const int exit_code = exit_code_of(*at->second.wait_status);
  tell_killed(at->second);
  if (exit_code != 0) failed(child, exit_code);
  if (!at->second.launched) {
    const std::string words = words_from(at->second.process.words);
    tell_not_started(at->second, words.empty() ? fmt::format("their launcher ended (exit code {})", exit_code) : words);
    ::close(std::exchange(at->second.process.words, -1));
  }
  leave_waiting(child);
  members_.erase(at);
  const auto has_it = [child](const TieOf& tie) { return tie.first == child || tie.second == child; };
  std::erase_if(ties_, [&](const auto& each) { return has_it(each.first); });
  std::erase_if(only_spawned_, has_it);
  if (is_alone() && alone_) alone_();
}

void Family::meet(int from, const std::string& key, const std::string& data) {
  meetings_[key][from] = data;
  const std::vector<std::string> names = namespaces_of(key);
  const auto is_there = [this](const std::string& name) { return member_named(name) >= 0; };
  if (!std::ranges::all_of(names, is_there)) return met(key, -1);
  const auto has_come = [&](const std::string& name) { return meetings_[key].contains(member_named(name)); };
  if (std::ranges::all_of(names, has_come)) met(key, 0);
}

void Family::met(const std::string& key, int status) {
  const auto come = meetings_.extract(key);
  if (status == 0) change_ties(key);
  std::string all;
  for (const auto& [member, data] : come.mapped()) all += data;
  for (const auto& [member, data] : come.mapped()) tell(member, wire::pack(KinWord::met, key, status, all));
}

// Open MPI's MPI_Comm_disconnect is a mere fence of both sides' processes, as many times as they have connected.
void Family::change_ties(const std::string& key) {
  std::vector<int> members;
  for (const std::string& name : namespaces_of(key)) members.push_back(member_named(name));
  std::ranges::sort(members);
  const bool connects = key.find(kConnects) != key.npos;
  const bool parts = key.find(kDisconnects) != key.npos;
  for (size_t i = 0; i < members.size(); ++i)
    for (size_t j = i + 1; j < members.size(); ++j) {
      const TieOf tie{members[i], members[j]};
      if (connects) {
        if (only_spawned_.erase(tie) == 0) ++ties_[tie];
      } else if (parts || !only_spawned_.contains(tie)) {
        only_spawned_.erase(tie);
        if (const auto at = ties_.find(tie); at != ties_.end() && --at->second <= 0) ties_.erase(at);
      }
    }
}

}  // namespace tutti::launcher
