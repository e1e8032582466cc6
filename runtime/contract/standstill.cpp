// SPDX-License-Identifier: BSD-3-Clause
#include "contract/standstill.hpp"

#include <algorithm>
#include <utility>

namespace tutti::contract {
namespace {

// Between wishes of one rank whose wait is legal so far: at most this long.
constexpr std::chrono::seconds kLongestPatience{60};
// Whose call and place in the program are asked for: more than a report lists.
constexpr size_t kMostDescribed = 1024;
// Processes that a message may name.
constexpr uint32_t kMostNamed = 1 << 28;

}  // namespace

Standstill::Standstill(const Options& options, Means means)
    : options_(options),
      means_(std::move(means)),
      census_(options.limit, means_of_census()),
      patience_(options.limit) {}

Census::Means Standstill::means_of_census() {
  return {.process = means_.process,
          .ranks = means_.ranks,
          .tell =
              [this](int process, const Bytes& message) TUTTI_ENGINE_OWNED {
                Bytes bytes;
                bytes.reserve(1 + message.size());
                put(bytes, What::census);
                bytes.insert(bytes.end(), message.begin(), message.end());
                means_.tell(process, bytes, true);
              },
          .sketch = [this](Bytes& to)
                        TUTTI_ENGINE_OWNED { write_sketch(means_.process, means_.state(false), means_.ranks, to); },
          .is_gone = means_.is_gone,
          .called = [this](const std::vector<int>& circle, const std::vector<int>& dead)
                        TUTTI_ENGINE_OWNED { be_called(circle, dead); }};
}

// ---- on the wire

// A process of another job, and where others are mentioned each process, has numbers of its own: names go with them.
void Standstill::write_names(const std::set<int>& processes, Bytes& bytes) const {
  put(bytes, static_cast<uint32_t>(processes.size()));
  for (const int process : processes) {
    put(bytes, process);
    put(bytes, means_.others.name_of(process));
  }
}

bool Standstill::read_names(std::span<const std::byte>& from, std::map<int, int>& numbers) const {
  uint32_t count = 0;
  if (!get(from, count) || count > from.size()) return false;
  for (; count > 0; --count) {
    int theirs = 0;
    Name name;
    if (!get(from, theirs) || !get(from, name) || !means_.others.number_of) return false;
    numbers[theirs] = means_.others.number_of(name);
  }
  return true;
}

void Standstill::write_state(int to, bool is_described, std::span<const int> among, Bytes& bytes) {
  ProcessState state = means_.state(is_described);
  if (!among.empty()) means_.count_messages(among, state);
  const int own = means_.others.job_size;
  bool named = to >= own;
  state.each_process([&](int process) { named |= process >= own; });
  std::set<int> mentioned;
  if (named) {
    state.spell_out();
    state.each_process([&](int process) { mentioned.insert(process); });
  }
  state.write(bytes);
  put(bytes, static_cast<uint8_t>(named));
  if (named) write_names(mentioned, bytes);
}

bool Standstill::read_state(ProcessState& state, std::span<const std::byte> from) const {
  uint8_t named = 0;
  if (!state.read(from) || !get(from, named)) return false;
  std::map<int, int> numbers;
  if (named) {
    if (!read_names(from, numbers)) return false;
    state.renumber(numbers);
  }
  return from.empty();
}

// Ascending; as runs of them, which mostly are few.
void Standstill::write_processes(int to, std::span<const int> processes, Bytes& bytes) const {
  const int own = means_.others.job_size;
  const bool named = to >= own || (!processes.empty() && processes.back() >= own);
  std::vector<std::pair<int, int>> runs;
  for (const int process : processes) {
    if (runs.empty() || named || runs.back().first + runs.back().second != process) runs.emplace_back(process, 0);
    ++runs.back().second;
  }
  put(bytes, static_cast<uint8_t>(named));
  put(bytes, static_cast<uint32_t>(runs.size()));
  for (const auto& [first, count] : runs) {
    put(bytes, first);
    put(bytes, count);
  }
  if (named) write_names({processes.begin(), processes.end()}, bytes);
}

bool Standstill::read_processes(std::span<const std::byte>& from, std::vector<int>& processes) const {
  uint8_t named = 0;
  uint32_t runs = 0;
  if (!get(from, named) || !get(from, runs) || runs > from.size()) return false;
  for (; runs > 0; --runs) {
    int first = 0, count = 0;
    if (!get(from, first) || !get(from, count) || count < 0 || static_cast<uint32_t>(count) > kMostNamed) return false;
    for (int i = 0; i < count; ++i) processes.push_back(first + i);
  }
  if (!named) return true;
  std::map<int, int> numbers;
  if (!read_names(from, numbers)) return false;
  for (int& process : processes) {
    const auto at = numbers.find(process);
    process = at == numbers.end() ? -1 : at->second;
  }
  std::erase(processes, -1);
  std::ranges::sort(processes);
  return true;
}

// ---- standing still

// Starts anew when something has happened.
void Standstill::notice(Clock::time_point now) {
  if (means_.events() == events_ && has_looked_) return;
  events_ = means_.events();
  has_looked_ = true;
  patience_ = options_.limit;
  next_wish_ = now + patience_;
  phase_ = Phase::idle;
  is_called_ = false;
  witnesses_.clear();
  reported_.clear();
}

void Standstill::look(Clock::time_point now) {
  notice(now);
  census_.look(now);
  if (phase_ == Phase::idle && is_called_) begin(Phase::first, now);
  if (phase_ == Phase::rest && now >= next_) begin(Phase::second, now);
  if (phase_ == Phase::idle && now >= next_wish_) {
    patience_ = std::min<Clock::duration>(patience_ * 2, kLongestPatience);
    next_wish_ = now + patience_;
    census_.wish(now);
  }
  if (phase_ != Phase::first && phase_ != Phase::second) return;
  if (awaited_.empty()) return phase_ == Phase::first ? judge_first(now) : judge_second();
  if (now < next_) return;
  // Who does not answer may be busy, and is alive.
  if (phase_ == Phase::first) return give_up();
  std::erase_if(awaited_, [this](int process) TUTTI_ENGINE_OWNED { return !first_states_.contains(process); });
  awaited_.empty() && to_ask_.empty() ? judge_second() : give_up();
}

// ---- questions

void Standstill::begin(Phase phase, Clock::time_point now) {
  phase_ = phase;
  is_called_ = false;
  ++round_;
  next_ = now + answer_time();
  awaited_.clear();
  if (phase == Phase::second) to_ask_.clear();
  among_.clear();
  among_for_own_.clear();
  states_.clear();
  if (phase == Phase::first) {
    states_[means_.process] = means_.state(false);
    judged_ = 1;
    search_.begin(states_, means_.process);
    write_processes(means_.process, among_, among_for_own_);
    return ask_more();
  }
  among_ = dead_processes(first_states_);
  for (const auto& [process, state] : first_states_)
    if (!state.courses.empty()) among_.push_back(process);
  std::ranges::sort(among_);
  among_.erase(std::unique(among_.begin(), among_.end()), among_.end());
  for (const auto& [process, state] : first_states_)
    if (process != means_.process) to_ask_.push_back(process);
  for (const int process : witnesses_)
    if (!first_states_.contains(process)) to_ask_.push_back(process);
  ProcessState& own = states_[means_.process] = means_.state(true);
  means_.count_messages(among_, own);
  write_processes(means_.process, among_, among_for_own_);
  ask_more();
}

void Standstill::ask_more() {
  while (awaited_.size() < options_.most_asked) {
    int process = phase_ == Phase::first ? search_.next() : -1;
    while (process < 0 && !to_ask_.empty()) {
      if (!states_.contains(to_ask_.front())) process = to_ask_.front();
      to_ask_.pop_front();
    }
    if (process < 0) return;
    ask(process);
  }
}

void Standstill::ask(int process) {
  if (!awaited_.insert(process).second) return;
  ++questions_;
  Bytes bytes;
  put(bytes, What::question);
  put(bytes, round_);
  put(bytes, static_cast<uint8_t>(phase_ == Phase::second && states_.size() <= kMostDescribed));
  if (process < means_.others.job_size)
    bytes.insert(bytes.end(), among_for_own_.begin(), among_for_own_.end());
  else
    write_processes(process, among_, bytes);
  means_.tell(process, bytes, false);
}

void Standstill::message(int from, std::span<const std::byte> message, Clock::time_point now) {
  What what;
  uint32_t round;
  if (!get(message, what)) return;
  if (what == What::census) {
    if (from < means_.ranks) census_.message(from, message, now);
    return;
  }
  if (!get(message, round)) return;
  if (what == What::question) return answer(from, round, message);
  if (what == What::answer) return take_answer(from, round, message, now);
  be_called({}, {from});
}

void Standstill::answer(int to, uint32_t round, std::span<const std::byte> question) {
  uint8_t is_described = 0;
  std::vector<int> among;
  if (!get(question, is_described) || !read_processes(question, among)) return;
  Bytes bytes;
  put(bytes, What::answer);
  put(bytes, round);
  write_state(to, is_described, among, bytes);
  means_.tell(to, bytes, false);
}

void Standstill::take_answer(int from, uint32_t round, std::span<const std::byte> bytes, Clock::time_point now) {
  const bool waited_for = phase_ == Phase::first || phase_ == Phase::second;
  if (!waited_for || round != round_ || awaited_.erase(from) == 0) return;
  ProcessState state;
  if (!read_state(state, bytes)) return;
  states_[from] = std::move(state);
  next_ = now + answer_time();  // of those that are asked one after the other each has its time
  if (phase_ == Phase::first) {
    search_.add(from);
    if (is_alive_by_the_known()) return give_up();
  }
  ask_more();
}

// What is alive by those that are known needs no more answers. Looked at when there are twice as many as the last time.
bool Standstill::is_alive_by_the_known() {
  if (states_.size() < 2 * judged_) return false;
  judged_ = states_.size();
  return graph_of(states_, false).alive({means_.process});
}

// ---- who speaks

// By the census, which tells who hangs on, or by one of those, which has asked before.
void Standstill::be_called(const std::vector<int>& circle, const std::vector<int>& witnesses) {
  witnesses_.insert(witnesses.begin(), witnesses.end());
  witnesses_.erase(means_.process);
  is_called_ = true;
  if (phase_ == Phase::idle) to_ask_.assign(circle.begin(), circle.end());
}

// Of a circle that several find, one speaks. A process that has ended does not: the first of those that wait for it
// does, and where these know different ones, process 0 lets one of them speak.
int Standstill::speaker_of(const States& states) const {
  const Circle circle = circle_from(states, means_.process);
  if (!circle.closed && states.at(circle.members.front()).ended) {
    for (const int dead : dead_processes(states))
      if (!states.at(dead).ended) return dead;
    return means_.process;
  }
  return *std::ranges::min_element(circle.members);
}

void Standstill::judge_first(Clock::time_point now) {
  const std::vector<int> dead = dead_processes(states_);
  if (!std::ranges::binary_search(dead, means_.process)) return give_up();
  if (const int speaker = speaker_of(states_); speaker != means_.process) {
    Bytes bytes;
    put(bytes, What::your_turn);
    put(bytes, round_);
    means_.tell(speaker, bytes, false);
    return give_up();
  }
  first_states_ = std::move(states_);
  phase_ = Phase::rest;
  next_ = now + options_.second_look;
}

void Standstill::judge_second() {
  const std::vector<int> before = dead_processes(first_states_);
  std::vector<int> dead = dead_processes(states_);
  // Those that wait in vain, and those whose collectives under way they need: the living count only by these.
  const auto unchanged = [this](int process) TUTTI_ENGINE_OWNED {
    const auto is = states_.find(process);
    return is != states_.end() && is->second.epoch == first_states_.at(process).epoch;
  };
  const bool proven = std::ranges::includes(dead, before) && std::ranges::all_of(among_, unchanged) &&
                      !are_messages_under_way(states_, among_);
  if (proven && before != reported_) {
    reported_ = before;
    const WaitGraph graph = graph_of(states_, true);
    Circle circle = graph.circle_from(means_.process);
    const int first = std::ranges::min(circle.members);
    std::erase_if(dead, [&](int process) TUTTI_ENGINE_OWNED {  // that wait for others of the census' dead
      return !first_states_.contains(process) && std::ranges::min(graph.circle_from(process).members) != first;
    });
    means_.found({states_, std::move(dead), std::move(circle), means_.others});
  }
  give_up();
}

void Standstill::give_up() {
  phase_ = Phase::idle;
  awaited_.clear();
  to_ask_.clear();
}

}  // namespace tutti::contract
