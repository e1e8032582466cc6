// SPDX-License-Identifier: BSD-3-Clause
#include "contract/standstill.hpp"

#include <algorithm>
#include <utility>

#include "engine/engine.hpp"

namespace tutti::contract {
namespace {

// Between questions of one rank whose wait is legal so far: at most this long.
constexpr std::chrono::seconds kLongestPatience{60};

}  // namespace

Standstill::Standstill(engine::Engine& engine, const Options& options, Means means)
    : engine_(engine), options_(options), means_(std::move(means)), patience_(options.limit) {}

ProcessState Standstill::own_state() {
  ProcessState state;
  for (const life::Blocked* b = engine_.blocked(); b; b = b->next) {
    BlockedThread& thread = state.threads.emplace_back();
    b->add_needs(thread.needs);
    means_.describe(*b, thread);
  }
  state.blocked = !state.threads.empty() && means_.all_threads_blocked();
  state.ended = means_.has_ended && means_.has_ended();
  if (state.ended) {  // in no call, and in none ever again
    state.blocked = true;
    state.threads.assign(1, {});
    state.threads.front().needs.never();
    means_.describe(life::Blocked(), state.threads.front());
  }
  state.moving = engine_.moving();
  state.epoch = engine_.events();
  state.still_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since_).count();
  for (const life::UnderWay* u = engine_.under_way(); u; u = u->next) {
    Course& course = state.courses.emplace_back(Course{u->context, u->serial, {}});
    u->add_needs(course.needs);
  }
  engine_.each_peer(
      [&](int peer, uint32_t sent, uint32_t received) { state.traffic.push_back({peer, sent, received}); });
  if (state.blocked && means_.lying) state.lying = means_.lying();
  return state;
}

// A process of another job, and where others are mentioned each process, has numbers of its own: names go with them.
void Standstill::write_state(int to, Bytes& bytes) {
  const ProcessState state = own_state();
  const Others& others = means_.others;
  std::set<int> mentioned;
  state.each_process([&](int process) { mentioned.insert(process); });
  const bool named = to >= others.job_size || (!mentioned.empty() && *mentioned.rbegin() >= others.job_size);
  if (!named) mentioned.clear();
  state.write(bytes);
  put(bytes, static_cast<uint8_t>(named));
  put(bytes, static_cast<uint32_t>(mentioned.size()));
  for (const int process : mentioned) {
    put(bytes, process);
    put(bytes, others.name_of(process));
  }
}

bool Standstill::read_state(ProcessState& state, std::span<const std::byte> from) const {
  uint8_t named = 0;
  uint32_t count = 0;
  if (!state.read(from) || !get(from, named) || !get(from, count) || count > from.size()) return false;
  std::map<int, int> numbers;
  for (; count > 0; --count) {
    int theirs = 0;
    Name name;
    if (!get(from, theirs) || !get(from, name) || !means_.others.number_of) return false;
    numbers[theirs] = means_.others.number_of(name);
  }
  if (named) state.renumber(numbers);
  return from.empty();
}

// Starts anew when something has happened.
void Standstill::notice(Clock::time_point now) {
  if (engine_.events() == events_ && since_ != Clock::time_point{}) return;
  events_ = engine_.events();
  since_ = now;
  patience_ = options_.limit;
  next_ = now + patience_;
  phase_ = Phase::idle;
  reported_.clear();
}

void Standstill::look(Clock::time_point now) {
  notice(now);
  switch (phase_) {
    case Phase::idle:
      if (now >= next_) begin(Phase::first, now);
      break;
    case Phase::rest:
      if (now >= next_) begin(Phase::second, now);
      break;
    case Phase::first:
    case Phase::second:
      break;
  }
  if (phase_ != Phase::first && phase_ != Phase::second) return;
  if (awaited_.empty()) return phase_ == Phase::first ? judge_first(now) : judge_second(now);
  if (now < next_) return;
  // Who does not answer may be busy, and is alive.
  if (phase_ == Phase::first) return give_up(now);
  std::erase_if(awaited_, [this](int process) TUTTI_ENGINE_OWNED { return !first_states_.contains(process); });
  awaited_.empty() ? judge_second(now) : give_up(now);
}

void Standstill::begin(Phase phase, Clock::time_point now) {
  phase_ = phase;
  ++round_;
  next_ = now + answer_time();
  awaited_.clear();
  states_.clear();
  states_[engine_.process()] = own_state();
  if (phase == Phase::first) return ask_for_the_unknown();
  for (const auto& [process, state] : first_states_)
    if (process != engine_.process()) ask(process);
  for (const int process : witnesses_)
    if (!first_states_.contains(process)) ask(process);
}

void Standstill::ask(int process) {
  if (!awaited_.insert(process).second) return;
  ++questions_;
  Bytes bytes;
  put(bytes, What::question);
  put(bytes, round_);
  means_.tell(process, bytes);
}

void Standstill::ask_for_the_unknown() {
  for (const int process : unknown_to(states_, engine_.process())) {
    if (awaited_.size() >= options_.most_asked) return;
    ask(process);
  }
}

void Standstill::message(int from, std::span<const std::byte> message) {
  What what;
  uint32_t round;
  if (!get(message, what) || !get(message, round)) return;
  switch (what) {
    case What::question: {
      notice(Clock::now());
      Bytes bytes;
      put(bytes, What::answer);
      put(bytes, round);
      write_state(from, bytes);
      return means_.tell(from, bytes);
    }
    case What::answer: {
      const bool waited_for = phase_ == Phase::first || phase_ == Phase::second;
      if (!waited_for || round != round_ || awaited_.erase(from) == 0) return;
      ProcessState state;
      if (!read_state(state, message)) return;
      states_[from] = std::move(state);
      // What is alive by those that are known needs no more answers.
      if (phase_ == Phase::first) ask_for_the_unknown();
      next_ = Clock::now() + answer_time();  // of those that are asked one after the other each has its time
      return;
    }
    case What::your_turn:
      witnesses_.insert(from);
      if (phase_ == Phase::idle) next_ = Clock::now();
      return;
  }
}

// Of a circle that several find, one speaks. A process that has ended does not: the first of those that wait for it
// does, and where these know different ones, process 0 lets one of them speak.
int Standstill::speaker_of(const States& states) const {
  const Circle circle = circle_from(states, engine_.process());
  if (!circle.closed && states.at(circle.members.front()).ended) {
    for (const int dead : dead_processes(states))
      if (!states.at(dead).ended) return dead;
    return engine_.process();
  }
  return *std::ranges::min_element(circle.members);
}

void Standstill::judge_first(Clock::time_point now) {
  const std::vector<int> dead = dead_processes(states_);
  if (!std::ranges::binary_search(dead, engine_.process())) return give_up(now);
  if (const int speaker = speaker_of(states_); speaker != engine_.process()) {
    Bytes bytes;
    put(bytes, What::your_turn);
    put(bytes, round_);
    means_.tell(speaker, bytes);
    return give_up(now);
  }
  first_states_ = std::move(states_);
  phase_ = Phase::rest;
  next_ = now + options_.second_look;
}

void Standstill::judge_second(Clock::time_point now) {
  const std::vector<int> before = dead_processes(first_states_);
  std::vector<int> dead = dead_processes(states_);
  const auto unchanged = [this](int process) TUTTI_ENGINE_OWNED {
    const auto is = states_.find(process);
    return is != states_.end() && is->second.epoch == first_states_.at(process).epoch;
  };
  bool proven = std::ranges::includes(dead, before) && std::ranges::all_of(before, unchanged);
  // The living count only by the collectives that they have under way.
  for (const auto& [process, state] : first_states_)
    if (!state.courses.empty() && !unchanged(process)) proven = false;
  const bool again = before == reported_;
  if (proven && !again) {
    reported_ = before;
    Circle circle = circle_from(states_, engine_.process());
    means_.found({states_, std::move(dead), std::move(circle), means_.others});
  }
  give_up(now);
}

void Standstill::give_up(Clock::time_point now) {
  phase_ = Phase::idle;
  awaited_.clear();
  patience_ = std::min<Clock::duration>(patience_ * 2, kLongestPatience);
  next_ = now + patience_;
}

}  // namespace tutti::contract
