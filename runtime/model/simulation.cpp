// SPDX-License-Identifier: BSD-3-Clause
#include "model/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "model/clock.hpp"
#include "model/plans_in_short.hpp"
#include "transport/shared/area.hpp"

namespace tutti::model {
namespace {

using Kind = coll::Step::Kind;

class Machine {
 public:
  Machine(const Costs& costs, const Job& job, std::vector<ShortPlan> plans, Ranks ranks, const Recorder& recorder)
      : costs_(costs), job_(job), plans_(std::move(plans)), ranks_(ranks), recorder_(recorder) {
    const size_t nodes = ranks == Ranks::all ? static_cast<size_t>(job.nodes()) : 1;
    cores_.resize(plans_.size());
    cards_.resize(nodes);
    rounds_.resize(nodes);
    for (const ShortPlan& plan : plans_) {
      auto& rounds = rounds_[static_cast<size_t>(plan.node)];
      if (rounds.size() < plan.rounds) rounds.resize(plan.rounds);
      left_ += plan.steps.size() - 1;
    }
  }

  void run(Outcome& outcome) {
    for (size_t m = 0; m < plans_.size(); ++m)
      for (size_t i = 0; i + 1 < plans_[m].steps.size(); ++i)
        if (plans_[m].steps[i].waits == 0) clock_.at(0, {What::ready, static_cast<int>(m), static_cast<uint32_t>(i)});
    while (!clock_.over() && why_.empty()) {
      const Event event = clock_.next();
      if (event.what == What::ready) begin(event);
      if (event.what == What::arrives) arrive(event);
      if (event.what == What::goes_on) go_on(event);
    }
    if (why_.empty() && left_ > 0) why_ = fmt::format("{} steps are never done", left_);
    if (why_.empty() && !messages_.empty()) why_ = fmt::format("{} messages are never received", messages_.size());
    outcome.why = why_;
    outcome.whole = why_.empty();
    outcome.seconds = end_;
    for (const Card& card : cards_) {
      outcome.card_messages = std::max(outcome.card_messages, card.messages);
      outcome.card_bytes = std::max(outcome.card_bytes, card.bytes);
    }
  }

 private:
  enum class What : uint8_t {
    ready,    // a step waits for no other any more
    arrives,  // the first byte of what a send sent, at the receiver's card
    goes_on,  // a step has what it waited for
  };
  struct Event {
    What what;
    int member;  // whose plan; of what arrives the sender's
    uint32_t step;
  };
  struct Key {
    uint64_t ends, which;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>((key.ends ^ key.which * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u >> 7);
    }
  };
  struct Message {
    int64_t bytes = 0;
    double there = -1;  // when a receive may begin to take it; -1: not sent yet
    double whole = 0;   // when it cannot be over before
    int sender = -1;    // whose step `sent` goes on once the message has been read
    uint32_t sent = 0;
    int receiver = -1;  // -1: no receive is there yet
    uint32_t receive = 0;
  };
  struct Card {
    double out = 0, in = 0;  // busy until then
    int64_t messages = 0, bytes = 0;
  };
  struct Waiting {
    int member;
    uint32_t step;
  };
  struct Round {
    std::vector<double> raised;  // by rank of the node; -1: not yet
    int raised_by = 0, left_by = 0;
    double latest = 0, left = 0;
    std::vector<Waiting> for_flags, for_room;
  };

  const ShortStep& step_of(const Event& e) const { return plans_[static_cast<size_t>(e.member)].steps[e.step]; }
  const ShortPlan& plan_of(const Event& e) const { return plans_[static_cast<size_t>(e.member)]; }
  int ranks_of(int node) const { return std::min(job_.node_ranks, job_.ranks - node * job_.node_ranks); }
  // A rank's core does one thing after the other: when it is through with this one.
  double work(int member, double from, double seconds) {
    double& core = cores_[static_cast<size_t>(member)];
    return core = std::max(core, from) + seconds;
  }

  // The message between this step's rank and its peer: by the two and its number, or, where one node stands for all, by
  // the step that sends it.
  Key key_of(const Event& e, bool sends) const {
    const ShortStep& step = step_of(e);
    const auto mine = static_cast<uint64_t>(e.member), peer = static_cast<uint64_t>(step.peer);
    if (ranks_ == Ranks::of_one_node && step.crosses)
      return sends ? Key{mine, e.step} : Key{peer, static_cast<uint64_t>(step.slot)};
    return {(sends ? mine << 32 | peer : peer << 32 | mine) | uint64_t{1} << 63, static_cast<uint64_t>(step.slot)};
  }

  void begin(const Event& e) {
    const ShortStep& step = step_of(e);
    const double now = clock_.now();
    const auto bytes = static_cast<double>(step.bytes);
    switch (step.kind) {
      case Kind::send:
        return step.crosses ? send(e) : send_locally(e);
      case Kind::recv: {
        Message& message = messages_[key_of(e, false)];
        message.receiver = e.member, message.receive = e.step;
        return meet(message);
      }
      case Kind::copy:
      case Kind::reduce:
        return finish(
            e, work(e.member, now, costs_.step + bytes * costs_.copied_byte + (step.reads_slot ? costs_.look : 0)));
      case Kind::claim:
      case Kind::await:
        return wait(e);
      case Kind::publish:
        return publish(e);
      case Kind::leave:
        return leave(e);
      default:
        return finish(e, step.kind == Kind::join ? now : work(e.member, now, costs_.step));
    }
  }

  void send(const Event& e) {
    const ShortStep& step = step_of(e);
    Card& card = cards_[static_cast<size_t>(plan_of(e).node)];
    const double said = work(e.member, clock_.now(), costs_.overhead);
    const double first = std::max(said, card.out);
    card.out = first + static_cast<double>(step.bytes) * costs_.per_byte;
    ++card.messages;
    card.bytes += step.bytes;
    clock_.at(first + costs_.latency, {What::arrives, e.member, e.step});
    finish(e, step.bytes > costs_.eager ? card.out : said);
  }
  void arrive(const Event& e) {
    const ShortStep& step = step_of(e);
    const int there = ranks_ == Ranks::all ? step.peer / job_.node_ranks : 0;
    Card& card = cards_[static_cast<size_t>(there)];
    card.in = std::max(clock_.now(), card.in) + static_cast<double>(step.bytes) * costs_.per_byte;
    Message& message = messages_[key_of(e, true)];
    message.bytes = step.bytes;
    message.there = message.whole = card.in;
    meet(message);
  }
  void send_locally(const Event& e) {
    const ShortStep& step = step_of(e);
    Message& message = messages_[key_of(e, true)];
    message.bytes = step.bytes;
    if (step.bytes > costs_.local_read) {
      message.there = message.whole = work(e.member, clock_.now(), costs_.local_overhead) + costs_.local_latency;
      message.sender = e.member, message.sent = e.step;
    } else {
      // The receiver copies out while the sender copies in.
      const double said = work(e.member, clock_.now(), costs_.local_overhead);
      const double through = work(e.member, said, static_cast<double>(step.bytes) * costs_.copied_byte);
      message.there = said + costs_.local_latency;
      message.whole = through + costs_.local_latency;
      finish(e, through);
    }
    meet(message);
  }
  void meet(const Message& message) {
    if (message.there >= 0 && message.receiver >= 0)
      clock_.at(std::max(message.there, clock_.now()), {What::goes_on, message.receiver, message.receive});
  }

  void go_on(const Event& e) {
    const ShortStep& step = step_of(e);
    if (step.kind != Kind::recv) {
      const int flags = step.kind == Kind::await && step.peer < 0 ? ranks_of(plan_of(e).node) - 2 : 0;
      return finish(e, work(e.member, clock_.now(), costs_.step + std::max(flags, 0) * costs_.look));
    }
    const auto at = messages_.find(key_of(e, false));
    const Message message = at->second;
    messages_.erase(at);
    if (message.bytes != step.bytes) {
      why_ = fmt::format("a message of {} bytes meets a receive of {}", message.bytes, step.bytes);
      return;
    }
    double seconds = costs_.overhead;
    if (!step.crosses)
      seconds = costs_.local_overhead +
                static_cast<double>(step.bytes) * (message.sender >= 0 ? costs_.read_byte : costs_.copied_byte);
    const double over = std::max(work(e.member, clock_.now(), seconds), message.whole);
    if (message.sender >= 0) finish({What::ready, message.sender, message.sent}, over);
    finish(e, over);
  }

  // ---- shared memory (transport/shared/lane.hpp)

  Round& round_of(const ShortPlan& plan, int64_t round) {
    Round& found = rounds_[static_cast<size_t>(plan.node)][static_cast<size_t>(round)];
    if (found.raised.empty()) found.raised.assign(static_cast<size_t>(ranks_of(plan.node)), -1);
    return found;
  }
  int64_t windows(const ShortPlan& plan) const {
    const transport::LaneGeometry lane = plan.lane == coll::LaneSize::small ? transport::small_lane(job_.node_ranks)
                                                                            : transport::large_lane(job_.node_ranks);
    return lane.windows;
  }
  // When the flags that an await waits for are all there; -1: not yet.
  double flags_at(const ShortPlan& plan, const ShortStep& step, const Round& round) const {
    if (step.peer >= 0) return round.raised[static_cast<size_t>(step.peer)];
    const bool mine = round.raised[static_cast<size_t>(plan.local)] >= 0;
    return round.raised_by - mine == ranks_of(plan.node) - 1 ? round.latest : -1;
  }
  void wait(const Event& e) {
    const ShortStep& step = step_of(e);
    const ShortPlan& plan = plan_of(e);
    if (step.kind == Kind::claim) {
      const int64_t before = step.slot - windows(plan);
      if (before < 0) return finish(e, work(e.member, clock_.now(), costs_.step));
      Round& round = round_of(plan, before);
      if (round.left_by < ranks_of(plan.node)) return round.for_room.push_back({e.member, e.step});
      return clock_.at(std::max(clock_.now(), round.left + costs_.flag), {What::goes_on, e.member, e.step});
    }
    Round& round = round_of(plan, step.slot);
    const double raised = flags_at(plan, step, round);
    if (raised < 0) return round.for_flags.push_back({e.member, e.step});
    clock_.at(std::max(clock_.now(), raised + costs_.flag), {What::goes_on, e.member, e.step});
  }
  void publish(const Event& e) {
    const ShortPlan& plan = plan_of(e);
    Round& round = round_of(plan, step_of(e).slot);
    const double over = work(e.member, clock_.now(), costs_.step);
    round.raised[static_cast<size_t>(plan.local)] = over;
    ++round.raised_by;
    round.latest = std::max(round.latest, over);
    const bool almost_all = round.raised_by >= ranks_of(plan.node) - 1;
    std::erase_if(round.for_flags, [&](const Waiting& one) {
      const Event waiting{What::goes_on, one.member, one.step};
      if (step_of(waiting).peer < 0 ? !almost_all : step_of(waiting).peer != plan.local) return false;
      const double raised = flags_at(plan_of(waiting), step_of(waiting), round);
      if (raised < 0) return false;
      clock_.at(raised + costs_.flag, waiting);
      return true;
    });
    finish(e, over);
  }
  void leave(const Event& e) {
    const ShortPlan& plan = plan_of(e);
    Round& round = round_of(plan, step_of(e).slot);
    round.left = std::max(round.left, clock_.now());
    if (++round.left_by == ranks_of(plan.node)) {
      for (const Waiting& one : round.for_room)
        clock_.at(round.left + costs_.flag, {What::goes_on, one.member, one.step});
      round.for_room = {};
    }
    finish(e, work(e.member, clock_.now(), costs_.step));
  }

  void finish(const Event& e, double over) {
    --left_;
    end_ = std::max(end_, over);
    ShortPlan& plan = plans_[static_cast<size_t>(e.member)];
    if (recorder_) {
      const ShortStep& done = plan.steps[e.step];
      recorder_({plan.rank, e.step, done.kind, done.peer, done.slot, done.bytes, done.from, over});
    }
    for (uint32_t f = plan.steps[e.step].first_follower; f < plan.steps[e.step + 1].first_follower; ++f) {
      ShortStep& follower = plan.steps[plan.followers[f]];
      follower.from = std::max(follower.from, over);
      if (--follower.waits == 0) clock_.at(follower.from, {What::ready, e.member, plan.followers[f]});
    }
  }

  const Costs costs_;
  const Job job_;
  std::vector<ShortPlan> plans_;
  const Ranks ranks_;
  const Recorder& recorder_;
  std::vector<double> cores_;  // by plan: busy until then
  std::vector<Card> cards_;    // by node
  std::vector<std::vector<Round>> rounds_;
  std::unordered_map<Key, Message, Hash> messages_;
  Clock<Event> clock_;
  size_t left_ = 0;  // steps
  double end_ = 0;
  std::string why_;
};

}  // namespace

Outcome simulate(const Costs& costs, const Job& job, const Ask& ask, const coll::Selection& rules, Ranks ranks,
                 const Recorder& recorder) {
  Outcome outcome;
  outcome.ranks = ranks;
  const Calls calls(job, ask);
  std::vector<ShortPlan> plans = plans_in_short(calls, rules, ranks == Ranks::of_one_node, outcome);
  if (outcome.why.empty()) Machine(costs, job, std::move(plans), ranks, recorder).run(outcome);
  return outcome;
}

Outcome simulate(const Costs& costs, const Job& job, const Ask& ask, const coll::Selection& rules,
                 const Recorder& recorder) {
  const bool alike = job.nodes() > 1 && job.ranks % job.node_ranks == 0 && !coll::row_of(ask.kind).rooted();
  if (alike)
    if (Outcome outcome = simulate(costs, job, ask, rules, Ranks::of_one_node, recorder); outcome.whole) return outcome;
  return simulate(costs, job, ask, rules, Ranks::all, recorder);
}

}  // namespace tutti::model
