// SPDX-License-Identifier: BSD-3-Clause
#include "replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <unordered_map>

namespace tutti::coll::replay {
namespace {

struct Extent {
  Region region;
  uint32_t index;  // of a scratch
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

int64_t scratch_cells(const Rank& rank, const Plan& plan, uint32_t index);

Extent extent_of(const Rank& rank, const Plan& plan, const Buf& b) {
  const auto block = [&](const std::vector<Block>& blocks) {
    const Block& at = blocks.at(b.index);
    return Extent{b.region, 0, at.offset, at.offset + at.count};
  };
  const uint32_t index = b.region == Region::scratch ? b.index : 0;
  switch (b.unit) {
    case Unit::in_block:
      return block(rank.in_blocks);
    case Unit::out_block:
      return block(rank.out_blocks);
    case Unit::bytes:
      if (b.count < 0) return {b.region, index, 0, scratch_cells(rank, plan, b.index)};
      return {b.region, index, b.offset, b.offset + b.count};
    case Unit::in_type:
      return {b.region, index, b.offset * rank.in_cells, (b.offset + b.count) * rank.in_cells};
    case Unit::out_type:
      break;
  }
  return {b.region, index, b.offset * rank.out_cells, (b.offset + b.count) * rank.out_cells};
}

int64_t scratch_cells(const Rank& rank, const Plan& plan, uint32_t index) {
  return extent_of(rank, plan, plan.scratch[index].like).size();
}

class Machine {
 public:
  Machine(std::vector<Rank>& ranks, const Algorithm& algorithm, Sends sends, uint64_t seed)
      : ranks_(ranks), sends_(sends), random_(seed) {
    for (Rank& rank : ranks) {
      states_.emplace_back();
      State& state = states_.back();
      state.plan = algorithm.build(rank.shape);
      state.waits = state.plan.waits;
      state.done.resize(state.plan.steps.size());
      for (uint32_t i = 0; i < state.plan.scratch.size(); ++i)
        state.scratch.emplace_back(static_cast<size_t>(scratch_cells(rank, state.plan, i)));
      left_ += state.plan.steps.size();
    }
  }

  std::string run() {
    for (int r = 0; r < size(); ++r) {
      const Plan& plan = state(r).plan;
      if (std::string wrong = conflict(ranks_[static_cast<size_t>(r)], plan); !wrong.empty())
        return told(r, wrong);
      for (uint32_t i = 0; i < plan.steps.size(); ++i)
        if (plan.waits[i] == 0) ready_.push_back({r, i});
    }
    while (!ready_.empty() && wrong_.empty()) {
      std::swap(ready_[random_() % ready_.size()], ready_.back());
      const At at = ready_.back();
      ready_.pop_back();
      perform(at);
    }
    if (!wrong_.empty()) return wrong_;
    for (const auto& [key, message] : messages_)
      if (message.carries)
        return told(message.sender.rank,
                    fmt::format("what step {} sends is never received", message.sender.step));
    if (left_ == 0) return {};
    for (int r = 0; r < size(); ++r)
      for (uint32_t i = 0; i < state(r).plan.steps.size(); ++i)
        if (state(r).waits[i] == 0 && !state(r).done[i])
          return told(r, fmt::format("deadlock: step {} never ends", i));
    return "deadlock: steps wait for each other in a circle";
  }

 private:
  struct At {
    int rank = -1;
    uint32_t step = 0;
  };
  struct Message {
    At sender, receiver;
    bool carries = false;  // an eager one
    std::vector<Cell> cells;
  };
  struct State {
    Plan plan;
    std::vector<uint32_t> waits;
    std::vector<std::vector<Cell>> scratch;
    std::vector<bool> done;
  };

  int size() const { return static_cast<int>(ranks_.size()); }
  State& state(int rank) { return states_[static_cast<size_t>(rank)]; }
  const Step& step(At at) { return state(at.rank).plan.steps[at.step]; }
  std::string told(int rank, const std::string& what) {
    return fmt::format("rank {} of {}: {}\n{}", rank, size(), what, to_string(state(rank).plan));
  }
  void wrong(At at, const std::string& what) {
    if (wrong_.empty()) wrong_ = told(at.rank, fmt::format("step {}: {}", at.step, what));
  }

  std::vector<Cell>* memory(int rank, const Extent& e) {
    Rank& r = ranks_[static_cast<size_t>(rank)];
    switch (e.region) {
      case Region::input:
        return &r.input;
      case Region::output:
        return &r.output;
      case Region::scratch:
        break;
    }
    return &state(rank).scratch[e.index];
  }
  std::vector<Cell> read(At at, const Buf& buf) {
    const Extent e = extent_of(ranks_[static_cast<size_t>(at.rank)], state(at.rank).plan, buf);
    const std::vector<Cell>& from = *memory(at.rank, e);
    if (e.begin < 0 || e.end > static_cast<int64_t>(from.size())) {
      wrong(at, "reads outside of " + to_string(buf));
      return {};
    }
    std::vector<Cell> cells(from.begin() + e.begin, from.begin() + e.end);
    for (const Cell& cell : cells)
      if (cell.who == 0) {
        wrong(at, "reads what nobody wrote in " + to_string(buf));
        break;
      }
    return cells;
  }
  void write(At at, const Buf& buf, const std::vector<Cell>& cells) {
    const Extent e = extent_of(ranks_[static_cast<size_t>(at.rank)], state(at.rank).plan, buf);
    std::vector<Cell>& to = *memory(at.rank, e);
    if (e.size() != static_cast<int64_t>(cells.size()))
      return wrong(at,
                   fmt::format("{} cells for {} in {}", cells.size(), e.size(), to_string(buf)));
    if (e.begin < 0 || e.end > static_cast<int64_t>(to.size()))
      return wrong(at, "writes outside of " + to_string(buf));
    if (e.region == Region::input && e.size() > 0) return wrong(at, "writes the input");
    std::copy(cells.begin(), cells.end(), to.begin() + e.begin);
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
      case Step::Kind::join:
        break;
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
  uint64_t key(int from, int to, int slot) const {
    return (static_cast<uint64_t>(from) * static_cast<uint64_t>(size()) + static_cast<uint64_t>(to))
               << 24 |
           static_cast<uint64_t>(slot);
  }
  void send(At at, const Step& s) {
    Message& m = messages_[key(at.rank, s.peer, s.slot)];
    m.sender = at;
    if (m.receiver.rank >= 0) {
      write(m.receiver, step(m.receiver).into, read(at, s.from));
      const At receiver = m.receiver;
      messages_.erase(key(at.rank, s.peer, s.slot));
      finish(receiver);
      return finish(at);
    }
    if (sends_ == Sends::synchronous) return;
    m.carries = true;
    m.cells = read(at, s.from);
    finish(at);
  }
  void recv(At at, const Step& s) {
    Message& m = messages_[key(s.peer, at.rank, s.slot)];
    m.receiver = at;
    if (m.sender.rank < 0) return;
    write(at, s.into, m.carries ? m.cells : read(m.sender, step(m.sender).from));
    const At sender = m.sender;
    const bool completes_sender = !m.carries;
    messages_.erase(key(s.peer, at.rank, s.slot));
    if (completes_sender) finish(sender);
    finish(at);
  }
  void finish(At at) {
    State& s = state(at.rank);
    --left_;
    s.done[at.step] = true;
    for (uint32_t f = s.plan.first_follower[at.step]; f < s.plan.first_follower[at.step + 1]; ++f)
      if (--s.waits[s.plan.followers[f]] == 0) ready_.push_back({at.rank, s.plan.followers[f]});
  }

  std::vector<Rank>& ranks_;
  const Sends sends_;
  std::mt19937_64 random_;
  std::vector<State> states_;
  std::vector<At> ready_;
  std::unordered_map<uint64_t, Message> messages_;
  size_t left_ = 0;
  std::string wrong_;
};

// For each step, a bit for every step that it follows, however far.
class Ancestors {
 public:
  explicit Ancestors(const Plan& plan)
      : words_((plan.steps.size() + 63) / 64), bits_(words_ * plan.steps.size()) {
    std::vector<uint32_t> waits = plan.waits, ready;
    for (uint32_t i = 0; i < waits.size(); ++i)
      if (waits[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const uint32_t i = ready.back();
      ready.pop_back();
      for (uint32_t f = plan.first_follower[i]; f < plan.first_follower[i + 1]; ++f) {
        const uint32_t to = plan.followers[f];
        for (size_t w = 0; w < words_; ++w) bits_[to * words_ + w] |= bits_[i * words_ + w];
        bits_[to * words_ + i / 64] |= uint64_t{1} << (i % 64);
        if (--waits[to] == 0) ready.push_back(to);
      }
    }
  }
  bool follows(uint32_t later, uint32_t earlier) const {
    return bits_[later * words_ + earlier / 64] >> (earlier % 64) & 1;
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
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
  return Machine(ranks, algorithm, sends, seed).run();
}

std::string conflict(const Rank& rank, const Plan& plan) {
  struct Access {
    Extent extent;
    uint32_t step;
    bool writes;
  };
  std::vector<Access> accesses;
  const auto add = [&](const Buf& buf, uint32_t step, bool writes) {
    const Extent e = extent_of(rank, plan, buf);
    if (e.size() > 0) accesses.push_back({e, step, writes});
  };
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    const Step& s = plan.steps[i];
    if (s.kind == Step::Kind::join) continue;
    if (s.kind != Step::Kind::recv) add(s.from, i, false);
    if (s.kind != Step::Kind::send) add(s.into, i, true);
  }
  std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
    return std::tuple(a.extent.region, a.extent.index, a.extent.begin) <
           std::tuple(b.extent.region, b.extent.index, b.extent.begin);
  });
  const Ancestors ancestors(plan);
  for (size_t i = 0; i < accesses.size(); ++i)
    for (size_t j = i + 1; j < accesses.size(); ++j) {
      const Access &a = accesses[i], &b = accesses[j];
      if (b.extent.region != a.extent.region || b.extent.index != a.extent.index ||
          b.extent.begin >= a.extent.end)
        break;
      if (!a.writes && !b.writes) continue;
      if (a.step == b.step) return fmt::format("step {} reads and writes the same memory", a.step);
      if (!ancestors.follows(a.step, b.step) && !ancestors.follows(b.step, a.step))
        return fmt::format("steps {} and {} touch the same memory at the same time", a.step,
                           b.step);
    }
  return {};
}

}  // namespace tutti::coll::replay
