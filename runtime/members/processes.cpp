// SPDX-License-Identifier: BSD-3-Clause
#include "members/processes.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>

#include "base/random.hpp"
#include "base/secret.hpp"

namespace tutti::members {

int Processes::number_of(const GlobalName& name, const std::string& host) {
  if (name.job == job_) return find(name);
  const Lock lock(mutex_);
  if (const int known = find_foreign(name); known >= 0) return known;
  const int number = count_all();
  foreign_.push_back({.name = name, .host = host, .address = {}});
  known_.emplace(name, number);
  return number;
}

int Processes::find(const GlobalName& name) const {
  if (name.job == job_) return name.rank >= 0 && name.rank < size_ ? name.rank : -1;
  const Lock lock(mutex_);
  return find_foreign(name);
}

int Processes::find_foreign(const GlobalName& name) const {
  const auto at = known_.find(name);
  return at == known_.end() ? -1 : at->second;
}

GlobalName Processes::name_of(int process) const {
  if (!is_foreign(process)) return {job_, process};
  const Lock lock(mutex_);
  return foreign(process).name;
}

std::string Processes::text(int process) const {
  if (!is_foreign(process)) return fmt::format("rank {}", process);
  const Lock lock(mutex_);
  const Foreign& one = foreign(process);
  return fmt::format("rank {} of another job{}{}", one.name.rank, one.host.empty() ? "" : " on ", one.host);
}

int Processes::count() const {
  const Lock lock(mutex_);
  return count_all();
}

uint64_t Processes::id_of(const std::string& job, int size) {
  // A job of one may be called as one of another node is, and nobody else has to know the word.
  if (size == 1) return random_word();
  return siphash(std::string(16, '\0'), job);
}

// Not under the lock: PMIx's thread, which may have to answer, also reports what has happened.
const std::vector<int>& Processes::nodes() {
  std::call_once(nodes_asked_, [this] {
    if (ask_nodes_) nodes_ = ask_nodes_();
  });
  return nodes_;
}

void Processes::meet(int process, std::string address, int known_as) {
  const Lock lock(mutex_);
  Foreign& met = foreign_[static_cast<size_t>(process - size_)];
  if (met.known_as >= 0) return;
  met.address = std::move(address);
  met.known_as = known_as;
}

Result<std::string> Processes::address_of(int process) const {
  {
    const Lock lock(mutex_);
    if (foreign(process).known_as >= 0) return foreign(process).address;
  }
  return failure(MPI_ERR_OTHER, "{} has told no address", text(process));
}

int Processes::known_as(int process) const {
  const Lock lock(mutex_);
  return foreign(process).known_as;
}

void Processes::set_bell(std::function<void()> bell) {
  const Lock lock(mutex_);
  bell_ = std::move(bell);
}

bool Processes::report(int process, State state, std::string why) {
  const Lock lock(mutex_);
  if (process < 0 || process >= count_all()) return false;
  const auto at = states_.find(process);
  const State before = at == states_.end() ? State::alive : at->second;
  if (before == state || before == State::failed || before == State::left) return false;
  if (state == State::alive)
    states_.erase(at);
  else
    states_[process] = state;
  changes_.push_back({process, state, std::move(why)});
  // Released, and acquired by changes(): whoever sees the number finds what was done before this was reported.
  changed_.store(changes_.size(), std::memory_order_release);
  if (bell_) bell_();
  return true;
}

State Processes::state_of(int process) const {
  if (changes() == 0) return State::alive;
  const Lock lock(mutex_);
  const auto at = states_.find(process);
  return at == states_.end() ? State::alive : at->second;
}

int Processes::count(State state) const {
  const Lock lock(mutex_);
  const auto others = static_cast<int>(states_.size());
  if (state == State::alive) return count_all() - others;
  return static_cast<int>(std::ranges::count_if(states_, [state](const auto& one) { return one.second == state; }));
}

std::vector<Change> Processes::changes_since(size_t read) const {
  const Lock lock(mutex_);
  return {changes_.begin() + static_cast<std::ptrdiff_t>(std::min(read, changes_.size())), changes_.end()};
}

}  // namespace tutti::members
