// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/strict.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/flight.hpp"
#include "base/log.hpp"
#include "base/os/source_place.hpp"
#include "boot/joining.hpp"
#include "contract/checker.hpp"
#include "contract/report.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "members/processes.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

constexpr int kMostPasses = 16;         // to see what has come, before a wildcard chooses
constexpr size_t kMostStreams = 16384;  // whose places of sending are remembered

std::string text_of(const Comm& comm) {
  return comm.hidden.ledger ? contract::description(*comm.hidden.ledger) : comm.name;
}

}  // namespace

void open_strict(bool report_only) {
  checking.watcher = strict = new Strict(report_only);  // as long as the process
  inventory::open([](const Object& gone) {
    if (with_handle(gone.tag()) != Tag::request) return;
    strict->outstanding().drop(&gone);
    strict->steady().drop(&gone);
  });
}

// ---- buffers

Error Strict::take(const void* owner, std::span<const BufferUse> uses) {
  {
    const Lock lock(exposed_mutex_);
    for (Exposed* const memory : exposed_)
      for (const BufferUse& use : uses)
        if (Error e = found(memory->touches(use))) return e;
  }
  return found(outstanding_.take(owner, uses));
}

void Strict::add(Exposed& memory) {
  const Lock lock(exposed_mutex_);
  exposed_.push_back(&memory);
}

void Strict::remove(Exposed& memory) {
  const Lock lock(exposed_mutex_);
  std::erase(exposed_, &memory);
}

Error Strict::found(Error error) {
  if (!error || !report_only_) return error;
  const std::vector<Mention> said = std::exchange(mentions(), {});
  const CallSite mine = here();
  {
    const Lock lock(reported_mutex_);
    if (!reported_.emplace(mine.caller, said.empty() ? 0 : said[0].place.caller).second) return {};
  }
  std::string text = error.message();
  for (const std::string& line : story_of(mine, nullptr, said)) text += "\n  " + line;
  log_line(Level::error, text);
  return {};
}

// ---- what stays as it is

void Strict::keep(Request& request, std::span<const BufferUse> uses, const SentWords& words) {
  for (const BufferUse& use : uses)
    if (!use.writes && use.payload.count > 0) steady_.keep(&request, SentCopy::of(use.payload, bytes_copied, words));
  request.set_watched();
}

void Strict::keep(Request& request, SteadyArrays arrays) {
  steady_.keep(&request, std::move(arrays));
  request.set_watched();
}

// ---- reductions

void Strict::computes_undefined(std::string what) {
  const Lock lock(others_mutex_);
  undefined_.try_emplace(std::move(what), here());
}

// ---- what else is told at the end

void Strict::tells_at_end(contract::NoteKind kind, CallSite place, std::string detail) {
  const Lock lock(others_mutex_);
  known_.add(kind, place.function, place.caller, std::move(detail));
}

void Strict::tells_at_end(Unordered found) {
  const Lock lock(others_mutex_);
  unordered_.push_back(std::move(found));
}

// ---- what this process can know of others

void Strict::leaves(uint32_t barrier) {
  if (!hearsay::calls_that_may_hear) return;
  calls_when_left_.store(hearsay::calls_that_may_hear(), std::memory_order_relaxed);
  // Who has left before may have changed memory here already. In the order of is_updated() backwards, all in one order:
  // whichever of the two is later, the other one's is seen.
  left_.store(barrier);
  if (updates_.load() != updates_when_come_.load(std::memory_order_relaxed)) left_.store(0);
}

uint32_t Strict::knows_nothing_since() const {
  const uint32_t barrier = left_.load(std::memory_order_relaxed);
  if (barrier == 0 || current.concurrent_calls) return 0;
  return hearsay::calls_that_may_hear() == calls_when_left_.load(std::memory_order_relaxed) ? barrier : 0;
}

namespace {

// What is so of the world and not of the program, which may well look at the code alone: whether a file is there, and
// what may be done with it, is found out by trying.
bool is_of_the_world(int error_class, uint16_t function) {
  switch (error_class) {
    case MPI_ERR_NO_SUCH_FILE:
    case MPI_ERR_FILE_EXISTS:
    case MPI_ERR_FILE_IN_USE:
    case MPI_ERR_NO_SPACE:
    case MPI_ERR_QUOTA:
    case MPI_ERR_IO:
    case MPI_ERR_UNSUPPORTED_DATAREP:
      return true;
    case MPI_ERR_ACCESS:
    case MPI_ERR_READ_ONLY:
    case MPI_ERR_BAD_FILE:
      return function == static_cast<uint16_t>(Function::File_open) ||
             function == static_cast<uint16_t>(Function::File_delete);
    default:
      return false;
  }
}

}  // namespace

void Strict::returns_error_of_file(int error_class, std::string_view text, CallSite place) {
  if (handles_errors_of_files_.load(std::memory_order_relaxed) || is_of_the_world(error_class, place.function)) return;
  const size_t name = text.find(": ");  // of the function, which the note tells anyway
  const Lock lock(others_mutex_);
  ErrorsOfFile& errors = file_errors_[place.caller];
  if (errors.count++ == 0) {
    errors.place = place;
    errors.sentence = text.substr(name == std::string_view::npos ? 0 : name + 2);
  }
  errors_of_thread().unasked = place.caller;
}

void Strict::asks_of_error() {
  const uint64_t caller = std::exchange(errors_of_thread().unasked, 0);
  if (caller == 0) return;
  const Lock lock(others_mutex_);
  const auto at = file_errors_.find(caller);
  if (at != file_errors_.end() && --at->second.count == 0) file_errors_.erase(at);
}

void Strict::note_others(contract::Notes& notes) {
  const Lock lock(others_mutex_);
  for (const auto& [what, place] : undefined_)
    notes.add(contract::NoteKind::undefined, place.function, place.caller, what);
  for (const auto& [caller, errors] : file_errors_)
    for (int i = 0; i < errors.count; ++i)
      notes.add(contract::NoteKind::file_error, errors.place.function, caller, errors.sentence);
  notes.add(known_);
  for (const Unordered& each : unordered_) {
    const auto& [one, other] = each.calls;
    const std::vector<std::string> places = source_places(std::vector{one.address, other.address});
    notes.add(contract::NoteKind::window_race, one.function, one.address,
              fmt::format("{}: {} at {}, and {} at {}", each.sentence, flight::name_of_function(one.function),
                          places[0], flight::name_of_function(other.function), places[1]));
  }
  if (orders_unseen_) notes.add(contract::NoteKind::unseen_order, 0, uint64_t{0});
}

// ---- messages

void Strict::sends(const Comm& comm, int dest, int tag) {
  ++acts_;
  if (dest == MPI_PROC_NULL) return;
  if (comm.process_of(dest) != comm.engine().process()) told_.fetch_add(1, std::memory_order_relaxed);
  const Stream stream{comm.context(), comm.process_of(dest), tag};
  if (sent_.size() >= kMostStreams && !sent_.contains(stream)) return;
  Sent& sent = sent_[stream];
  sent.latest[sent.count++ % sent.latest.size()] = here();
}

void Strict::looks(const Comm& comm, int source, int tag) {
  if (source == MPI_PROC_NULL) return;
  const engine::Unexpected* const there = comm.engine().matcher().find({comm.context(), source, tag, 0});
  if (there && there->header.signature == kReady)  // whoever sent it found no receive posted
    unready_.try_emplace(
        here().caller, here(),
        fmt::format("rank {} with tag {} on {}", there->header.source, there->header.tag, text_of(comm)));
  if (source != MPI_ANY_SOURCE) return;
  for (int pass = 0; pass < kMostPasses && comm.engine().progress(); ++pass) {
  }
  const std::vector<int> senders = comm.engine().matcher().senders({comm.context(), source, tag, 0});
  if (senders.size() > 1) race(here(), senders, comm);
}

// Whoever sent this one did not wait for the one before to be received, for nobody has heard of
// that: it may as well have come first.
void Strict::compare_with_latest(const Comm& comm, const engine::Outcome& outcome) {
  const bool fits_latest = latest_.context == comm.context() && latest_.acts == acts_ &&
                           latest_.got != outcome.source && (latest_.tag == MPI_ANY_TAG || latest_.tag == outcome.tag);
  if (fits_latest) race(latest_.place, {latest_.got, outcome.source}, comm);
}

void Strict::received(const Comm& comm, int source, int tag, const engine::Outcome& outcome) {
  compare_with_latest(comm, outcome);
  if (outcome.sender_hears) acts();
  latest_.context = 0;
  if (source == MPI_ANY_SOURCE && !outcome.sender_hears) latest_ = {comm.context(), tag, outcome.source, acts_, here()};
}

// Of receives for one sender nothing is to be learnt: they may have been posted before.
void Strict::received_any(const Comm& comm, int tag, const engine::Outcome& outcome, CallSite place) {
  if (outcome.cancelled) return;
  if (outcome.sender_hears) {  // and may have told others before the last byte was here
    acts();
    latest_.context = 0;
    return;
  }
  compare_with_latest(comm, outcome);
  latest_ = {comm.context(), tag, outcome.source, acts_, place};
}

void Strict::race(CallSite place, std::vector<int> ranks, const Comm& comm) {
  if (races_.contains(place.caller)) return;
  std::ranges::sort(ranks);
  races_[place.caller] = {place, std::move(ranks), text_of(comm)};
}

// ---- at the end

void Strict::note_unreceived(int receiver, const Unreceived& left, contract::Notes& notes) {
  const auto at = sent_.find({left.context, receiver, left.tag});
  for (int i = 1; i <= left.count; ++i) {
    CallSite place;  // what is left of a stream is its end
    if (at != sent_.end()) {
      const Sent& sent = at->second;
      const auto back = static_cast<uint64_t>(i);
      if (back <= std::min<uint64_t>(sent.count, sent.latest.size()))
        place = sent.latest[(sent.count - back) % sent.latest.size()];
    }
    notes.add(contract::NoteKind::message, place.function, place.caller,
              fmt::format("to rank {} of MPI_COMM_WORLD with tag {}", receiver, left.tag));
  }
}

void Strict::note_unready(contract::Notes& notes) {
  for (const auto& [caller, unready] : unready_)
    notes.add(contract::NoteKind::unready, unready.first.function, caller, unready.second);
}

void Strict::note_races(contract::Notes& notes) {
  for (const auto& [caller, race] : races_)
    notes.add(contract::NoteKind::race, race.place.function, caller,
              fmt::format("{} have each sent one, on {}", ranks_text(race.ranks), race.comm));
}

namespace {

void note_objects(contract::Notes& notes) {
  using contract::NoteKind;
  for (const inventory::History& left : inventory::not_freed()) {
    NoteKind kind;
    switch (left.tag) {
      case Tag::request:
        kind = left.is_persistent ? NoteKind::persistent : NoteKind::request;
        break;
      case Tag::message:
        kind = NoteKind::taken_message;
        break;
      case Tag::comm:
        kind = NoteKind::comm;
        break;
      case Tag::datatype:
        kind = NoteKind::datatype;
        break;
      case Tag::op:
        kind = NoteKind::op;
        break;
      case Tag::group:
        kind = NoteKind::group;
        break;
      case Tag::win:
        kind = NoteKind::window;
        break;
      case Tag::file:
        kind = NoteKind::file;
        break;
      default:
        continue;
    }
    notes.add(kind, left.made.function, left.made.caller);
  }
}

// Nobody sends any more; everybody hears how many messages are for him, and waits until he has
// them.
void await_all_messages(const Process& p) TUTTI_ENGINE_OWNED {
  std::vector<std::string> counts(static_cast<size_t>(p.job->view().size));
  p.engine->each_peer([&](int process, uint32_t sent, uint32_t) {
    if (p.processes->is_foreign(process)) return;
    counts[static_cast<size_t>(process)].assign(reinterpret_cast<const char*>(&sent), sizeof sent);
  });
  counts = p.checker->exchange(std::move(counts));
  p.engine->wait_until([&]() TUTTI_ENGINE_OWNED {
    std::vector<uint32_t> missing(counts.size());
    for (size_t i = 0; i < counts.size(); ++i)
      if (counts[i].size() == sizeof(uint32_t)) std::memcpy(&missing[i], counts[i].data(), sizeof(uint32_t));
    missing[static_cast<size_t>(p.engine->process())] = 0;
    p.engine->each_peer([&](int process, uint32_t, uint32_t received) TUTTI_ENGINE_OWNED {
      if (p.processes->is_foreign(process)) return;
      uint32_t& left = missing[static_cast<size_t>(process)];
      left -= std::min(left, received);
    });
    return std::ranges::all_of(missing, [](uint32_t left) { return left == 0; });
  });
}

// By process: what it has sent and nobody here has received.
std::vector<std::string> unreceived_by_sender(const Process& p) TUTTI_ENGINE_OWNED {
  std::map<std::tuple<int, uint64_t, int>, int> counts;
  p.engine->matcher().each_unexpected([&](const engine::Unexpected& message) {
    const transport::Header& h = message.header;
    if (!engine::is_hidden(h.context) && !p.processes->is_foreign(h.process)) ++counts[{h.process, h.context, h.tag}];
  });
  std::vector<std::string> lists(static_cast<size_t>(p.job->view().size));
  for (const auto& [key, count] : counts) {
    const auto& [process, context, tag] = key;
    const Strict::Unreceived left{context, tag, count};
    lists[static_cast<size_t>(process)].append(reinterpret_cast<const char*>(&left), sizeof left);
  }
  return lists;
}

}  // namespace

Error tell_left_over(bool own_too) {
  Process& p = process();
  const engine::Engine::Guard own(*p.engine);
  const auto size = static_cast<size_t>(p.job->view().size);
  await_all_messages(p);
  const std::vector<std::string> lists =
      p.checker->exchange(own_too ? unreceived_by_sender(p) : std::vector<std::string>(size));
  contract::Notes mine;
  for (size_t receiver = 0; receiver < size; ++receiver)
    for (size_t at = 0; at + sizeof(Strict::Unreceived) <= lists[receiver].size(); at += sizeof(Strict::Unreceived)) {
      Strict::Unreceived left;
      std::memcpy(&left, lists[receiver].data() + at, sizeof left);
      strict->note_unreceived(static_cast<int>(receiver), left, mine);
    }
  if (own_too) note_objects(mine);
  strict->note_races(mine);
  strict->note_unready(mine);
  strict->note_others(mine);
  std::vector<std::string> to_first(size);
  to_first[0] = mine.packed();
  const std::vector<std::string> all = p.checker->exchange(std::move(to_first));
  if (p.engine->process() != 0) return {};
  contract::Notes whole;
  for (size_t rank = 0; rank < size; ++rank) whole.add_packed(all[rank], static_cast<int>(rank));
  if (whole.empty()) return {};
  for (const std::string& line : whole.lines()) say(Level::note, "note: {}", line);
  return {};
}

}  // namespace tutti::mpi
