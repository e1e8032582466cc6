// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rma/races.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/flight.hpp"
#include "contract/signature.hpp"
#include "functions.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/object/info.hpp"
#include "rma/window_end.hpp"

namespace tutti::mpi::one_sided {
namespace {

using rma::Accesses;
using rma::AccessKind;
using rma::Act;
using rma::Conflict;
using rma::Interval;

using rma::kAll;

// Kinds of epochs, in the lowest bits of a mark; above them the parity of a fence's; above that the call, in 32 bits, and
// the barrier since which the origin knows nothing.
constexpr uint8_t kFence = 1, kStart = 2, kLock = 3, kKinds = 3, kParity = 4;
constexpr int kSiteBits = 8, kBarrierBits = 40;

constexpr size_t kMostOwnUses = 256;

// What one witness tells another.
enum class Word : uint8_t { site, finding, pending };

std::string name_of_op(uint8_t operation) {
  return flight::name_of_op(reinterpret_cast<uintptr_t>(MPI_OP_NULL) + operation);
}

std::string verb_of(const Act& act) {
  if (act.kind == AccessKind::get) return "gets";
  if (act.kind == AccessKind::put) return "puts";
  if (act.update.operation == rma::kCompareAndSwap) return "compares and swaps";
  return fmt::format("{} with {}", act.fetches ? "fetches and accumulates" : "accumulates",
                     name_of_op(act.update.operation));
}

// Accesses::Access::grain.
int64_t grain_of(const Act& act) {
  if (act.kind != AccessKind::update) return 0;
  const Layout& element = layout_of(act.update.element);
  return element.is_dense() ? element.size() : 0;
}

// Whether a hint of the window is that.
bool hint_is(const Window& window, std::string_view key, std::string_view value) {
  return std::ranges::any_of(window.hints, [&](const auto& hint) { return hint.first == key && hint.second == value; });
}

}  // namespace

Races::Races(Window& window)
    : window_(window), started_(static_cast<size_t>(window.size())), fetches_(started_.size()) {
  window.protocol->target().set_witness(*this);
  strict->add(*this);
  strict->leaves(number_of_fence());  // nobody has left before all have come
}

Races::~Races() {
  strict->remove(*this);
}

// ---- what a program has promised

Error exchange_assertions(int assertion, Window& win, Error& differ) {
  constexpr int kByAll = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  const int mine = assertion & kByAll;
  std::vector<int> all(static_cast<size_t>(win.size()));
  coll::Call exchange = allgather_bytes(&mine, all.data(), sizeof mine);
  exchange.signature = contract::word_of(Function::Win_fence);
  if (Error e = run(*win.comm, exchange)) return e;
  for (const int assertion_of_all : {MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED}) {
    const auto gives = [&](int one) { return (one & assertion_of_all) != 0; };
    const auto with = std::ranges::find_if(all, gives), without = std::ranges::find_if_not(all, gives);
    if (with == all.end() || without == all.end()) continue;
    differ = strict->found(failure(
        MPI_ERR_ASSERT,
        "rank {} of the window gives {}, and rank {} does not: all have to give it, or nobody (argument assert)",
        with - all.begin(), assertion_of_all == MPI_MODE_NOPRECEDE ? "MPI_MODE_NOPRECEDE" : "MPI_MODE_NOSUCCEED",
        without - all.begin()));
    break;
  }
  return {};
}

Error refuse_locks(const Window& win) {
  if (!hint_is(win, "no_locks", "true")) return {};
  return strict->found(
      failure(MPI_ERR_RMA_SYNC,
              "the info object of the window says by no_locks that it is never locked (the standard, section 12.2.1; "
              "argument win)"));
}

// ---- what this rank starts

uint32_t Races::number_of_fence() const {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // spreads windows
  constexpr uint32_t kNumbers = (1 << 23) - 1;   // beyond those of communicators' barriers (check/buffers.cpp)
  return kNumbers + 1 +
         static_cast<uint32_t>(((window_.comm->context() * kOdd >> 20) + static_cast<uint64_t>(fences_)) % kNumbers);
}

uint8_t Races::fence_epoch() const {
  return static_cast<uint8_t>(kFence | (fences_ % 2 ? kParity : 0));
}

uint8_t Races::epoch_of(int rank) const {
  if (window_.epochs.is_locked(rank)) return kLock;
  return window_.epochs.is_started() ? kStart : fence_epoch();
}

// The target hears of a call once, before the first operation that names it.
uint32_t Races::announce(int rank, CallSite place) {
  const auto [at, is_new] =
      own_sites_.try_emplace({place.function, place.caller}, static_cast<uint32_t>(own_sites_.size() + 1));
  const uint32_t id = at->second;
  if (!announced_.emplace(rank, id).second) return id;
  const CodeAddress address = code_address(place.caller);
  Bytes bytes;
  put(bytes, Word::site);
  put(bytes, id);
  put(bytes, place.function);
  put(bytes, address.offset);
  put_text(bytes, address.module);
  {
    const Lock lock(mutex_);
    sites_[{window_.rank(), id}] = {place.function, address};
  }
  window_.protocol->tell_witness(rank, bytes);
  return id;
}

Races::Started Races::about_to(const Act& act, const rma::Target& target, const void* request) {
  Started started;
  started.rank = target.rank;
  started.bytes = rma::intervals_of(target.displacement, target.count, *target.layout);
  started.access = {.act = act,
                    .origin = window_.rank(),
                    .epoch = epoch_of(target.rank),
                    .site = announce(target.rank, here()),
                    .owner = request,
                    .grain = grain_of(act)};
  started.access.barrier = strict->knows_nothing_since();
  return started;
}

Error Races::check(const Started& started) {
  if (!rma::is_read(started.access.act) && rma::overlap(started.bytes))
    return strict->found(failure(MPI_ERR_TYPE,
                                 "entries of target_datatype overlap, so that a byte would be updated twice (the "
                                 "standard, section 12.3; argument target_datatype)"));
  Race finding;
  {
    const Lock lock(mutex_);
    const std::optional<Accesses::Met> met =
        started_[static_cast<size_t>(started.rank)].conflict(started.bytes, started.access, true, false);
    if (!met) return {};
    finding = finding_of(*met, started.access, started.rank);
  }
  finding.places.pop_back();  // that of this call stands first anyway
  return strict->found(error_of(std::move(finding)));
}

void Races::record(const Started& started) {
  const Lock lock(mutex_);
  const auto rank = static_cast<size_t>(started.rank);
  started_[rank].add(started.bytes, started.access);
  if (started.access.epoch == kLock && brings_data(started.access.act)) fetches_[rank] = 1;
  window_.protocol->origin().set_mark(started.access.epoch | uint64_t{started.access.site} << kSiteBits |
                                      uint64_t{started.access.barrier} << kBarrierBits);
}

// Behind a barrier that this process left without knowing them complete: their targets hear that before the program does
// that they are.
void Races::about_to_complete(int rank) {
  const uint32_t barrier = strict->knows_nothing_since();
  if (barrier == 0) return;
  for (size_t r = 0; r < static_cast<size_t>(window_.size()); ++r) {
    if (rank != kAll && rank != static_cast<int>(r)) continue;
    Bytes bytes;
    {
      const Lock lock(mutex_);
      started_[r].each([&](Interval run, const Accesses::Access& access) {
        if (access.epoch != kLock || access.barrier == barrier) return;
        if (bytes.empty()) {
          put(bytes, Word::pending);
          put(bytes, barrier);
        }
        put(bytes, run);
        put(bytes, access.act);
        put(bytes, access.site);
        put(bytes, access.grain);
      });
    }
    if (!bytes.empty()) window_.protocol->tell_witness(static_cast<int>(r), bytes);
  }
}

void Races::completed(int rank) {
  drop_started(rank, [](const Accesses::Access&) { return true; });
}

void Races::completed_locally(int rank) {
  drop_started(rank, [](const Accesses::Access& access) { return brings_data(access.act); });
}

// By what was fetched under a lock the program may learn how far others are; of the ends of other epochs it does anyway.
void Races::drop_started(int rank, bool (*over)(const Accesses::Access&)) {
  const Lock lock(mutex_);
  bool has_heard = false;
  for (size_t r = 0; r < started_.size(); ++r) {
    if (rank != kAll && rank != static_cast<int>(r)) continue;
    started_[r].drop(over);
    has_heard = std::exchange(fetches_[r], 0) != 0 || has_heard;
  }
  if (has_heard) strict->is_updated();
}

void Races::origin_over(const void* operation) {
  if (!disturbed_) disturbed_ = strict->judges(operation);
}

void Races::request_gone(const void* request) {
  const Lock lock(mutex_);
  for (Accesses& each : started_)
    each.drop([&](const Accesses::Access& a) { return a.owner == request && brings_data(a.act); });
}

// ---- epochs of this rank

void Races::fenced() {
  const Lock lock(mutex_);
  served_.drop([over = fence_epoch()](const Accesses::Access& access) { return access.epoch == over; });
  own_uses_.clear();
  ++fences_;
  strict->leaves(number_of_fence());
}

void Races::locks(bool exclusive) {
  if (exclusive) strict->orders_unseen();
  if (std::exchange(may_be_fenced_, false)) locked_ = here();
}

void Races::promises(int assertion, bool post) {
  const Lock lock(mutex_);
  const bool no_put = assertion & MPI_MODE_NOPUT;
  if (!post) {
    strict->comes();
    if (locked_.caller && !(assertion & MPI_MODE_NOPRECEDE))
      strict->tells_at_end(contract::NoteKind::between_fences, locked_);
    locked_ = {};
    may_be_fenced_ = !(assertion & MPI_MODE_NOSUCCEED);
  }
  if (post)
    posted_no_put_ = no_put;
  else
    no_put_[(fences_ + 1) % 2] = no_put;
}

void Races::exposed_no_more() {
  const Lock lock(mutex_);
  served_.drop([](const Accesses::Access& access) { return access.epoch == kStart; });
  posted_no_put_ = false;
}

Error Races::take_finding() {
  if (disturbed_) return std::exchange(disturbed_, Error());
  std::optional<Race> found;
  {
    const Lock lock(mutex_);
    found = std::exchange(finding_, std::nullopt);
  }
  return found ? strict->found(error_of(*std::move(found))) : Error();
}

// ---- what comes

void Races::serves(int origin, uint64_t mark, const Act& act, const rma::TargetBuffer& buffer) {
  const Accesses::Access access{.act = act,
                                .origin = origin,
                                .epoch = static_cast<uint8_t>(mark & ((1 << kSiteBits) - 1)),
                                .site = static_cast<uint32_t>(mark >> kSiteBits),
                                .grain = grain_of(act),
                                .barrier = static_cast<uint32_t>(mark >> kBarrierBits)};
  const std::vector<Interval> bytes = rma::intervals_of(buffer.displacement, buffer.count, *buffer.layout);
  const Lock lock(mutex_);
  check_promises(access, bytes);
  check_own_use(access, bytes);
  const bool alone = hint_is(window_, "accumulate_ops", "same_op");
  if (const auto met = served_.conflict(bytes, access, false, alone))
    if (is_first(access, met->other.origin, met->other.site)) tell(access, finding_of(*met, access, window_.rank()));
  if (access.epoch != kLock || !brings_data(act)) served_.add(bytes, access);
  if (access.epoch == kLock && access.barrier) meet_since_barrier(access, bytes);
  if (origin != window_.rank() && !rma::is_read(act)) strict->is_updated();
}

// Neither origin can have heard of the other's operation before its own.
void Races::meet_since_barrier(const Accesses::Access& access, const std::vector<Interval>& bytes) {
  if (std::exchange(barrier_, access.barrier) != access.barrier) since_barrier_ = {};
  const bool alone = hint_is(window_, "accumulate_ops", "same_op");
  const auto met = since_barrier_.conflict(bytes, access, false, alone);
  since_barrier_.add(bytes, access);
  if (!met || !is_first(access, met->other.origin, met->other.site)) return;
  Race found =
      finding_of(*met, access, window_.rank(), "under locks that they share, and no call of MPI orders the two");
  Strict::Unordered told{.sentence = std::move(found.sentence), .calls = {}};
  for (size_t i = 0; i < 2; ++i)
    told.calls[i] = {found.places[i].site.function, std::move(found.places[i].site.address)};
  strict->tells_at_end(std::move(told));
}

void Races::completes(int origin) {
  const Lock lock(mutex_);
  served_.drop([&](const Accesses::Access& access) { return access.origin == origin && access.epoch == kLock; });
}

bool Races::is_first(const Accesses::Access& one, int other, uint64_t call) {
  return told_.emplace(one.origin, one.site, other, call).second;
}

// MPI_MODE_NOPUT of this rank, and MPI_MODE_NOCHECK of an origin that has not asked for the lock.
void Races::check_promises(const Accesses::Access& access, const std::vector<Interval>& bytes) {
  if (bytes.empty()) return;
  const uint8_t kind = access.epoch & kKinds;
  const bool no_put = kind == kFence   ? no_put_[access.epoch & kParity ? 1 : 0]
                      : kind == kStart ? posted_no_put_
                                       : false;
  if (no_put && !rma::is_read(access.act) && is_first(access, -1, 0))
    tell(access,
         {MPI_ERR_ASSERT,
          fmt::format("rank {} {} {}, of which rank {} has said by MPI_MODE_NOPUT that nobody updates it in "
                      "this epoch (argument assert)",
                      access.origin, verb_of(access.act), bytes_text(bytes.front(), window_.rank()), window_.rank()),
          {place_of(access.origin, access)}});
  const rma::LockQueue& lock = window_.protocol->target().lock();
  if (kind == kLock && lock.is_exclusive() && !lock.holds(access.origin) && is_first(access, -2, 0))
    tell(access, {MPI_ERR_RMA_SYNC,
                  fmt::format("rank {} has locked rank {} of the window by MPI_MODE_NOCHECK, while rank {} holds it by "
                              "an exclusive lock (argument assert)",
                              access.origin, window_.rank(), lock.holders().front()),
                  {place_of(access.origin, access)}});
}

void Races::note_own_use(const BufferUse& use, const std::vector<Interval>& bytes) {
  if (bytes.empty() || window_.protocol->target().memory().is_dynamic()) return;
  for (const Interval& each : bytes)
    if (each.low >= 0 && each.low < window_.bytes && own_uses_.size() < kMostOwnUses)
      own_uses_.push_back({each, here(), strict->told(), use.fence_of == &window_, use.writes});
}

// One that is over by itself is in the way of an update alone, since what is read then may be what it has brought; and not
// if the other one may have heard of it. An origin that has heard of nobody since the fence has not.
const Races::OwnUse* Races::own_use_at(const Interval& bytes, const Accesses::Access& access) const {
  const bool reads = rma::is_read(access.act), ignorant = access.barrier == number_of_fence();
  for (const OwnUse& use : own_uses_) {
    if (use.bytes.low >= bytes.high || bytes.low >= use.bytes.high) continue;
    if (use.writes ? use.lasts || (!reads && (ignorant || use.told == strict->told())) : !reads && ignorant)
      return &use;
  }
  return nullptr;
}

// A receive of this rank's that is under way, or the like of it, may write there at any time: the other one finds
// neither what was there nor what comes, or is overwritten.
void Races::check_own_use(const Accesses::Access& access, const std::vector<Interval>& bytes) {
  if (access.origin == window_.rank()) return;
  // What is read in another epoch than a fence's may be complete before the message is sent that the receive waits for.
  const bool reads = rma::is_read(access.act);
  if (reads && access.epoch != fence_epoch()) return;
  for (const Interval& each : bytes) {
    const uintptr_t begin = window_.protocol->target().memory().address_of(each.low);
    auto user = strict->outstanding().writer(begin, begin + static_cast<uintptr_t>(each.high - each.low));
    bool writes = true;
    if (!user && access.epoch == fence_epoch())
      if (const OwnUse* const earlier = own_use_at(each, access)) {
        user = earlier->place;
        writes = earlier->writes;
      }
    if (!user) continue;
    if (is_first(access, window_.rank(), user->caller))
      tell(access, {MPI_ERR_RMA_CONFLICT,
                    fmt::format("rank {} {} {}, {} which rank {} {} as well: what {} is undefined (the standard, "
                                "section 12.7)",
                                access.origin, verb_of(access.act), bytes_text(each, window_.rank()),
                                writes ? "into" : "from", window_.rank(), writes ? "receives" : "sends",
                                reads    ? "it finds"
                                : writes ? "is there afterwards"
                                         : "that one finds"),
                    {place_of(access.origin, access),
                     {fmt::format("rank {} {} there by", window_.rank(), writes ? "receives" : "sends from"),
                      {user->function, code_address(user->caller)}}}});
    return;
  }
}

Error Races::touches(const BufferUse& use) {
  if (use.payload.count <= 0 || use.payload.layout->size() == 0) return {};
  const auto start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(use.payload.base) -
                                          window_.protocol->target().memory().address_of(0));
  std::vector<Interval> bytes = rma::intervals_of(start, use.payload.count, *use.payload.layout);
  // A message may be shorter than its receive: only of the first byte it is known that it is written.
  if (use.writes) bytes = {{bytes.front().low, bytes.front().low + 1}};
  const Lock lock(mutex_);
  note_own_use(use, bytes);
  for (const Interval& each : bytes)
    for (const uint8_t epoch : {fence_epoch(), kStart, kLock})
      if (const auto met = served_.of_others(each, epoch, window_.rank(), use.writes && epoch == fence_epoch()))
        return error_of(
            {MPI_ERR_RMA_CONFLICT,
             fmt::format("the {} buffer shares {} with what rank {} {} in an epoch that is not over: what {} there is "
                         "undefined (the standard, section 12.7)",
                         use.writes ? "receive" : "send", bytes_text(met->bytes, window_.rank()), met->other.origin,
                         verb_of(met->other.act),
                         !use.writes                    ? "the call finds"
                         : rma::is_read(met->other.act) ? "it finds"
                                                        : "is"),
             {place_of(met->other.origin, met->other)}});
  return {};
}

// ---- sentences

std::string Races::bytes_text(const Interval& bytes, int rank) const {
  if (window_.protocol->target().memory().is_dynamic())
    return fmt::format("{} byte{} at address {:#x} of rank {}", bytes.high - bytes.low,
                       bytes.high - bytes.low == 1 ? "" : "s", static_cast<uint64_t>(bytes.low), rank);
  if (bytes.high - bytes.low == 1) return fmt::format("byte {} of the memory of rank {}", bytes.low, rank);
  return fmt::format("bytes {} to {} of the memory of rank {}", bytes.low, bytes.high - 1, rank);
}

const Races::Site& Races::site_of(int origin, uint32_t site) const {
  static const Site unknown;
  const auto at = sites_.find({origin, site});
  return at == sites_.end() ? unknown : at->second;
}

Races::Place Races::place_of(int origin, const Accesses::Access& access) const {
  return {fmt::format("rank {} {} by", origin, verb_of(access.act)), site_of(origin, access.site)};
}

Races::Race Races::finding_of(const Accesses::Met& met, const Accesses::Access& access, int target) const {
  return finding_of(met, access, target,
                    access.epoch == kLock ? "before either is known to be complete" : "in one epoch");
}

Races::Race Races::finding_of(const Accesses::Met& met, const Accesses::Access& access, int target,
                              const char* when) const {
  const Accesses::Access *one = &met.other, *other = &access;
  const bool same = one->origin == other->origin;
  if (one->origin > other->origin) std::swap(one, other);
  const std::string first = verb_of(one->act), second = verb_of(other->act);
  const std::string who = same ? fmt::format("rank {} {} and then {}", one->origin, first, second)
                               : fmt::format("rank {} {} and rank {} {}", one->origin, first, other->origin, second);
  const char* const why =
      met.conflict == Conflict::types
          ? "accumulates of different datatypes are not atomic to each other (the standard, "
            "section 12.7.1)"
      : met.conflict == Conflict::elements ? "accumulates are atomic element by element, and these share parts of "
                                             "elements (the standard, section 12.7.1)"
      : met.conflict == Conflict::operations
          ? "concurrent accumulates use one operation, or MPI_NO_OP where accumulate_ops is same_op_no_op (the "
            "standard, section 12.2.1)"
          : "what comes of it is undefined (the standard, section 12.7); synchronise between them, or accumulate "
            "with one operation";
  return {MPI_ERR_RMA_CONFLICT,
          fmt::format("{} {} {}: {}", who, bytes_text(met.bytes, target), when, why),
          {place_of(one->origin, *one), place_of(other->origin, *other)}};
}

// In an epoch that this rank ends itself it is the one to tell; under a lock the origin, whose calls wait.
void Races::tell(const Accesses::Access& access, Race finding) {
  if (access.epoch != kLock || access.origin == window_.rank()) {
    if (!finding_) finding_ = std::move(finding);
    return;
  }
  Bytes bytes;
  put(bytes, Word::finding);
  put(bytes, finding.error_class);
  put_text(bytes, finding.sentence);
  for (const Place& place : finding.places) {
    put_text(bytes, place.text);
    put(bytes, place.site.function);
    put(bytes, place.site.address.offset);
    put_text(bytes, place.site.address.module);
  }
  window_.protocol->tell_witness(access.origin, bytes);
}

void Races::hears(int from, std::span<const std::byte> bytes) {
  const Lock lock(mutex_);
  Word word;
  if (!get(bytes, word)) return;
  if (word == Word::site) {
    uint32_t id = 0;
    Site site;
    if (get(bytes, id) && get(bytes, site.function) && get(bytes, site.address.offset) &&
        get_text(bytes, site.address.module))
      sites_[{from, id}] = site;
    return;
  }
  if (word == Word::pending) {
    Accesses::Access access{.origin = from, .epoch = kLock};
    Interval run;
    if (!get(bytes, access.barrier)) return;
    while (get(bytes, run) && get(bytes, access.act) && get(bytes, access.site) && get(bytes, access.grain))
      meet_since_barrier(access, {run});
    return;
  }
  Race finding;
  if (!get(bytes, finding.error_class) || !get_text(bytes, finding.sentence)) return;
  for (Place place; get_text(bytes, place.text);) {
    if (get(bytes, place.site.function) && get(bytes, place.site.address.offset) &&
        get_text(bytes, place.site.address.module))
      finding.places.push_back(place);
  }
  if (!finding_) finding_ = std::move(finding);
}

Error Races::error_of(Race finding) {
  for (Place& place : finding.places)
    mentions().push_back({.text = std::move(place.text),
                          .place = {},
                          .call = std::string(flight::name_of_function(place.site.function)),
                          .address = std::move(place.site.address)});
  return Error(finding.error_class, finding.sentence);
}

}  // namespace tutti::mpi::one_sided
