// SPDX-License-Identifier: BSD-3-Clause
// A collective access as a sequence of exchanges between the ranks (each a plan, as every
// collective is), with what a rank does by itself in between: it looks at what all have said, moves
// bytes of the file, copies. It waits for nobody, so that the blocking form can run the exchanges
// one after the other and the nonblocking one start them. Both therefore go in two phases, or each
// rank moves its own data, by the same rule.
#pragma once

#include <memory>
#include <vector>

#include "coll/call.hpp"
#include "mpi/file/access.hpp"
#include "mpi/file/told_failure.hpp"

namespace tutti::mpi::file {

class TwoPhases;

// What each rank says of its part.
struct Contribution {
  int64_t position, bytes;  // of its view
  int64_t low, high;        // in the file
  int64_t piece;            // bytes of a run, about
  int64_t file_size;
  int64_t buffer_size;      // hints; those of rank 0 are taken
  int64_t stripe, stripes;  // of the file; rank 0's are taken
  int64_t large;            // bytes of a piece that whoever has it moves; rank 0's is taken
  int64_t call;             // exchanges of windows that cost about as much as moving a piece; rank 0's is taken
  int32_t buffering, aggregators;
  int32_t fit;  // for two phases
  int32_t failed;
};

// Large: its fields are what each of its stages gathers for the next; the buffers of messages that are under way must
// outlive the stage that started them.
class Together {
 public:
  // `mine`: why this rank cannot take part, which all ranks hear. `in_pool`: next() is called by a
  // thread of the pool, which waits for no other one.
  Together(PlacedAccess job, Function function, bool in_pool, Error mine = {});
  ~Together();
  Together(const Together&) = delete;

  // Does what this rank can do by itself, and returns the exchange that comes next, whose buffers
  // it keeps; to be called again when that has been made. nullptr: it is over, and `outcome` is
  // what MPI returns.
  const coll::Call* next();
  io::Transferred outcome;

  const PlacedAccess job;

 private:
  enum class Stage : uint8_t { shares, decide, learn_views, take_views, windows, agree, judge, told, over };
  const coll::Call* say_share();
  const coll::Call* decide();
  const coll::Call* alone();
  const coll::Call* say_view();
  const coll::Call* send_views();
  const coll::Call* take_views();
  const coll::Call* next_window();
  const coll::Call* agree();
  const coll::Call* judge();
  const coll::Call* tell(int first);
  const coll::Call* hear();
  const coll::Call* ask(const coll::Call& call, Stage then);

  const Function function_;
  const bool in_pool_;
  Stage stage_ = Stage::shares;
  coll::Call call_;
  Contribution mine_{};
  std::vector<Contribution> shares_;

  // Of the ranks' views, as they travel.
  struct Said {
    int64_t displacement, bytes;
  };
  Said said_{};
  std::vector<Said> all_said_;
  Bytes own_view_;
  std::vector<std::byte> views_;
  std::vector<int64_t> counts_, places_;
  std::shared_ptr<const std::vector<io::View>> known_;
  std::unique_ptr<TwoPhases> act_;

  // Of the end.
  int32_t own_class_ = 0;
  std::vector<int32_t> classes_;
  ToldFailure told_{};
  int first_ = 0;  // of the ranks that failed
};

}  // namespace tutti::mpi::file
