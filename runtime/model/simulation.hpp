// SPDX-License-Identifier: BSD-3-Clause
// Runs the plans of a call on made-up nodes, at a clock of its own: the plans that the rules as shipped choose, made by
// the functions that a job calls, and timed by the costs of costs.hpp. Moves no data: whether plans are right is shown
// by tests/coll.
//
// Where all nodes do the same, one of them stands for all. What a rank of it receives from another node is what some
// step of the sender's plan sends. That plan is made as well, and has to send messages of the same lengths in the same
// order as that of the rank of the same number on the node that stands for all, by which it is then timed. (Beside
// them it may have a copy more or less: where a vector ends up depends on which of two operands stood on the right.)
// Where the nodes are not alike in this way, and each send does not serve one receive, all ranks' plans are made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "coll/selection.hpp"
#include "model/costs.hpp"

namespace tutti::model {

enum class Ranks : uint8_t {
  all,         // one by one
  of_one_node  // which stands for all; see above
};

struct Outcome {
  bool whole = false;  // each step was done, each message met its receive
  std::string why;     // if not
  Ranks ranks = Ranks::all;
  double seconds = 0;         // until the last rank is done
  int64_t steps = 0;          // of the longest plan
  int64_t plan_bytes = 0;     // of the largest one
  int64_t scratch_bytes = 0;  // of the rank that has most
  int64_t node_scratch = 0;   // of a node's ranks together: of the node that has most
  int64_t card_messages = 0;  // that a node sends: of the one that sends most
  int64_t card_bytes = 0;
  double build_seconds = 0;  // of the wall, to make the plan that took longest; for people, not for tests
  std::string algorithm;
};

// The shape of the call at a rank, as the library would make it.
class Calls {
 public:
  Calls(const Job& job, const Ask& ask);
  coll::Shape shape(int rank, const NodeLayout& nodes) const;
  // The elements' bytes of the call's data.
  int64_t element() const;
  const Job& job() const { return job_; }
  const Ask& ask() const { return ask_; }

 private:
  const Job job_;
  const Ask ask_;
  int64_t small_slot_ = 0, large_slot_ = 0, large_windows_ = 0;
};

// A step that is over. Seconds since the call began, at all ranks at once.
struct Moment {
  int rank = 0;
  uint32_t step = 0;  // of its plan
  coll::Step::Kind kind = coll::Step::Kind::join;
  int32_t peer = -1, slot = 0;
  int64_t bytes = 0;
  double from = 0;  // when the steps that it waits for are over
  double over = 0;
};
using Recorder = std::function<void(const Moment&)>;

// `recorder`: hears of each step that is done, of the ranks whose plans are run.
Outcome simulate(const Costs& costs, const Job& job, const Ask& ask, const coll::Selection& rules, Ranks ranks,
                 const Recorder& recorder = {});
// By one node, if nodes do the same; else all ranks. (Where one node turns out not to stand for all, nothing has been
// recorded of it.)
Outcome simulate(const Costs& costs, const Job& job, const Ask& ask,
                 const coll::Selection& rules = *coll::Selection::shipped(), const Recorder& recorder = {});

}  // namespace tutti::model
