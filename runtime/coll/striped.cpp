// SPDX-License-Identifier: BSD-3-Clause
#include "coll/striped.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/levels.hpp"
#include "coll/pattern.hpp"

namespace tutti::coll {
namespace {

// There are as many stripes as the emptiest node has ranks: stripe i is carried by the i-th rank of each node.
//
//   7 ranks on 2 nodes:   0 1 2 | 3 4 5 6     stripes: {0 3} {1 4} {2 5}
class Stripes : public Levels {
 public:
  explicit Stripes(const Shape& shape) : Levels(shape), count(nodes.fewest()), carries(nodes.local() < count) {
    if (!carries) return;
    for (int n = 0; n < nodes.nodes(); ++n) carriers.push_back(nodes.members(n)[nodes.local()]);
  }

  // Each rank of my node gets its stripe, reduced over them, of the input: `lengths` by stripe, in elements. The shape
  // of a part of another length than the call's own has its own bytes.
  Shape reduces_stripes(const std::vector<int64_t>& lengths) const {
    Shape part = within(Collective::reduce_scatter);
    part.in_place = false;
    part.in_count = part.out_count = 0;
    part.counts = lengths;
    part.counts.resize(mine.size());  // the others carry nothing
    return part;
  }
  int64_t bytes_of(int64_t elements) const {
    const int64_t all = s.vector_count();
    return all == 0 ? 0 : s.bytes / all * elements;
  }
  DataPlace input() const { return s.in_place ? at(plan.in()) : kSame; }

  const int count;
  const bool carries;         // I have one
  std::vector<int> carriers;  // those of my stripe, by node
};

}  // namespace

// Reduce_scatter within the nodes, allreduce of each stripe between them, allgather within: each core reduces and copies
// about twice the vector, and a node's card carries no more of it than it must. Wins for long vectors. Operands meet
// in the order of the ranks within a node, and then as the allreduce of the stripes has it.
Plan striped_allreduce(const Shape& s) {
  Stripes l(s);
  const Split split{s.out_count, l.count};
  std::vector<int64_t> lengths, begins{0};
  for (int i = 0; i < l.count; ++i) lengths.push_back(split.size(i)), begins.push_back(split.begin(i + 1));
  begins.resize(l.mine.size() + 1, s.out_count);
  const int64_t length = l.carries ? lengths[static_cast<size_t>(l.nodes.local())] : 0;

  Shape up = l.reduces_stripes(lengths), down = l.within(Collective::allgather);
  down.in_place = false;
  down.in_count = down.out_count = length;
  const bool equal = s.out_count % l.count == 0 && l.mine.size() == static_cast<size_t>(l.count);
  if (equal) {
    down.bytes = l.bytes_of(length);
  } else {
    down.kind = Collective::allgatherv;
    down.bytes = s.bytes;
    for (size_t i = 0; i < l.mine.size(); ++i) down.counts.push_back(l.bytes_of(begins[i + 1] - begins[i]));
  }
  Levels::in_one_lane({&up, &down});
  const Buf stripe = l.plan.scratch_like(l.plan.out().slice(0, length));
  if (l.mine.size() == 1) l.plan.copy(l.plan.in(), stripe);
  l.add_within(up, l.input(), at(stripe));
  if (l.carries) {
    Shape across = l.between(Collective::allreduce);
    across.in_place = true;
    across.in_count = across.out_count = length;
    across.bytes = l.bytes_of(length);
    l.add_across(l.carriers, across, kNothing, at(stripe));
  }
  l.plan.fence();
  if (l.mine.size() == 1) l.plan.copy(stripe, l.plan.out());
  l.add_within(down, at(stripe), equal ? kSame : DataPlace{.same = false, .at = l.plan.out(), .blocks = begins});
  return l.plan.done();
}

// Reduce_scatter within the nodes, so that each rank has a run of blocks, and between those that have the same run, each
// of which then has some blocks of it, reduced over all; one more message takes each block home. Wins where many ranks
// get short blocks. Keeps the order of operands as its parts do.
//
//   8 ranks on 2 nodes:  rank 0 gets blocks 0 1 of ranks 0 … 3; then block 0 of all ranks, which is its own;
//                        rank 1 gets blocks 2 3 of these, then block 2 of all, and sends it to rank 2
Plan striped_reduce_scatter(const Shape& s) {
  Stripes l(s);
  std::vector<int64_t> begins;  // of blocks; of equal ones they need not be written down
  if (!s.counts.empty()) {
    begins.push_back(0);
    for (const int64_t count : s.counts) begins.push_back(begins.back() + count);
  }
  const auto begin = [&](int64_t block) {
    return begins.empty() ? block * s.out_count : begins[static_cast<size_t>(block)];
  };
  const Split stripes{s.size, l.count};
  const auto run_of = [&](int stripe) { return Split{stripes.size(stripe), l.nodes.nodes()}; };
  const auto first_block = [&](int stripe, int node) { return stripes.begin(stripe) + run_of(stripe).begin(node); };

  std::vector<int64_t> lengths;
  for (int i = 0; i < l.count; ++i) lengths.push_back(begin(stripes.begin(i + 1)) - begin(stripes.begin(i)));
  const int local = l.nodes.local(), node = l.nodes.node();
  const Buf in = l.plan.in();
  Buf kept = in.slice(0, 0);
  if (l.carries) {
    const Buf stripe = l.plan.scratch_like(in.slice(0, lengths[static_cast<size_t>(local)]));
    if (l.mine.size() == 1) l.plan.copy(in, stripe);
    l.add_within(l.reduces_stripes(lengths), l.input(), at(stripe));
    Shape across = l.between(Collective::reduce_scatter);
    across.in_place = false;
    for (int n = 0; n < l.nodes.nodes(); ++n)
      across.counts.push_back(begin(first_block(local, n + 1)) - begin(first_block(local, n)));
    across.in_count = across.out_count = 0;
    across.bytes = l.bytes_of(stripe.count);
    kept = l.plan.scratch_like(in.slice(0, across.counts[static_cast<size_t>(node)]));
    l.add_across(l.carriers, across, at(stripe), at(kept));
    l.plan.fence();
    const int64_t first = first_block(local, node), end = first_block(local, node + 1);
    l.plan.repeat({.number = end - first}, [&](int64_t i) {
      const int64_t block = first + i;
      const Buf one = kept.slice(begin(block) - begin(first), begin(block + 1) - begin(block));
      if (block == s.rank)
        l.plan.copy(one, l.plan.out());
      else
        l.plan.send(one, static_cast<int>(block));
    });
  } else {
    l.add_within(l.reduces_stripes(lengths), l.input(), at(kept));
  }
  int stripe = 0;  // where my block is
  while (stripes.begin(stripe + 1) <= s.rank) ++stripe;
  int from = 0;
  while (first_block(stripe, from + 1) <= s.rank) ++from;
  const int keeper = l.nodes.members(from)[stripe];
  if (keeper != s.rank) l.plan.recv(l.plan.out(), keeper);
  return l.plan.done();
}

// Rank j of a node is told by all of it what they have for the ranks j of the other nodes, and tells each of these all of
// it in one message: one for each node instead of each rank, and every byte crosses the net once. The nodes at
// some distances a time, so that a node's ranks together need no more than kRoom. Wins for short blocks of many ranks.
//
//   6 ranks on 2 nodes:   0 1 2 | 3 4 5   rank 1 hears the blocks of 0 and 2 for 4, and sends 4 three blocks
Plan striped_alltoall(const Shape& s) {
  constexpr int64_t kRoom = 64 << 20;
  Levels l(s);
  PlanBuilder& plan = l.plan;
  const int64_t bytes = s.bytes, m = static_cast<int64_t>(l.mine.size());
  const int nodes = l.nodes.nodes(), local = l.nodes.local();
  // In place all blocks have to be taken before the first one comes.
  const int64_t fit = s.in_place || bytes == 0 ? nodes : std::clamp<int64_t>(kRoom / (3 * m * m * bytes), 1, nodes);
  const int64_t room = fit * m * bytes;
  const Buf outgoing = plan.scratch_bytes(room), incoming = plan.scratch_bytes(room), sorted = plan.scratch_bytes(room);
  for (int first = 0; first < nodes; first += static_cast<int>(fit)) {
    const int n = static_cast<int>(std::min<int64_t>(fit, nodes - first));
    const auto there = [&](int i) { return l.nodes.members((l.nodes.node() + first + i) % nodes); };
    plan.repeat({.number = n * m, .row = m}, [&](int64_t k) {
      const int64_t i = k / m, j = k % m;
      const int to = there(static_cast<int>(i))[static_cast<int>(j)];
      plan.copy(s.in_place ? plan.out_block(to) : plan.in_block(to), outgoing.slice((j * n + i) * bytes, bytes));
    });
    Shape part = l.within(Collective::alltoall);
    part.in_place = false;
    part.dense = true;
    part.in_count = part.out_count = part.bytes = n * bytes;
    l.add_within(part, at(outgoing), at(incoming));
    plan.repeat({.number = n * m, .row = m}, [&](int64_t k) {
      const int64_t i = k / m, j = k % m;
      const Buf block = incoming.slice((j * n + i) * bytes, bytes);
      // Of my own node's it is there.
      plan.copy(block, first + i == 0 ? plan.out_block(there(0)[static_cast<int>(j)])
                                      : sorted.slice((i * m + j) * bytes, bytes));
    });
    plan.fence();
    const int beyond = first == 0 ? 1 : 0;  // my own node
    plan.repeat({.number = n - beyond}, [&](int64_t k) {
      const int i = beyond + static_cast<int>(k);
      const ProcessList from = l.nodes.members((l.nodes.node() - first - i + nodes) % nodes);
      plan.recv(plan.out_blocks(from.front(), static_cast<int>(m)), from[local]);
      plan.send(sorted.slice(i * m * bytes, m * bytes), there(i)[local]);
    });
    plan.fence();
  }
  return plan.done();
}

}  // namespace tutti::coll
