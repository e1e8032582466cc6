// SPDX-License-Identifier: BSD-3-Clause
#include "replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <unordered_map>

#include "replay_checks.hpp"

namespace tutti::coll::replay {
namespace {

class Machine {
 public:
  Machine(const std::vector<Outstanding*>& calls, Sends sends, uint64_t seed, bool one_by_one)
      : size_(static_cast<int>(calls[0]->ranks->size())), sends_(sends), one_by_one_(one_by_one), random_(seed) {
    for (int r = 0; r < size_; ++r)
      for (const bool large : {false, true}) {
        LaneSize& lane = lane_of(calls[0]->ranks->at(static_cast<size_t>(r)), large);
        lane.left.resize(lane.left.size() + 1);
      }
    for (Outstanding* call : calls) add(*call);
  }

  std::string run() {
    if (!wrong_.empty()) return wrong_;
    for (int call = 0; call < calls(); ++call)
      for (int r = 0; r < size_; ++r)
        for (const auto refusal : {misdescribed, conflict})
          if (std::string wrong = refusal(rank_of({call, r}), state({call, r}).plan); !wrong.empty())
            return told({call, r}, wrong);
    for (int call = 0; call < (one_by_one_ ? 1 : calls()); ++call)
      for (int r = 0; r < size_; ++r) start({call, r});
    while (!ready_.empty() && wrong_.empty()) {
      std::swap(ready_[random_() % ready_.size()], ready_.back());
      const At at = ready_.back();
      ready_.pop_back();
      perform(at);
    }
    if (!wrong_.empty()) return wrong_;
    for (const auto& [key, message] : messages_)
      if (message.carries || message.beside)
        return told(message.sender, fmt::format("what step {} sends is never received", message.sender.step));
    if (left_ > 0) return deadlock();
    for (const auto& [place, lane] : lanes_)
      for (size_t i = 0; i < lane.left.size(); ++i)
        if (lane.left[i].before != lane.rounds)
          return fmt::format("rank {} of node {} never leaves a round", i, place.first);
    return {};
  }

 private:
  struct At {
    int call = 0, rank = -1;
    uint32_t step = 0;
  };
  struct Message {
    At sender, receiver;
    bool carries = false;  // an eager one
    bool beside = false;   // of a block that is too long for its share: its sender goes on
    std::vector<Cell> cells;
  };
  struct State {
    Plan plan;
    std::vector<uint32_t> waits;
    std::vector<std::vector<Cell>> scratch;
    std::vector<bool> done;
    size_t left = 0;  // steps
    int64_t first_round = 0;
    std::vector<std::vector<bool>> awaited;  // by round of the plan and rank
    std::vector<bool> claimed, has_left;     // by round of the plan
  };
  // The rules of transport/shared/lane.hpp.
  struct Slot {
    std::vector<Cell> cells;
    bool raised = false;
    std::map<int64_t, int64_t> blocks;  // by where a share begins: the cells that its head tells of
  };
  struct Left {
    int64_t before = 0;          // rounds, in order
    std::vector<int64_t> early;  // and others
  };
  struct LaneSize {
    int64_t rounds = 0;
    std::map<std::pair<int64_t, int>, Slot> slots;  // by round and rank
    std::vector<Left> left;
  };

  int calls() const { return static_cast<int>(states_.size()); }
  State& state(At at) { return states_[static_cast<size_t>(at.call)][static_cast<size_t>(at.rank)]; }
  Rank& rank_of(At at) { return (*collectives_[static_cast<size_t>(at.call)]->ranks)[static_cast<size_t>(at.rank)]; }
  static int node_of(const Rank& rank) { return rank.shape.nodes ? rank.shape.nodes->node() : 0; }
  LaneSize& lane_of(const Rank& rank, bool large) { return lanes_[{node_of(rank), large}]; }
  LaneSize& lane_of(At at) { return lane_of(rank_of(at), state(at).plan.lane == coll::LaneSize::large); }
  // My number on my node, where slots are told apart by it.
  int local(At at) {
    const NodeLayout* nodes = rank_of(at).shape.nodes;
    return nodes ? nodes->local() : at.rank;
  }
  const Step& step(At at) { return state(at).plan.steps[at.step]; }
  std::string told(At at, const std::string& what) {
    return fmt::format("rank {} of {}: {}\n{}", at.rank, size_, what, to_string(state(at).plan));
  }
  void wrong(At at, const std::string& what) {
    if (wrong_.empty()) wrong_ = told(at, fmt::format("step {}: {}", at.step, what));
  }

  void add(Outstanding& call) {
    collectives_.push_back(&call);
    std::vector<State>& states = states_.emplace_back();
    std::map<int, size_t> first_of;  // by node: its first rank
    for (Rank& rank : *call.ranks) {
      State& s = states.emplace_back();
      s.plan = plan_of(*call.algorithm, rank.shape);
      s.waits = s.plan.waits;
      s.left = s.plan.steps.size();
      s.done.resize(s.left);
      for (uint32_t i = 0; i < s.plan.scratch.size(); ++i)
        s.scratch.emplace_back(static_cast<size_t>(scratch_cells(rank, s.plan, i)));
      left_ += s.left;
      const Plan& first = states[first_of.emplace(node_of(rank), states.size() - 1).first->second].plan;
      if (s.plan.lane != first.lane || s.plan.rounds != first.rounds)
        wrong_ = "ranks take different rounds\n" + to_string(first) + to_string(s.plan);
      s.first_round = lane_of(rank, first.lane == coll::LaneSize::large).rounds;
      s.awaited.assign(s.plan.rounds, std::vector<bool>(static_cast<size_t>(size_)));
      s.claimed.resize(s.plan.rounds);
      s.has_left.resize(s.plan.rounds);
    }
    for (const auto& [node, first] : first_of) {
      const Plan& plan = states[first].plan;
      lanes_[{node, plan.lane == coll::LaneSize::large}].rounds += plan.rounds;
    }
  }
  // By chance as it is built for few ranks, or with all loops that there may be, which must say the same.
  Plan plan_of(const Algorithm& algorithm, Shape shape) {
    shape.written_out = INT64_MAX;
    if (random_() % 4 != 0) return algorithm.build(shape);
    const Plan written = algorithm.build(shape);
    shape.written_out = 1;
    const Plan with_loops = algorithm.build(shape);
    Plan all = unrolled(with_loops);
    if (!say_the_same(written, all))
      wrong_ = "loops say something else\n" + to_string(written) + "\n" + to_string(with_loops) + "\n" + to_string(all);
    return all;
  }
  void start(At at) {
    const Plan& plan = state(at).plan;
    for (uint32_t i = 0; i < plan.steps.size(); ++i)
      if (plan.waits[i] == 0) ready_.push_back({at.call, at.rank, i});
    if (plan.steps.empty()) call_done(at);
  }
  void call_done(At at) {
    if (one_by_one_ && at.call + 1 < calls()) start({at.call + 1, at.rank});
  }
  std::string deadlock() {
    for (int call = 0; call < calls(); ++call)
      for (int r = 0; r < size_; ++r)
        for (uint32_t i = 0; i < state({call, r}).plan.steps.size(); ++i)
          if (state({call, r}).waits[i] == 0 && !state({call, r}).done[i])
            return told({call, r}, fmt::format("deadlock: step {} never ends", i));
    return "deadlock: steps wait for each other in a circle";
  }

  std::vector<Cell>* memory(At at, const Extent& e) {
    Rank& r = rank_of(at);
    switch (e.region) {
      case Region::input:
        return &r.input;
      case Region::output:
        return &r.output;
      default:
        break;
    }
    return &state(at).scratch[e.index];
  }
  // A slot's memory, if the rank may touch it now.
  std::vector<Cell>* shared(At at, const Buf& buf, bool writes) {
    State& s = state(at);
    const bool mine = buf.rank == local(at);
    if (s.has_left[buf.index]) return wrong(at, "touches a round that it has left"), nullptr;
    if (writes && !mine) return wrong(at, "writes the slot of another rank"), nullptr;
    if (mine && !s.claimed[buf.index]) return wrong(at, "touches a slot not claimed"), nullptr;
    if (!mine && !s.awaited[buf.index][static_cast<size_t>(buf.rank)])
      return wrong(at, "reads a slot not awaited"), nullptr;
    Slot& slot = lane_of(at).slots[{s.first_round + buf.index, buf.rank}];
    if (writes && slot.raised) return wrong(at, "writes a slot that is published"), nullptr;
    const Shape& shape = rank_of(at).shape;
    slot.cells.resize(static_cast<size_t>(s.plan.lane == coll::LaneSize::small ? shape.small_slot : shape.large_slot));
    return &slot.cells;
  }
  std::vector<Cell> read(At at, const Buf& buf) {
    const Extent e = extent_of(rank_of(at), state(at).plan, buf);
    const std::vector<Cell>* from = buf.region == Region::shared ? shared(at, buf, false) : memory(at, e);
    if (!from) return {};
    if (e.begin < 0 || e.end > static_cast<int64_t>(from->size())) {
      wrong(at, "reads outside of " + to_string(buf));
      return {};
    }
    std::vector<Cell> cells(from->begin() + e.begin, from->begin() + e.end);
    for (const Cell& cell : cells)
      if (cell.who == 0) {
        wrong(at, "reads what nobody wrote in " + to_string(buf));
        break;
      }
    return cells;
  }
  void write(At at, const Buf& buf, const std::vector<Cell>& cells) {
    const Extent e = extent_of(rank_of(at), state(at).plan, buf);
    std::vector<Cell>* to = buf.region == Region::shared ? shared(at, buf, true) : memory(at, e);
    if (!to) return;
    if (e.size() != static_cast<int64_t>(cells.size()))
      return wrong(at, fmt::format("{} cells for {} in {}", cells.size(), e.size(), to_string(buf)));
    if (e.begin < 0 || e.end > static_cast<int64_t>(to->size()))
      return wrong(at, "writes outside of " + to_string(buf));
    if (e.region == Region::input && e.size() > 0) return wrong(at, "writes the input");
    std::copy(cells.begin(), cells.end(), to->begin() + e.begin);
  }

  void perform(At at) {
    const Step& s = step(at);
    switch (s.kind) {
      case Step::Kind::send:
        return send(at, s);
      case Step::Kind::recv:
        return recv(at, s);
      case Step::Kind::copy:
        write(at, s.into, read(at, s.from));
        break;
      case Step::Kind::reduce:
        reduce(at, s);
        break;
      case Step::Kind::show:
        show(at, s);
        break;
      case Step::Kind::expect:
        expect(at, s);
        break;
      case Step::Kind::take:
        if (!take(at, s)) return;
        break;
      case Step::Kind::claim:
      case Step::Kind::await:
        if (!(s.kind == Step::Kind::claim ? claim(at, s) : await(at, s))) return stuck_.push_back(at);
        break;
      case Step::Kind::publish:
        lane_of(at).slots[{state(at).first_round + s.slot, local(at)}].raised = true;
        retry();
        break;
      case Step::Kind::leave:
        leave(at, s);
        break;
      case Step::Kind::join:
      case Step::Kind::linger:
        break;
      case Step::Kind::loop:
        return wrong(at, "is a loop");
    }
    finish(at);
  }
  void reduce(At at, const Step& s) {
    const std::vector<Cell> left = read(at, s.from);
    std::vector<Cell> right = read(at, s.into);
    if (left.size() != right.size()) return wrong(at, "operands of different lengths");
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i].what != right[i].what) return wrong(at, "operands that do not belong together");
      right[i].who += left[i].who;
      const bool in_order = left[i].first >= 0 && left[i].end == right[i].first;
      right[i].first = in_order ? left[i].first : -1;
      if (!in_order) right[i].end = -1;
    }
    write(at, s.into, right);
  }

  // ---- shared memory

  bool claim(At at, const Step& s) {
    const int64_t round = state(at).first_round + s.slot;
    for (const Left& left : lane_of(at).left)
      if (left.before <= round - windows(at)) return false;
    state(at).claimed[static_cast<size_t>(s.slot)] = true;
    return true;
  }
  bool await(At at, const Step& s) {
    std::vector<bool>& awaited = state(at).awaited[static_cast<size_t>(s.slot)];
    const int64_t round = state(at).first_round + s.slot;
    const auto neighbours = static_cast<int>(lane_of(at).left.size());
    for (int r = s.peer < 0 ? 0 : s.peer; r < (s.peer < 0 ? neighbours : s.peer + 1); ++r) {
      if (r == local(at)) continue;
      const auto slot = lane_of(at).slots.find({round, r});
      if (slot == lane_of(at).slots.end() || !slot->second.raised) return false;
      awaited[static_cast<size_t>(r)] = true;
    }
    return true;
  }
  void leave(At at, const Step& s) {
    if (state(at).has_left[static_cast<size_t>(s.slot)]) return wrong(at, "leaves a round twice");
    state(at).has_left[static_cast<size_t>(s.slot)] = true;
    LaneSize& lane = lane_of(at);
    Left& left = lane.left[static_cast<size_t>(local(at))];
    left.early.push_back(state(at).first_round + s.slot);
    for (auto next = left.early.begin(); next != left.early.end();) {
      next = std::find(left.early.begin(), left.early.end(), left.before);
      if (next == left.early.end()) break;
      left.early.erase(next);
      ++left.before;
      next = left.early.begin();
    }
    // What all have left is as good as overwritten.
    int64_t least = left.before;
    for (const Left& other : lane.left) least = std::min(least, other.before);
    lane.slots.erase(lane.slots.begin(), lane.slots.lower_bound({least, 0}));
    retry();
  }
  void retry() {
    ready_.insert(ready_.end(), stuck_.begin(), stuck_.end());
    stuck_.clear();
  }

  // ---- blocks in shares, or beside them

  static Buf room(const Buf& share, int64_t cells) { return share.slice(share.count - room_in(share), cells); }
  void show(At at, const Step& s) {
    const std::vector<Cell> cells = read(at, s.from);
    const auto count = static_cast<int64_t>(cells.size());
    if (!shared(at, s.into, true)) return;
    if (s.into.offset < 0 || s.into.offset + s.into.count > slot_bytes(at))
      return wrong(at, "has a share outside of its slot");
    Slot& slot = lane_of(at).slots[{state(at).first_round + s.into.index, s.into.rank}];
    for (const auto& [begin, other] : slot.blocks)
      if (begin < s.into.offset + s.into.count && s.into.offset < begin + s.into.count)
        return wrong(at, "shows two blocks in one share");
    slot.blocks[s.into.offset] = count;
    if (count <= room_in(s.into)) return write(at, room(s.into, count), cells);
    // Its memory is read when the receive is there, or now: nobody waits for it in either case.
    Message& m = messages_[key(at.call, at.rank, s.peer, s.slot)];
    m.sender = at;
    m.beside = true;
    m.carries = sends_ == Sends::eager || s.kept >= 0;
    if (m.carries) m.cells = cells;
    if (s.kept >= 0 && state(at).scratch[static_cast<size_t>(s.kept)].size() != cells.size())
      return wrong(at, "keeps a block in a scratch of another length");
    if (m.receiver.rank >= 0) take_message(m.receiver);
  }
  // What a message may fill from now on is not to be read any more.
  void expect(At at, const Step& s) {
    const Extent e = extent_of(rank_of(at), state(at).plan, s.into);
    if (e.size() <= room_in(s.from)) return;
    std::vector<Cell>& cells = *memory(at, e);
    std::fill(cells.begin() + e.begin, cells.begin() + e.end, Cell());
  }
  // False: not yet.
  bool take(At at, const Step& s) {
    if (!shared(at, s.from, false)) return true;
    const Slot& slot = lane_of(at).slots[{state(at).first_round + s.from.index, s.from.rank}];
    const auto told = slot.blocks.find(s.from.offset);
    if (told == slot.blocks.end()) return wrong(at, "takes a block that nobody shows"), true;
    if (told->second <= room_in(s.from)) {
      write(at, s.into, read(at, room(s.from, told->second)));
      return true;
    }
    Message& m = messages_[key(at.call, s.peer, at.rank, s.slot)];
    m.receiver = at;
    if (m.sender.rank >= 0) take_message(at);
    return false;
  }
  void take_message(At at) {
    const Step& s = step(at);
    const Key which = key(at.call, s.peer, at.rank, s.slot);
    const Message& m = messages_[which];
    write(at, s.into, m.carries ? m.cells : read(m.sender, step(m.sender).from));
    messages_.erase(which);
    finish(at);
  }
  int64_t slot_bytes(At at) {
    const Shape& shape = rank_of(at).shape;
    return state(at).plan.lane == coll::LaneSize::small ? shape.small_slot : shape.large_slot;
  }
  int64_t windows(At at) {
    return state(at).plan.lane == coll::LaneSize::small ? kWindows : rank_of(at).shape.large_windows;
  }

  // ---- messages

  using Key = std::pair<int, uint64_t>;
  Key key(int call, int from, int to, int slot) const {
    return {call, (static_cast<uint64_t>(from) * static_cast<uint64_t>(size_) + static_cast<uint64_t>(to)) << 24 |
                      static_cast<uint64_t>(slot)};
  }
  struct Hash {
    size_t operator()(const Key& key) const {
      return std::hash<uint64_t>()(key.second ^ static_cast<uint64_t>(key.first) << 56);
    }
  };
  void send(At at, const Step& s) {
    Message& m = messages_[key(at.call, at.rank, s.peer, s.slot)];
    m.sender = at;
    if (m.receiver.rank >= 0) {
      write(m.receiver, step(m.receiver).into, read(at, s.from));
      const At receiver = m.receiver;
      messages_.erase(key(at.call, at.rank, s.peer, s.slot));
      finish(receiver);
      return finish(at);
    }
    if (sends_ == Sends::synchronous) return;
    m.carries = true;
    m.cells = read(at, s.from);
    finish(at);
  }
  void recv(At at, const Step& s) {
    Message& m = messages_[key(at.call, s.peer, at.rank, s.slot)];
    m.receiver = at;
    if (m.sender.rank < 0) return;
    write(at, s.into, m.carries ? m.cells : read(m.sender, step(m.sender).from));
    const At sender = m.sender;
    const bool completes_sender = !m.carries;
    messages_.erase(key(at.call, s.peer, at.rank, s.slot));
    if (completes_sender) finish(sender);
    finish(at);
  }
  void finish(At at) {
    State& s = state(at);
    --left_;
    s.done[at.step] = true;
    for (uint32_t f = s.plan.first_follower[at.step]; f < s.plan.first_follower[at.step + 1]; ++f)
      if (--s.waits[s.plan.followers[f]] == 0) ready_.push_back({at.call, at.rank, s.plan.followers[f]});
    if (--s.left == 0) call_done(at);
  }

  const int size_;
  const Sends sends_;
  const bool one_by_one_;
  std::mt19937_64 random_;
  std::vector<Outstanding*> collectives_;
  std::vector<std::vector<State>> states_;          // by call and rank
  std::map<std::pair<int, bool>, LaneSize> lanes_;  // by node, and whether it is the large one
  std::vector<At> ready_, stuck_;
  std::unordered_map<Key, Message, Hash> messages_;
  size_t left_ = 0;
  std::string wrong_;
};

}  // namespace

uint64_t number_of(int rank) {
  uint64_t h = (static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  return h ^ h >> 31;
}
Cell datum(int rank, int64_t what) {
  return {number_of(rank), rank, rank + 1, what};
}
Cell reduced(int first, int end, int64_t what) {
  Cell cell{0, first, end, what};
  for (int r = first; r < end; ++r) cell.who += number_of(r);
  return cell;
}

std::string run(std::vector<Rank>& ranks, const Algorithm& algorithm, Sends sends, uint64_t seed) {
  Outstanding call{&ranks, &algorithm};
  return Machine({&call}, sends, seed, false).run();
}
std::string run(std::vector<Outstanding>& calls, bool one_by_one, uint64_t seed) {
  std::vector<Outstanding*> pointers;
  for (Outstanding& call : calls) pointers.push_back(&call);
  return Machine(pointers, Sends::eager, seed, one_by_one).run();
}

}  // namespace tutti::coll::replay
