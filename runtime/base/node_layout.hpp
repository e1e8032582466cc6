// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a communicator are on which node. Nodes are numbered by their lowest rank.
// Immutable; the same on every rank of the communicator, but for `rank`. Where ranks are dealt out in a regular
// way, a node after the other or in turn, this is arithmetic and takes no memory for each rank or node.
#pragma once

#include <span>
#include <vector>

#include "base/process_list.hpp"

namespace tutti {

class NodeLayout {
 public:
  // `place` by rank: a number that exactly the ranks of one node share.
  NodeLayout(std::span<const int> place, int rank);
  // `place` by process, of which these are the ranks. Without memory for each of them where they are dealt out regularly.
  NodeLayout(std::span<const int> place, const ProcessList& processes, int rank);
  NodeLayout seen_by(int rank) const;  // the same one, of another rank

  int nodes() const { return nodes_; }
  int node_of(int rank) const {
    if (dealt_ == Dealt::in_blocks) return rank / most_;
    if (dealt_ == Dealt::in_turn) return rank % nodes_;
    return node_of_[static_cast<size_t>(rank)];
  }
  ProcessList members(int node) const;             // ranks, ascending
  int fewest() const { return fewest_; }           // ranks of the emptiest node
  int most() const { return most_; }               // of the fullest one …
  bool equal() const { return equal_; }            // … which all are
  bool contiguous() const { return contiguous_; }  // the ranks of each follow one another

  int node() const { return node_; }                 // mine
  const ProcessList& mine() const { return mine_; }  // its members
  int local() const { return local_; }               // my index among them

 private:
  enum class Dealt : unsigned char { in_blocks, in_turn, irregularly };
  template <class Place>
  bool find_blocks(const Place& place);
  template <class Place>
  bool find_turns(const Place& place);
  template <class Place>
  void list_all(const Place& place);

  int size_ = 0, nodes_ = 0, fewest_ = 0, most_ = 0;
  bool equal_ = true, contiguous_ = true;
  Dealt dealt_ = Dealt::irregularly;
  int node_ = 0, local_ = 0;
  ProcessList mine_;
  // Of ranks that are dealt out irregularly.
  std::vector<int> node_of_;
  std::vector<ProcessList> members_;
};

}  // namespace tutti
