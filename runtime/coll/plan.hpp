// SPDX-License-Identifier: BSD-3-Clause
// A plan: what one rank does in one collective call, as data. Steps (send, receive, reduce, copy)
// over symbolic buffers, with dependencies in flat arrays. A plan holds no addresses, so that it
// can be cached, printed, replayed in a test without a network, and run any number of times at
// once.
//
// On one node ranks show each other data in rounds of shared memory instead (transport/shared/lane.hpp):
// each claims its slot of a round, fills and publishes it, awaits what others publish, reads or
// reduces from there, and leaves the round. All ranks of the node take equally many rounds. A plan
// that has rounds and no messages is a program: its steps run one after the other.
//
// Where no rank knows the others' counts (gatherv, scatterv, alltoallv, alltoallw) a slot is cut
// into shares, and whether a block is in its share or comes as a message is found when the plan
// runs: by its bytes, pair by pair. The steps for that do not wait for the messages, so that such a
// plan is a program, too; it is over when these are.
//
// A plan may be put together of plans for some of its ranks (PlanBuilder::append), of which those
// for ranks of one node may have rounds, in one lane. There, ranks are numbered within the node.
//
// What repeats, for each rank or for each piece of a long vector, is written once, as a loop (repeat.cpp): so the plan of
// a rank hardly grows with the ranks.
//
// Messages between two ranks are told apart by slots: the k-th send from i to j in i's plan meets
// the k-th receive from i in j's plan. Whoever writes an algorithm keeps those orders equal; the
// replay test shows that they are.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coll/peer_counts.hpp"
#include "coll/shape.hpp"

namespace tutti::coll {

enum class Region : uint8_t { input, output, scratch, shared };

// What a buffer's offset and count are counted in.
enum class Unit : uint8_t {
  in_type,    // elements of the call's input type
  out_type,   // of its output type; reductions use this one for both
  bytes,      // packed bytes; on input and output only where the memory is one run of bytes
  packed,     // packed bytes of the whole input or output, wherever they lie; for messages, and for
              // copies to or from bytes elsewhere
  in_block,   // block `index` of the input by the call's counts, displacements and types …
  out_block,  // … or of the output (v and w forms); offset and count mean nothing
};

struct Buf {
  Region region = Region::output;
  Unit unit = Unit::bytes;
  uint32_t index = 0;  // which scratch, or which block; shared: the plan's round
  int64_t offset = 0;
  int64_t count = 0;
  int32_t rank = 0;    // shared: whose slot, by number within the node
  uint32_t range = 0;  // packed, in a message: which of the plan's ranges

  Buf slice(int64_t first, int64_t n) const { return {region, unit, index, offset + first, n, rank}; }
  bool is_block() const { return unit == Unit::in_block || unit == Unit::out_block; }
  bool operator==(const Buf&) const = default;
};

struct Step {
  enum class Kind : uint8_t {
    send,    // `from` to peer
    recv,    // from peer to `into`
    reduce,  // into = from op into: `from` is the left operand
    copy,    // from → into, of equal packed size
    // Of shares; a share begins with a ShareHead.
    show,    // `from` in my share `into` for peer, or, if it is too long for it, to peer
    expect,  // what the take of the same operation takes: a receive, if `into` is too long for
             // `from`
    take,    // from peer's share `from` for me to `into`, or, if it is not there, from peer
    join,    // nothing; many wait for it that would have to wait for many
    loop,    // all trips of the plan's loop of the number `slot`
    // In shared memory; `slot` is the round, `peer` a number within the node.
    claim,    // until my slot may be written
    publish,  // my slot may be read, by peer or, if -1, by all
    await,    // until the slot of peer, or, if -1, those of all others, may be read
    leave,    // I look at no slot of the round any more
    linger,   // for some passes of the engine: by chance, under --stress=random
  };
  Kind kind = Kind::join;
  int32_t peer = -1;
  int32_t slot = 0;        // counts the messages between the two ranks in this direction
  uint32_t operation = 0;  // counts the sends, or the receives, of this plan
  int32_t kept = -1;       // show: the scratch from which a block is sent that is overwritten meanwhile
  Buf from, into;
};

// Scratch that a plan needs: room for what `like` holds, laid out as its type, or packed.
struct Scratch {
  Buf like;
  bool packed = false;
  int64_t beyond = -1;  // only needed where it would take more bytes
};

// In front of the data in a share: without what pads it.
struct ShareHead {
  static constexpr uint32_t kBeside = UINT32_MAX;  // for its bytes: the block comes as a message
  uint64_t signature;                              // of the call and the block
  uint32_t bytes;                                  // of the block
};
inline constexpr int64_t kShareHead = 12;
inline int64_t room_in(const Buf& share) {
  return share.count - kShareHead;
}

enum class LaneSize : uint8_t { none, small, large };

// Steps, and which of them wait for which.
struct Graph {
  std::vector<Step> steps;
  std::vector<uint32_t> waits;           // by step: how many others it waits for
  std::vector<uint32_t> first_follower;  // by step, and one more: where in `followers`
  std::vector<uint32_t> followers;       // the steps that wait for it

  // Writes the last three. Edges: from, to.
  void connect(std::span<const std::pair<uint32_t, uint32_t>> edges);
  // Each waits for the one before it.
  void chain();
};

// Steps that a rank makes in many trips, and whose numbers grow evenly from one to the next. `steps` are those of trip 0,
// and what waits there is within a trip.
struct Loop : Graph {
  // From one trip to the next, and, where trips stand in rows, from one row to the next.
  struct Growth {
    int64_t along = 0, across = 0;
    bool operator==(const Growth&) const = default;
  };
  // What grows of a step. Of a buffer it is the index (which block, scratch or round), and the offset.
  struct Growths {
    Growth peer, slot, from_index, from_offset, into_index, into_offset;
  };
  // Step `to` waits for step `from` of the trip so many before; fewer than there are seats.
  struct Carried {
    uint32_t from, to, trips;
  };

  std::vector<Growths> growths;  // by step
  std::vector<Carried> carried;
  uint32_t trips = 0;
  uint32_t row = UINT32_MAX;  // trips that stand in one
  // As many trips are under way at once, at most: trip t begins when trip t - seats is over.
  uint32_t seats = 1;
  uint32_t sends = 0, recvs = 0, ranges = 0;  // of a trip; those of a plan are of as many trips as there are seats

  Step at(uint32_t step, uint32_t trip) const;
};

struct Plan : Graph {
  std::vector<Loop> loops;
  std::vector<Scratch> scratch;
  uint32_t sends = 0;
  uint32_t recvs = 0;
  uint32_t shows = 0;   // of the sends: those of shares
  uint32_t takes = 0;   // of the receives
  uint32_t ranges = 0;  // of packed bytes, one for each message that is one
  LaneSize lane = LaneSize::none;
  uint32_t rounds = 0;  // that it takes in the lane
  uint64_t chance = 0;  // by which it lingers

  bool is_program() const { return lane != LaneSize::none && sends == shows && recvs == takes; }
  size_t written_steps() const;  // with those of a trip of each loop
};

// The same without loops: all their trips, step by step. `line_of`: if asked for, by step, its line in to_string(plan).
Plan unrolled(const Plan& plan, std::vector<uint32_t>* line_of = nullptr);

// Where a part of a plan has its input or its output: where the whole call has it, or elsewhere.
struct DataPlace {
  bool same = true;
  Buf at = {};                       // else element 0; if in bytes, an element is a byte
  int64_t packed = 0;                // bytes in front of `at`, if packed, where it is in elements
  std::vector<int64_t> blocks = {};  // v forms: where each block begins behind `at`, in what that counts; the end

  Buf operator()(const Buf& buf) const;
};

// Both at once, neither waiting for the other; `empty` moves no data. Complete when both are.
Plan together(Plan plan, const Plan& empty);

// The same for a program, which then ends with a round in which all meet.
Plan meeting(Plan program);
// The program, lingering before each step that others see or that looks at others.
Plan lingering(const Plan& program, uint64_t chance);

std::string to_string(const Buf& buf);
std::string to_string(const Plan& plan);  // a line a step

// Writes a plan. Steps between two fences run concurrently; a fence waits for all before it.
// after() adds a single dependency, for pipelines. Copies and reductions of nothing are left out.
class PlanBuilder {
 public:
  using Id = int32_t;
  static constexpr Id kNone = -1;

  explicit PlanBuilder(const Shape& shape);

  // The whole input and output of calls that have one block there; reductions in place: in() is
  // out().
  Buf in() const;
  Buf out() const;
  // Block i of the input or output of calls that have one block a rank.
  Buf in_block(int i) const { return blocks(Region::input, i, 1); }
  Buf out_block(int i) const { return blocks(Region::output, i, 1); }
  // `n` adjacent blocks; not in v and w forms, whose blocks may lie anywhere.
  Buf in_blocks(int first, int n) const { return blocks(Region::input, first, n); }
  Buf out_blocks(int first, int n) const { return blocks(Region::output, first, n); }

  Buf scratch_like(const Buf& like) { return add_scratch({like, false}); }
  Buf scratch_packed(const Buf& like) { return add_scratch({like, true}); }
  Buf scratch_bytes(int64_t bytes) { return add_scratch({{Region::scratch, Unit::bytes, 0, 0, bytes}, true}); }

  PlanBuilder& send(const Buf& from, int peer);
  PlanBuilder& recv(const Buf& into, int peer);
  PlanBuilder& reduce(const Buf& left, const Buf& into);
  PlanBuilder& copy(const Buf& from, const Buf& into);
  // Shared memory. The builder's fences mean nothing then.
  void share(LaneSize lane) { plan_.lane = lane; }
  int round() { return static_cast<int>(plan_.rounds++); }
  void take_rounds(int64_t number) { plan_.rounds += static_cast<uint32_t>(number); }  // those from 0 on, in a new plan
  // Bytes, or elements of the output's type, of a rank's slot.
  Buf slot_bytes(int round, int rank, int64_t offset, int64_t bytes) const {
    return {Region::shared, Unit::bytes, static_cast<uint32_t>(round), offset, bytes, rank};
  }
  Buf slot_elements(int round, int rank, int64_t first, int64_t count) const {
    return {Region::shared, Unit::out_type, static_cast<uint32_t>(round), first, count, rank};
  }
  Buf in_packed(int64_t offset, int64_t bytes) const { return {Region::input, Unit::packed, 0, offset, bytes}; }
  Buf out_packed(int64_t offset, int64_t bytes) const { return {Region::output, Unit::packed, 0, offset, bytes}; }
  PlanBuilder& claim(int round) { return add_shared(Step::Kind::claim, round, -1); }
  PlanBuilder& publish(int round, int to = -1) { return add_shared(Step::Kind::publish, round, to); }
  PlanBuilder& await(int round, int from = -1) { return add_shared(Step::Kind::await, round, from); }
  PlanBuilder& leave(int round) { return add_shared(Step::Kind::leave, round, -1); }
  // Each take has its expect before it, from where on nobody else touches the block, and follows
  // the await of its peer's slot. Between two ranks there is one show, or none. A block that is
  // overwritten before the end is kept apart: scratch_kept.
  PlanBuilder& show(const Buf& block, const Buf& share, int peer, const Buf* kept = nullptr);
  PlanBuilder& expect(const Buf& share, const Buf& block, int peer);
  PlanBuilder& take(const Buf& share, const Buf& block, int peer);
  Buf scratch_kept(const Buf& block, const Buf& share) { return add_scratch({block, true, room_in(share)}); }

  // A plan for some ranks of this one's: `ranks` tells which they are. Fenced on both sides.
  PlanBuilder& append(const Plan& part, std::span<const int> ranks, const DataPlace& in, const DataPlace& out);

  // Trips 0 … number - 1, each of which `body` writes when it is asked for it, which may be twice; without fences. They go on
  // at the same time, but for what `seats` and after_earlier() say, and, in programs, one after the other. As far as they grow
  // evenly they become loops, if they have more steps than the shape's `written_out`.
  struct Trips {
    int64_t number = 0;
    uint32_t seats = 0;  // if not 0: trip t begins when trip t - seats is over
    int64_t row = 0;     // if not 0: after so many trips numbers go on in another way
  };
  PlanBuilder& repeat(const Trips& trips, const std::function<void(int64_t)>& body);
  // In a trip: the latest step has this name in each of them, and none before it, …
  PlanBuilder& name(int latest);
  // … the latest step waits for the one of this name of the trip so many before, if there is one.
  PlanBuilder& after_earlier(int name, uint32_t trips);

  PlanBuilder& fence();
  // The latest step waits for `step` as well. kNone, or a latest step that was left out: nothing.
  PlanBuilder& after(Id step);
  Id last() const { return last_; }  // the latest step; kNone if it was left out

  Plan done();

 private:
  // A trip as its body has written it: its messages have no numbers yet.
  struct Trip {
    struct Earlier {
      int name;
      uint32_t to, trips;
      bool operator==(const Earlier&) const = default;
    };
    std::vector<Step> steps;
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    std::vector<std::pair<int, uint32_t>> names;  // and the step that has it
    std::vector<Earlier> earlier;
  };
  class Repetition;

  Buf blocks(Region region, int first, int n) const;
  Buf add_scratch(Scratch scratch);
  PlanBuilder& add(Step step);
  void number(Step& message);
  PlanBuilder& add_shared(Step::Kind kind, int round, int peer);
  PlanBuilder& repeat(const Trips& trips, const std::function<void(int64_t)>& body, int64_t written_out);
  void enclose(uint32_t begin, uint32_t end);
  void join_groups();
  Buf numbered(Buf message);

  const Shape& shape_;
  Plan plan_;
  Trip* trip_ = nullptr;                              // that is being written
  std::vector<std::pair<uint32_t, uint32_t>> edges_;  // from, to
  std::vector<uint32_t> groups_{0};                   // first step after each fence
  PeerCounts sent_, received_;                        // messages so far
  Id last_ = kNone;
};

}  // namespace tutti::coll
