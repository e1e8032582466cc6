// SPDX-License-Identifier: BSD-3-Clause
#include "contract/checker.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "base/log.hpp"
#include "contract/deadlock_report.hpp"
#include "contract/lying.hpp"
#include "contract/own_state.hpp"
#include "engine/engine.hpp"

namespace tutti::contract {
namespace {

using transport::Header;

constexpr size_t kMostAsked = 16;  // at a time by one that waits
// Whom a call waits for: after so long, and anew while it lasts.
constexpr std::chrono::milliseconds kShownAfter{50}, kShownAgain{100};

size_t cache_place(uint64_t context) {
  return (context * 0x9e3779b97f4a7c15u) >> 61;
}

}  // namespace

Checker::Checker(engine::Engine& engine, CheckOptions options, Hooks hooks)
    : engine_(engine),
      options_(options),
      hooks_(hooks),
      trace_(engine, hooks.may_have_sent,
             [this](int process, bool answers, uint32_t number, std::string bytes) TUTTI_ENGINE_OWNED {
               Header header = control(Control::trace, 0, number);
               header.source = answers;
               send(process, header, std::move(bytes));
             }),
      standstill_({.limit = options.standstill}, means_of_standstill()) {
  others_of_process() = hooks.others;
}
Checker::~Checker() {
  // What a rank spends on all this, with MPI_COMM_WORLD and MPI_COMM_SELF; each more communicator
  // costs a ledger.
  static_assert(sizeof(flight::Record) + sizeof(Checker) +
                    (2 + kKeptGone) * (sizeof(Ledger) + Ledger::kKept * sizeof(Ledger::Slot)) <
                64 << 10);
}

// Collectives whose ranks contradict each other are told by their ledger, which knows more.
Witness Checker::witness() {
  return {.all_threads_blocked = [this] { return !hooks_.all_threads_blocked || hooks_.all_threads_blocked(); },
          .describe =
              [this](const life::Blocked& blocked, BlockedThread& thread) TUTTI_ENGINE_OWNED {
                describe(blocked, thread);
                if (!blocked.call) return;
                const flight::CallRecord call = flight::latest_call(*flight::mine(), *blocked.call);
                const Ledger* ledger = call.serial ? find(call.context | 1) : nullptr;
                if (!ledger) return;
                thread.context = call.context;
                thread.serial = call.serial;
                thread.signature = ledger->word_of_call(call.serial - 1);
              },
          .lying =
              [this]() TUTTI_ENGINE_OWNED {
                return lying_messages(engine_.matcher(), [this](uint64_t context) TUTTI_ENGINE_OWNED {
                  const Ledger* ledger = find(context | 1);
                  if (!ledger) return -1;
                  const engine::Channel& channel = ledger->channel();
                  return channel.sides ? channel.sides.rank_in_group() : channel.rank;
                });
              },
          .has_ended = [this] { return hooks_.has_ended && hooks_.has_ended(); }};
}

Standstill::Means Checker::means_of_standstill() {
  const int ranks = hooks_.others.job_size;
  return {.process = engine_.process(),
          .ranks = ranks == std::numeric_limits<int>::max() ? 0 : ranks,
          .events = [this]() TUTTI_ENGINE_OWNED { return engine_.events(); },
          .state = [this, witness = witness()](bool is_described)
                       TUTTI_ENGINE_OWNED { return contract::own_state(engine_, witness, is_described); },
          .count_messages = [this](std::span<const int> among, ProcessState& state)
                                TUTTI_ENGINE_OWNED { count_messages(engine_, among, state); },
          .tell =
              [this](int process, const Bytes& message, bool is_near) TUTTI_ENGINE_OWNED {
                std::string bytes(reinterpret_cast<const char*>(message.data()), message.size());
                const Header header = control(Control::standstill, 0);
                is_near ? engine_.send_control(process, header, std::move(bytes))
                        : send(process, header, std::move(bytes));
              },
          .found =
              [this](const Deadlock& deadlock) TUTTI_ENGINE_OWNED {
                if (cases_.empty()) report_deadlock(deadlock);
              },
          .is_gone = hooks_.is_gone,
          .others = hooks_.others};
}

// ---- ledgers

Ledger* Checker::open(const engine::Channel& hidden, Origin origin, uint32_t kept) {
  auto made = std::make_unique<Ledger>(*this, hidden, origin, kept);
  const Lock lock(mutex_);
  std::unique_ptr<Ledger>& at = ledgers_[hidden.context];
  if (at) gone_.push_back(std::move(at));
  at = std::move(made);
  if (hidden.harm) at->note_harm();  // or note_harm() has it in its list
  return at.get();
}

void Checker::note_harm(const std::function<bool(const engine::Channel&)>& which) {
  const Lock lock(mutex_);
  for (const auto& [context, ledger] : ledgers_)
    if (which(ledger->channel_)) ledger->note_harm();
  for (const std::unique_ptr<Ledger>& ledger : gone_)
    if (which(ledger->channel_)) ledger->note_harm();
}

void Checker::close(Ledger& ledger) {
  const Lock lock(mutex_);
  ledger.free();  // stays in the table, and answers, until others push it out
  const auto at = ledgers_.find(ledger.channel_.context);
  if (at == ledgers_.end() || at->second.get() != &ledger) return;
  gone_.push_back(nullptr);
  std::swap(gone_.back(), at->second);
  ledgers_.erase(at);
}

void Checker::settle(Ledger& ledger) {
  ledger.settle_with_others();
  forget_the_gone();
}

// Nobody holds a ledger that is gone here: they are looked up below calls like this one.
void Checker::forget_the_gone() {
  const Lock lock(mutex_);
  if (gone_.size() <= kKeptGone) return;
  std::fill(std::begin(cache_), std::end(cache_), nullptr);
  while (gone_.size() > kKeptGone) gone_.pop_front();
}

void Checker::settle_all() {
  std::vector<Ledger*> all;
  {
    const Lock lock(mutex_);
    for (const auto& [context, ledger] : ledgers_) all.push_back(ledger.get());
  }
  for (Ledger* ledger : all) ledger->settle_with_others();
}

Ledger* Checker::find(uint64_t context) {
  Ledger*& cached = cache_[cache_place(context)];
  if (cached && cached->channel_.context == context && !cached->freed()) return cached;
  const Lock lock(mutex_);
  if (const auto at = ledgers_.find(context); at != ledgers_.end()) return cached = at->second.get();
  for (const std::unique_ptr<Ledger>& gone : gone_)
    if (gone->channel_.context == context) return gone.get();
  return nullptr;
}

void Checker::arrived(const Header& header) {
  if (header.signature == 0) return;
  if (Ledger* ledger = find(header.context)) ledger->arrived(header.serial, header.source, header.signature);
}

// ---- control messages

void Checker::told(const Header& header, const std::byte* data) {
  switch (static_cast<Control>(header.tag)) {
    case Control::ask: {
      const Side side = own_state(header.ticket, header.serial);
      Header answer = control(Control::answer, header.ticket, header.serial);
      answer.source = static_cast<int32_t>(side.status);
      answer.signature = side.word;
      return send(header.process, answer);
    }
    case Control::answer:
      return take_answer(header);
    case Control::inquire:
      return answer_details(header);
    case Control::details:
      return take_details(header, data);
    case Control::claim: {
      // One report for each communicator, unless it ends the job.
      Header answer = control(Control::claimed, header.ticket);
      answer.source = claims_.insert(header.source ? 0 : header.ticket).second;
      return send(header.process, answer);
    }
    case Control::claimed:
      for (Case& c : cases_)
        if (c.finding.context == header.ticket && c.claim == Case::Claim::open)
          c.claim = header.source ? Case::Claim::granted : Case::Claim::denied;
      if (header.process != engine_.process()) advance();
      return;
    case Control::standstill:
      return standstill_.message(header.process, {data, static_cast<size_t>(header.bytes)});
    case Control::broken:
      if (Ledger* ledger = find(header.ticket);
          ledger && ledger->state_ != Ledger::State::broken && !options_.report_only)
        ledger->break_with(header.source,
                           std::string(reinterpret_cast<const char*>(data), static_cast<size_t>(header.bytes)));
      return advance();
    case Control::trace: {
      const std::span bytes(data, static_cast<size_t>(header.bytes));
      if (header.source == 0) return trace_.question(header.process, header.serial, bytes);
      trace_.answer(header.serial, bytes);
      if (header.process != engine_.process()) advance();
      return;
    }
    case Control::relay:
      return relay(data, static_cast<size_t>(header.bytes));
    case Control::exchange:
      exchanged_[{header.serial, header.process}] =
          std::string(reinterpret_cast<const char*>(data), static_cast<size_t>(header.bytes));
      return;
  }
}

std::vector<std::string> Checker::exchange(std::vector<std::string> to) {
  const uint32_t number = exchanges_++;
  for (size_t process = 0; process < to.size(); ++process)
    engine_.send_control(static_cast<int>(process), control(Control::exchange, 0, number), to[process], false);
  const auto first = std::pair{number, 0}, end = std::pair{number + 1, 0};
  const auto arrived = [&]() TUTTI_ENGINE_OWNED {
    return static_cast<size_t>(std::distance(exchanged_.lower_bound(first), exchanged_.lower_bound(end)));
  };
  engine_.wait_until([&]() TUTTI_ENGINE_OWNED { return arrived() == to.size(); });
  for (size_t process = 0; process < to.size(); ++process)
    to[process] = std::move(exchanged_[{number, static_cast<int>(process)}]);
  exchanged_.erase(exchanged_.lower_bound(first), exchanged_.lower_bound(end));
  return to;
}

// Where this rank is. Does not read the flight record, which the program's threads write without
// regard to others: whoever waits long asks, also in right programs.
Side Checker::own_state(uint64_t context, uint32_t serial) {
  Side side;
  side.process = engine_.process();
  side.status = Status::unknown;
  if (Ledger* ledger = find(context)) {
    side.rank = ledger->channel_.rank;
    side.word = ledger->word_of_call(serial);
    const bool reached = static_cast<int32_t>(serial - ledger->next_) < 0;
    side.status = side.word         ? Status::started
                  : reached         ? Status::forgotten
                  : ledger->freed() ? Status::freed
                                    : Status::not_yet;
  }
  if (side.status != Status::started && side.status != Status::forgotten && hooks_.has_made_all_calls &&
      hooks_.has_made_all_calls(context))
    side.status = Status::finalizing;
  return side;
}

// And in which call, for a report.
Side Checker::own_side(uint64_t context, uint32_t serial) {
  Side side = own_state(context, serial);
  const flight::Record* record = flight::mine();
  if (!record) return side;
  side.host = record->host;
  side.call = flight::latest_call(*record, record->threads[0]);
  if (side.status == Status::started || side.status == Status::not_yet) {
    const auto is_it = [&](const flight::CallRecord& call) {
      return call.state != flight::State::none && call.context == (context & ~uint64_t{1}) && call.serial == serial + 1;
    };
    for (const flight::CallRecord& place : record->ring)
      if (const flight::CallRecord call = flight::read(place); is_it(call)) side.call = call;
    for (const flight::Thread& thread : record->threads)
      if (const flight::CallRecord call = flight::latest_call(*record, thread);
          flight::get(thread.used) && is_it(call)) {
        side.call = call;
        side.status = Status::started;  // it may wait for what is said of the call before it starts
      }
  }
  side.caller = code_address(side.call.caller);
  return side;
}

void Checker::answer_details(const Header& asked) {
  const Details details = pack(own_side(asked.ticket, asked.serial));
  Header answer = control(Control::details, asked.ticket, asked.serial);
  answer.source = asked.source;
  send(asked.process, answer, std::string(reinterpret_cast<const char*>(&details), sizeof details));
}

void Checker::take_details(const Header& header, const std::byte* data) {
  if (header.bytes != sizeof(Details)) return;
  Details details;
  std::memcpy(&details, data, sizeof details);
  for (Case& c : cases_) {
    if (c.finding.context != header.ticket || c.finding.serial != header.serial || c.round != header.source || !c.asks)
      continue;
    for (Side& side : c.sides) {
      if (side.process != header.process || side.status != Status::silent) continue;
      const int rank = side.rank, process = side.process;
      side = unpack(details);
      side.rank = rank;
      side.process = process;
      --c.unanswered;
    }
  }
  advance();
}

// ---- waits that last

void Checker::waits(life::Blocked& blocked, std::chrono::nanoseconds since) {
  flight::waits();
  if (!cases_.empty()) advance();
  standstill_.look();
  if (since < kShownAfter) return;
  if (since >= blocked.told_again) show_awaited(blocked, since);
  ask_those_awaited(since);
}

// Messages that no receive waits for: of calls that are under way here, but of another plan.
void Checker::compare_unexpected() {
  std::vector<std::tuple<Ledger*, uint32_t, int, Word>> found;
  engine_.matcher().each_unexpected([&](const engine::Unexpected& message) TUTTI_ENGINE_OWNED {
    const Header& h = message.header;
    if (!engine::is_hidden(h.context) || h.signature == 0) return;
    Ledger* ledger = find(h.context);
    if (ledger && ledger->word_of_call(h.serial)) found.emplace_back(ledger, h.serial, h.source, h.signature);
  });
  for (const auto& [ledger, serial, rank, word] : found) ledger->differs(serial, rank, word);
}

// For `tutti why`: whom this thread's call waits for, which the call itself says. The answer may be long, of a receive
// from any of very many ranks: so it is given a hundredth of the time.
void Checker::show_awaited(life::Blocked& blocked, std::chrono::nanoseconds since) const {
  const Clock::time_point begin = Clock::now();
  life::Condition needs;
  blocked.add_needs(needs);
  const auto [processes, some] = life::awaited(needs, engine_.process(), engine_.under_way());
  const auto foreign = std::ranges::lower_bound(processes, hooks_.others.job_size);
  std::vector<flight::Elsewhere> elsewhere;
  for (auto each = foreign; each != processes.end() && hooks_.others.name_of; ++each) {
    if (elsewhere.size() == flight::kElsewhere) break;
    const Name name = hooks_.others.name_of(*each);
    elsewhere.push_back({name.job, name.rank});
  }
  flight::waits_for(processes.data(), static_cast<int>(foreign - processes.begin()), elsewhere.data(),
                    static_cast<int>(elsewhere.size()), some);
  const auto pause = std::max<std::chrono::nanoseconds>(kShownAgain, (Clock::now() - begin) * 100);
  blocked.told_again = std::chrono::ceil<decltype(blocked.told_again)>(since + pause);
}

// Of the collectives under way here: whether those that they wait for are in the same calls. Who answers has started
// another one perhaps, and sends nothing that would be compared.
void Checker::ask_those_awaited(std::chrono::nanoseconds since) {
  // Whoever comes later asks as well, so that an early question need not be repeated soon; and each
  // costs those asked some sleep.
  if (since < asked_at_) asked_at_ = {};
  if (since < std::max(options_.ask_after, asked_at_ * 2)) return;
  asked_at_ = since;
  compare_unexpected();
  std::set<std::tuple<int, uint64_t, uint32_t>> asked;  // process, context, serial
  for (const life::UnderWay* each = engine_.under_way(); each && asked.size() < kMostAsked; each = each->next) {
    life::Condition needs;
    each->add_needs(needs);
    needs.each_actor([&](const life::Actor& actor) {
      if (actor.is_process() || actor.process == engine_.process() || asked.size() == kMostAsked) return;
      asked.emplace(actor.process, actor.context, actor.serial);
    });
  }
  for (const auto& [process, context, serial] : asked)
    if (find(context)) send(process, control(Control::ask, context, serial));
}

void Checker::take_answer(const Header& header) {
  Ledger* ledger = find(header.ticket);
  if (!ledger || ledger->state_ != Ledger::State::fine) return;
  const auto status = static_cast<Status>(header.source);
  if (status == Status::started) {
    // Who answers tells, between two groups, whether it denies to be the root that it is taken for.
    const engine::Channel& channel = ledger->channel_;
    const int rank = channel.sides ? channel.peers.rank_of(header.process) : -1;
    return ledger->differs(header.serial, rank, header.signature);
  }
  // Whoever has left will not come to this call any more, but where a member has failed: then the call ends by that.
  const bool has_left = status == Status::finalizing || status == Status::freed;
  if (has_left && !ledger->is_harmed() && ledger->word_of_call(header.serial))
    mismatch(*ledger, header.serial, Difference::function);
}

}  // namespace tutti::contract
