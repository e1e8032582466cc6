// SPDX-License-Identifier: BSD-3-Clause
// Who moves which bytes of a file in a collective access of two phases: the range that the ranks access is divided into
// domains, one for each aggregator, and each domain into windows, one for each round. All is counted from what everybody
// knows of everybody, so that all ranks count alike.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/file/together.hpp"

namespace tutti::mpi::file {

// How many aggregators an access has: as the hints wish, or by ranks, nodes and stripes.
int aggregators_of(const File& file, const std::vector<Contribution>& shares);

class Domains {
 public:
  struct Piece {
    int64_t offset, bytes;
  };
  // What of one rank's access lies in a window: its packed bytes [begin, end).
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t bytes() const { return end - begin; }
  };

  Domains(const PlacedAccess& job, const std::vector<Contribution>& shares, const std::vector<io::View>& views);

  int64_t rounds() const { return rounds_; }
  const std::vector<int>& aggregators() const { return aggregators_; }  // their ranks
  int mine() const { return mine_; }                                    // which of them this rank is; -1: none
  int64_t length_of(int rank) const { return lengths_[static_cast<size_t>(rank)]; }  // bytes that it accesses
  Piece window_of(int aggregator, int64_t round) const;
  Range range_of(int rank, const Piece& window) const;

 private:
  void clip(bool writes);
  void divide(const PlacedAccess& job);
  void choose_aggregators(const PlacedAccess& job, int count);

  const std::vector<Contribution>& shares_;
  const std::vector<io::View>& views_;
  std::vector<int64_t> lengths_;
  std::vector<int> aggregators_;
  int mine_ = -1;
  int64_t low_ = 0, high_ = 0;                // of the file, what is accessed
  int64_t part_ = 0, size_ = 0, rounds_ = 0;  // bytes of a domain, of a window; windows of a domain
};

}  // namespace tutti::mpi::file
