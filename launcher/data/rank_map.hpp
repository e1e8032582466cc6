// SPDX-License-Identifier: BSD-3-Clause
// Where each rank of a job runs, as ranges of ranks that are placed alike: a million ranks that are mapped
// by slot or by node take a few hundred bytes. Every lookup asks the ranges; nothing is kept for each rank.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

#include "launcher/place/placement.hpp"

namespace tutti::launcher {

inline constexpr int kMostRanks = 1 << 26;  // more is not believed of a message

// `each` consecutive ranks on each of `nodes` consecutive nodes, all of one program; on every one of these
// nodes they begin with the same local rank. Six ranks by slot on three nodes of two slots are {0, 0, 3, 2},
// and by node {0, 0, 3, 1} and {3, 0, 3, 1} with the local ranks 0 and 1.
struct RankRange {
  int first = 0;  // rank
  int first_node = 0, nodes = 1, each = 1;
  int app = 0, first_local = 0;
  int count() const { return nodes * each; }
  RankPlace operator[](int index) const { return {first_node + index / each, app, first_local + index % each}; }
  bool operator==(const RankRange&) const = default;
};

class RankMap {
 public:
  class Iterator {
   public:
    using value_type = RankPlace;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const std::vector<RankRange>* ranges, size_t range) : ranges_(ranges), range_(range) {}
    RankPlace operator*() const { return (*ranges_)[range_][index_]; }
    Iterator& operator++() {
      if (++index_ == (*ranges_)[range_].count()) ++range_, index_ = 0;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator& other) const = default;

   private:
    const std::vector<RankRange>* ranges_ = nullptr;
    size_t range_ = 0;
    int index_ = 0;
  };

  RankMap() = default;
  RankMap(const std::vector<RankPlace>& places) {  // in rank order
    for (const RankPlace& place : places) push_back(place);
    close();
  }
  RankMap(std::initializer_list<RankPlace> places) : RankMap(std::vector<RankPlace>(places)) {}

  size_t size() const;
  bool empty() const { return ranges_.empty(); }
  RankPlace operator[](size_t rank) const;  // which there must be
  std::vector<int> on(int node) const;      // ascending
  int count_on(int node) const;
  std::vector<int> counts(size_t nodes) const;  // of ranks, for each node
  // The nodes get other numbers: by their old ones. Those without ranks may have none.
  RankMap renumbered(const std::vector<int>& new_number) const;
  Iterator begin() const { return {&ranges_, 0}; }
  Iterator end() const { return {&ranges_, ranges_.size()}; }
  bool operator==(const RankMap&) const = default;

  const std::vector<RankRange>& ranges() const { return ranges_; }
  // From the network: taken as they are, and judged by is_consistent().
  std::vector<RankRange>& raw_ranges() { return ranges_; }
  // They follow each other without a gap, and all that they name is there.
  bool is_consistent(size_t nodes, size_t apps) const;

 private:
  void push_back(const RankPlace& place);
  void close();
  std::vector<RankRange> ranges_;
};

// The ranks of each node, for whoever asks for those of all nodes: a map of a range for each rank takes long to say them.
class RanksByNode {
 public:
  RanksByNode() = default;
  RanksByNode(const RankMap& map, size_t nodes);
  // Ascending; of a node that is not in the map: none.
  std::span<const int> on(int node) const;

 private:
  std::vector<int> ranks_;
  std::vector<size_t> ends_;  // by node: where its ranks end
};

}  // namespace tutti::launcher
