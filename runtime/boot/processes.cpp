// SPDX-License-Identifier: BSD-3-Clause
#include "boot/processes.hpp"

#include <fmt/format.h>

#include "base/random.hpp"
#include "base/secret.hpp"

namespace tutti::boot {

int Processes::number_of(const GlobalName& name, const std::string& host) {
  if (const int known = find(name); known >= 0) return known;
  const int number = count();
  foreign_.push_back({name, host});
  known_.emplace(name, number);
  return number;
}

int Processes::find(const GlobalName& name) const {
  if (name.job == job_) return name.rank >= 0 && name.rank < size_ ? name.rank : -1;
  const auto at = known_.find(name);
  return at == known_.end() ? -1 : at->second;
}

GlobalName Processes::name_of(int process) const {
  if (!is_foreign(process)) return {job_, process};
  return foreign_[static_cast<size_t>(process - size_)].name;
}

std::string Processes::text(int process) const {
  if (!is_foreign(process)) return fmt::format("rank {}", process);
  const Foreign& foreign = foreign_[static_cast<size_t>(process - size_)];
  return fmt::format("rank {} of another job{}{}", foreign.name.rank, foreign.host.empty() ? "" : " on ", foreign.host);
}

uint64_t Processes::id_of(const std::string& job, int size) {
  // A job of one may be called as one of another node is, and nobody else has to know the word.
  if (size == 1) return random_word();
  return siphash(std::string(16, '\0'), job);
}

}  // namespace tutti::boot
