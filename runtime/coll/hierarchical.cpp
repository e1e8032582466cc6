// SPDX-License-Identifier: BSD-3-Clause
#include "coll/hierarchical.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/node_layout.hpp"
#include "coll/levels.hpp"

namespace tutti::coll {
namespace {

// Parts of a call that counts bytes: blocks of `bytes` bytes, each element one of them.
Shape in_bytes(Shape part, int64_t bytes) {
  part.in_place = false;
  part.in_count = part.out_count = part.bytes = bytes;
  part.dense = true;
  return part;
}

// Where the blocks of each rank begin if they stand node by node, and those of each node.
std::vector<int64_t> node_begins(const NodeLayout& nodes, int64_t bytes) {
  std::vector<int64_t> begin{0};
  for (int n = 0; n < nodes.nodes(); ++n)
    begin.push_back(begin.back() + static_cast<int64_t>(nodes.members(n).size()) * bytes);
  return begin;
}

// Runs of ranks of a node that follow one another: visit(first rank, index of it, length).
template <class Visit>
void each_run_of(const ProcessList& ranks, Visit&& visit) {
  for (int i = 0; i < ranks.size();) {
    int end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    visit(ranks[i], int64_t{i}, int64_t{end - i});
    i = end;
  }
}

// Blocks of `bytes` that stand by rank in one place and node by node in another: what is one run of bytes in both.
struct Run {
  int64_t by_rank, by_node, length;  // where it begins in the one and in the other
};
std::vector<Run> runs_of(const NodeLayout& nodes, int64_t bytes) {
  std::vector<Run> runs;
  int64_t begin = 0;
  for (int n = 0; n < nodes.nodes(); ++n) {
    each_run_of(nodes.members(n), [&](int first, int64_t i, int64_t length) {
      runs.push_back({first * bytes, begin + i * bytes, length * bytes});
    });
    begin += static_cast<int64_t>(nodes.members(n).size()) * bytes;
  }
  return runs;
}

}  // namespace

std::string_view objection_to_levels(const Shape& s) {
  if (!s.nodes || s.nodes->nodes() < 2) return "its ranks are on one node";
  if (s.nodes->most() < 2) return "no node has two of its ranks";
  if (row_of(s.kind).reduces && !s.commutative && !s.nodes->contiguous())
    return "the ranks of a node do not follow one another, and the operation is not commutative";
  return {};
}

// All tell their leader, the leaders each other, each leader its node.
Plan hierarchical_barrier(const Shape& s) {
  Levels l(s);
  Shape up = in_bytes(l.within(Collective::gather), 0), down = in_bytes(l.within(Collective::bcast), 0);
  Levels::in_one_lane({&up, &down});
  l.add_within(up, kNothing, kNothing);
  if (l.leads) l.add_between(l.between(Collective::barrier), kNothing, kNothing);
  l.add_within(down, kNothing, kNothing);
  return l.plan.done();
}

// From the root to the leaders, from each to its node.
Plan hierarchical_bcast(const Shape& s) {
  Levels l(s);
  if (l.leads) l.add_between(l.between(Collective::bcast), kSame, kSame);
  l.add_within(l.within(Collective::bcast), kSame, kSame);
  return l.plan.done();
}

// Operands meet in the order of the nodes, and within them in that of the ranks: in rank order
// where the ranks of each node follow one another.
Plan hierarchical_reduce(const Shape& s) {
  Levels l(s);
  const bool is_root = s.rank == s.root, alone = l.mine.size() == 1;
  const DataPlace met = l.leads && !is_root && !alone ? at(l.plan.scratch_like(l.plan.in())) : kSame;
  l.add_within(l.within(Collective::reduce), kSame, met);
  if (!l.leads) return l.plan.done();
  Shape across = l.between(Collective::reduce);
  across.in_place = is_root && (!alone || s.in_place);
  l.add_between(across, met, kSame);
  return l.plan.done();
}

Plan hierarchical_allreduce(const Shape& s) {
  Levels l(s);
  Shape up = l.within(Collective::reduce), down = l.within(Collective::bcast);
  Levels::in_one_lane({&up, &down});
  l.add_within(up, kSame, kSame);
  if (l.leads) {
    Shape across = l.between(Collective::allreduce);
    across.in_place = s.in_place || l.mine.size() > 1;
    l.add_between(across, kSame, kSame);
  }
  l.add_within(down, kSame, kSame);
  return l.plan.done();
}

// Whole nodes travel straight to the root.
Plan hierarchical_gather(const Shape& s) {
  Levels l(s);
  const bool is_root = s.rank == s.root;
  const std::vector<int64_t> begin = node_begins(l.nodes, s.bytes);
  const auto my_bytes = static_cast<int64_t>(l.mine.size()) * s.bytes;
  Buf room;
  if (is_root)
    room = l.plan.scratch_bytes(begin.back());
  else if (l.leads)
    room = l.plan.scratch_bytes(my_bytes);
  const Buf mine = is_root ? room.slice(begin[static_cast<size_t>(l.nodes.node())], my_bytes) : room;
  DataPlace in = kSame;
  if (s.in_place) in = {.same = false, .at = l.plan.out_block(s.rank), .packed = s.rank * s.bytes};
  Shape up = in_bytes(l.within(Collective::gather), s.bytes);
  up.in_count = s.in_place ? s.out_count : s.in_count;
  if (l.mine.size() == 1) l.plan.copy(in.same ? l.plan.in() : in.at, mine);
  l.add_within(up, in, l.leads ? at(mine) : kNothing);
  if (!l.leads) return l.plan.done();
  l.plan.fence();
  if (!is_root) return l.plan.send(mine, s.root).done();
  l.plan.repeat({.number = l.nodes.nodes()}, [&](int64_t n) {
    const auto i = static_cast<size_t>(n);
    if (n != l.nodes.node()) l.plan.recv(room.slice(begin[i], begin[i + 1] - begin[i]), l.leaders[i]);
  });
  l.plan.fence();
  const std::vector<Run> runs = runs_of(l.nodes, s.bytes);
  l.plan.repeat({.number = std::ssize(runs)}, [&](int64_t i) {
    const Run& run = runs[static_cast<size_t>(i)];
    l.plan.copy(room.slice(run.by_node, run.length), l.plan.out_packed(run.by_rank, run.length));
  });
  return l.plan.done();
}

Plan hierarchical_scatter(const Shape& s) {
  Levels l(s);
  const bool is_root = s.rank == s.root;
  const std::vector<int64_t> begin = node_begins(l.nodes, s.bytes);
  const auto my_bytes = static_cast<int64_t>(l.mine.size()) * s.bytes;
  Buf mine;
  if (is_root) {
    const Buf room = l.plan.scratch_bytes(begin.back());
    const std::vector<Run> runs = runs_of(l.nodes, s.bytes);
    l.plan.repeat({.number = std::ssize(runs)}, [&](int64_t i) {
      const Run& run = runs[static_cast<size_t>(i)];
      l.plan.copy(l.plan.in_packed(run.by_rank, run.length), room.slice(run.by_node, run.length));
    });
    l.plan.fence();
    l.plan.repeat({.number = l.nodes.nodes()}, [&](int64_t n) {
      const auto i = static_cast<size_t>(n);
      if (n != l.nodes.node()) l.plan.send(room.slice(begin[i], begin[i + 1] - begin[i]), l.leaders[i]);
    });
    mine = room.slice(begin[static_cast<size_t>(l.nodes.node())], my_bytes);
  } else if (l.leads) {
    mine = l.plan.scratch_bytes(my_bytes);
    l.plan.recv(mine, s.root).fence();
  }
  Shape down = in_bytes(l.within(Collective::scatter), s.bytes);
  down.in_place = s.in_place;
  down.out_count = s.out_count;
  if (l.mine.size() == 1 && !s.in_place) l.plan.copy(mine, l.plan.out());
  l.add_within(down, l.leads ? at(mine) : kNothing, kSame);
  return l.plan.done();
}

// The blocks of each node stand together in the output, and are as many on each: they come together where they belong.
Plan allgather_in_place_of_nodes(const Shape& s) {
  Levels l(s);
  const int first = l.mine.front(), n = static_cast<int>(l.mine.size());
  DataPlace in = kSame;
  if (s.in_place) in = {.same = false, .at = l.plan.out_block(s.rank), .packed = s.rank * s.bytes};
  Shape up = l.within(Collective::gather), down = l.within(Collective::bcast);
  up.in_place = false;
  up.in_count = s.in_place ? s.out_count : s.in_count;
  down.out_count = s.size * s.out_count;
  down.bytes = s.size * s.bytes;
  down.dense = false;
  Levels::in_one_lane({&up, &down});
  if (l.leads && s.in_place) {
    // A gather's root may have its own block in place already.
    up.in_place = true;
    in = kNothing;
  }
  l.add_within(up, in, {.same = false, .at = l.plan.out_blocks(first, n), .packed = first * s.bytes});
  if (l.leads) {
    Shape across = l.between(Collective::allgather);
    across.in_place = true;
    across.out_count = n * s.out_count;
    across.bytes = n * s.bytes;
    l.add_between(across, kNothing, kSame);
  }
  l.add_within(down, kNothing, kSame);
  return l.plan.done();
}

// All blocks come together at the leaders, node by node, and from there go to all: what is longer
// than a few KiB travels faster straight.
Plan hierarchical_allgather(const Shape& s) {
  if (s.nodes->equal() && s.nodes->contiguous()) return allgather_in_place_of_nodes(s);
  Levels l(s);
  const std::vector<int64_t> begin = node_begins(l.nodes, s.bytes);
  const auto my_node = static_cast<size_t>(l.nodes.node());
  const Buf room = l.plan.scratch_bytes(begin.back());
  const Buf mine = room.slice(begin[my_node], begin[my_node + 1] - begin[my_node]);
  DataPlace in = kSame;
  if (s.in_place) in = {.same = false, .at = l.plan.out_block(s.rank), .packed = s.rank * s.bytes};

  Shape up = in_bytes(l.within(Collective::gather), s.bytes);
  up.in_count = s.in_place ? s.out_count : s.in_count;
  Shape down = in_bytes(l.within(Collective::bcast), begin.back());
  Levels::in_one_lane({&up, &down});
  if (l.mine.size() == 1) l.plan.copy(in.same ? l.plan.in() : in.at, mine);
  l.add_within(up, in, l.leads ? at(mine) : kNothing);
  if (l.leads) {
    Shape across = in_bytes(l.between(Collective::allgather), begin[1]);
    if (!l.nodes.equal()) {
      across.kind = Collective::allgatherv;
      across.bytes = begin.back();
      for (size_t n = 0; n + 1 < begin.size(); ++n) across.counts.push_back(begin[n + 1] - begin[n]);
    }
    across.in_place = true;
    l.plan.fence();
    l.add_between(across, kNothing, {.same = false, .at = room, .blocks = begin});
  }
  l.add_within(down, kNothing, at(room));
  l.plan.fence();
  const std::vector<Run> runs = runs_of(l.nodes, s.bytes);
  l.plan.repeat({.number = std::ssize(runs)}, [&](int64_t i) {
    const Run& run = runs[static_cast<size_t>(i)];
    l.plan.copy(room.slice(run.by_node, run.length), l.plan.out_packed(run.by_rank, run.length));
  });
  return l.plan.done();
}

// The same with blocks of different lengths, which all ranks of a node tell each other: wins for short ones.
Plan hierarchical_allgatherv(const Shape& s) {
  Levels l(s);
  std::vector<int64_t> at_rank(static_cast<size_t>(s.size)), node_begin{0}, mine{0};
  for (int n = 0; n < l.nodes.nodes(); ++n) {
    int64_t end = node_begin.back();
    for (const int rank : l.nodes.members(n)) {
      at_rank[static_cast<size_t>(rank)] = end;
      end += s.counts[static_cast<size_t>(rank)];
      if (n == l.nodes.node()) mine.push_back(end - node_begin.back());
    }
    node_begin.push_back(end);
  }
  const auto node = static_cast<size_t>(l.nodes.node());
  const Buf room = l.plan.scratch_bytes(s.bytes);
  const auto block = [&](int rank) {
    return room.slice(at_rank[static_cast<size_t>(rank)], s.counts[static_cast<size_t>(rank)]);
  };
  l.plan.copy(s.in_place ? l.plan.out_block(s.rank) : l.plan.in(), block(s.rank));

  Shape up = in_bytes(l.within(Collective::allgatherv), mine.back()),
        down = in_bytes(l.within(Collective::bcast), s.bytes);
  up.in_place = true;
  for (size_t i = 0; i + 1 < mine.size(); ++i) up.counts.push_back(mine[i + 1] - mine[i]);
  Levels::in_one_lane({&up, &down});
  l.add_within(up, kNothing, {.same = false, .at = room.slice(node_begin[node], mine.back()), .blocks = mine});
  if (l.leads) {
    Shape across = in_bytes(l.between(Collective::allgatherv), s.bytes);
    across.in_place = true;
    for (size_t n = 0; n + 1 < node_begin.size(); ++n) across.counts.push_back(node_begin[n + 1] - node_begin[n]);
    l.add_between(across, kNothing, {.same = false, .at = room, .blocks = node_begin});
  }
  l.add_within(down, kNothing, at(room));
  l.plan.fence();
  l.plan.repeat({.number = s.size}, [&](int64_t i) {
    const int rank = static_cast<int>(i);
    if (!s.in_place || rank != s.rank) l.plan.copy(block(rank), l.plan.out_block(rank));
  });
  return l.plan.done();
}

// The leader has what all ranks of its node send and hands out what all of them receive: one
// message between each two nodes. Wins for short blocks.
Plan hierarchical_alltoall(const Shape& s) {
  Levels l(s);
  const int64_t b = s.bytes, row = s.size * b, m = static_cast<int64_t>(l.mine.size());
  DataPlace in = kSame;
  if (s.in_place) in = at(l.plan.out_block(0));
  Shape up = in_bytes(l.within(Collective::gather), row);
  up.in_count = s.size * (s.in_place ? s.out_count : s.in_count);
  Shape down = in_bytes(l.within(Collective::scatter), row);
  down.out_count = s.size * s.out_count;
  Levels::in_one_lane({&up, &down});

  Buf rows, columns;  // by source and destination, and by destination and source
  if (l.leads) rows = l.plan.scratch_bytes(m * row), columns = l.plan.scratch_bytes(m * row);
  if (m == 1) l.plan.copy(in.same ? l.plan.in_blocks(0, s.size) : l.plan.out_blocks(0, s.size), rows);
  l.add_within(up, in, l.leads ? at(rows) : kNothing);
  if (l.leads) {
    const Buf outgoing = l.plan.scratch_bytes(m * row), incoming = l.plan.scratch_bytes(m * row);
    const std::vector<int64_t> begin = node_begins(l.nodes, m * b);
    l.plan.fence();
    for (int n = 0; n < l.nodes.nodes(); ++n) {
      const auto there = static_cast<int64_t>(l.nodes.members(n).size());
      for (int64_t source = 0; source < m; ++source)
        each_run_of(l.nodes.members(n), [&](int first, int64_t i, int64_t length) {
          l.plan.copy(rows.slice(source * row + first * b, length * b),
                      outgoing.slice(begin[static_cast<size_t>(n)] + (source * there + i) * b, length * b));
        });
    }
    Shape across = in_bytes(l.between(Collective::alltoall), m * m * b);
    if (!l.nodes.equal()) across.kind = Collective::alltoallv, across.bytes = 0;
    l.add_between(across, {.same = false, .at = outgoing, .blocks = begin},
                  {.same = false, .at = incoming, .blocks = begin});
    for (int n = 0; n < l.nodes.nodes(); ++n) {
      const ProcessList ranks = l.nodes.members(n);
      l.plan.repeat({.number = m * ranks.size(), .row = ranks.size()}, [&](int64_t k) {
        const int64_t destination = k / ranks.size(), i = k % ranks.size();
        l.plan.copy(incoming.slice(begin[static_cast<size_t>(n)] + (i * m + destination) * b, b),
                    columns.slice(destination * row + ranks[static_cast<int>(i)] * b, b));
      });
    }
    l.plan.fence();
  }
  if (m == 1) l.plan.copy(columns, l.plan.out_blocks(0, s.size));
  l.add_within(down, l.leads ? at(columns) : kNothing, kSame);
  return l.plan.done();
}

// An allreduce into a vector on the side, of which each rank keeps its block: wins for short ones.
Plan hierarchical_reduce_scatter(const Shape& s) {
  Levels l(s);
  const Buf in = l.plan.in();
  const Buf whole = l.plan.scratch_like(in);
  int64_t mine = 0;
  for (int rank = 0; rank < s.rank; ++rank) mine += s.part_count(rank);
  const auto vector = [&](Shape part) {
    part.in_count = part.out_count = in.count;
    return part;
  };
  Shape up = vector(l.within(Collective::reduce)), down = vector(l.within(Collective::bcast));
  Levels::in_one_lane({&up, &down});
  up.in_place = false;
  const DataPlace from = s.in_place ? at(in) : kSame;  // in place it lies in the output
  l.add_within(up, from, at(whole));
  if (l.leads) {
    Shape across = vector(l.between(Collective::allreduce));
    across.in_place = l.mine.size() > 1;
    l.add_between(across, from, at(whole));
  }
  l.add_within(down, kNothing, at(whole));
  l.plan.fence();
  l.plan.copy(whole.slice(mine, l.plan.out().count), l.plan.out());
  return l.plan.done();
}

}  // namespace tutti::coll
