// SPDX-License-Identifier: BSD-3-Clause
// What all ranks know of each one's memory in a window. As a rule most sizes are alike: ranks with the same come in few
// runs, whose number is what this costs. Where there are many runs, it is a table of all ranks. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::mpi::one_sided {

struct Part {
  int64_t size = 0;  // bytes
  int64_t unit = 1;  // of displacements, in bytes
  friend bool operator==(const Part&, const Part&) = default;
};

class Parts {
 public:
  Parts() = default;
  // `part_of(rank)` for each rank from 0 on.
  template <class PartOf>
  Parts(int ranks, PartOf&& part_of) {
    for (int rank = 0; rank < ranks; ++rank) {
      const Part part = part_of(rank);
      if (!parts_.empty() && parts_.back() == part) continue;
      firsts_.push_back(rank);
      parts_.push_back(part);
    }
    if (firsts_.size() > static_cast<size_t>(ranks) / 2) {
      parts_.clear();
      for (int rank = 0; rank < ranks; ++rank) parts_.push_back(part_of(rank));
      firsts_.clear();
    }
    firsts_.shrink_to_fit();
    parts_.shrink_to_fit();
  }

  const Part& operator[](int rank) const {
    if (firsts_.size() == 1) return parts_.front();
    if (firsts_.empty()) return parts_[static_cast<size_t>(rank)];
    const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), rank);
    return parts_[static_cast<size_t>(behind - firsts_.begin() - 1)];
  }

  size_t kept() const { return parts_.size(); }

 private:
  std::vector<int> firsts_;  // of each run, ascending; empty: each rank has its own
  std::vector<Part> parts_;
};

}  // namespace tutti::mpi::one_sided
