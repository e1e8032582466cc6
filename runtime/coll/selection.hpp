// SPDX-License-Identifier: BSD-3-Clause
// Selection: which algorithm serves a call. Rules are text, one a line, first match wins:
//
//   allreduce bytes<=4k recursive_doubling      # a comment
//   allgather ranks>=64 power_of_two=yes recursive_doubling
//   bcast chain
//
// A line names a collective, any number of conditions, and an algorithm. Conditions: bytes, rank_bytes
// (Shape::rank_bytes), ranks, nodes, node_ranks (of the fullest node), read_rate (Shape::read_rate) with
// < <= = >= > and a number (k, m, g: powers of 1024);
// commutative, power_of_two, shared, contiguous, equal with =yes or =no (shared: all ranks are on one node
// and share memory there; contiguous: those of each node follow one another; equal: each node has as many). What `bytes` counts
// is said at Shape::bytes; a collective without it refuses both conditions. Every rank must have the
// same rules.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "coll/algorithm.hpp"

namespace tutti::coll {

struct Clause {
  enum class Quantity : uint8_t {
    bytes,
    rank_bytes,
    ranks,
    nodes,
    node_ranks,
    read_rate,  // numbers
    commutative,
    power_of_two,
    shared,
    contiguous,
    equal  // yes or no
  };
  enum class Relation : uint8_t { less, at_most, equal, at_least, greater };
  Quantity quantity;
  Relation relation;
  int64_t value;
  bool holds(const Shape& shape) const;
};

// Immutable once made, so that any thread may ask and all communicators share it.
class Selection {
 public:
  // Rules of `text`, which comes from `source` (a path; for messages). Errors are MPI_ERR_ARG with
  // source, line and, for a wrong name, the nearest right one.
  static Result<std::shared_ptr<const Selection>> parse(std::string_view text, std::string_view source);
  // What a user asked for: `override_rules` (rules divided by ';' or line ends, looked at first)
  // and the file at `path`, which takes the place of the shipped rules. Either may be empty.
  static Result<std::shared_ptr<const Selection>> load(const std::string& override_rules, const std::string& path);
  static std::shared_ptr<const Selection> shipped();  // conf/collectives.rules, compiled in

  // Never fails: a rule whose algorithm cannot serve the call is passed over (and that is logged
  // once), and without a rule the collective's first algorithm serves.
  const Algorithm& choose(const Shape& shape) const;
  // Where the rule stands by which choose() chooses, as "file:line"; empty: there is none.
  std::string chosen_by(const Shape& shape) const;

 private:
  struct Rule {
    Collective kind;
    int source;               // in sources_
    int line;                 // there, counted from 1
    uint32_t begin, end = 0;  // of its conditions, in clauses_
    const Algorithm* algorithm = nullptr;
    mutable std::atomic<bool> refused{false};
  };
  Error add(std::string_view text, std::string_view source, char separator);
  std::string place_of(const Rule& rule) const;  // "file:line"
  bool matches(const Rule& rule, const Shape& shape) const;
  const Rule* rule_for(const Shape& shape) const;  // of one group; nullptr: there is none

  // Each process has some hundred rules, which are kept densely.
  std::deque<Rule> rules_;
  std::vector<Clause> clauses_;
  std::vector<std::string> sources_;
};

}  // namespace tutti::coll
