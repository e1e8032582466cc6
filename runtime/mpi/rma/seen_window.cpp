// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rma/seen_window.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/bytes.hpp"
#include "base/flight.hpp"
#include "base/mutex.hpp"
#include "members/processes.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/object/process.hpp"
#include "rma/window_end.hpp"

namespace tutti::mpi::one_sided {
namespace {

using race_detector::Fiber;

constexpr int kMostFibers = 32;

struct AllSeen {
  Mutex mutex;
  std::unordered_map<const Window*, std::unique_ptr<SeenWindow>> of TUTTI_GUARDED_BY(mutex);
};
AllSeen& all_seen() {
  static auto& all = *new AllSeen;
  return all;
}

// The fiber's accesses so far are over: whoever uses the memory has heard so.
void end(Fiber fiber) {
  if (!fiber) return;
  race_detector::order_me_behind(fiber);
  race_detector::give_back(fiber);
}

}  // namespace

SeenWindow::SeenWindow(Window& window, CallSite made)
    : window_(window), made_(made), updates_(race_detector::take_fiber()) {
  for (int i = 0; i < std::min(window.size(), kMostFibers); ++i) fibers_.push_back(race_detector::take_fiber());
  nodes_ = process().processes->nodes();
  window.protocol->target().set_witness(*this);
}

SeenWindow::~SeenWindow() {
  for (const Fiber fiber : fibers_) end(fiber);
  end(updates_);
}

// ---- calls of this process

bool SeenWindow::shares_clock(int rank) const {
  const auto there = static_cast<size_t>(window_.process_of(rank)), here = static_cast<size_t>(my_process());
  return there < nodes_.size() && here < nodes_.size() && nodes_[there] == nodes_[here];
}

// The target hears where an operation was called before it hears of the operation, if that has changed. In the same
// program the place is as far from the call that has made the window there as it is here.
void SeenWindow::announce(int rank) {
  const CallSite place = here();
  CallSite& known = announced_[rank];
  if (known.caller == place.caller && known.function == place.function) return;
  known = place;
  const CodeAddress made = code_address(made_.caller), called = code_address(place.caller);
  Bytes bytes;
  tutti::put(bytes, place.function);
  tutti::put(bytes, static_cast<uint8_t>(made.module == called.module));
  tutti::put(bytes, static_cast<uint64_t>(called.offset - made.offset));
  window_.protocol->tell_witness(rank, bytes);
}

void SeenWindow::about_to(int rank, const rma::Act& act) {
  hearsay::may_tell();
  announce(rank);
  fetches_ = fetches_ || rma::brings_data(act);
  // Its own program order the process knows.
  const bool limited = rank != window_.rank() && shares_clock(rank);
  const knowledge::Stamp stamp =
      limited ? listener_.stamp(rank == lock_of_ ? other_lock_at_ : lock_at_) : knowledge::kEverything;
  window_.protocol->origin().set_mark(stamp | (fences_ % 2));
}

void SeenWindow::fence_begins() {
  ++fences_;
  fenced_[fences_ % 2].release();
}

// What the others had done before it, the target knows better than the clock.
void SeenWindow::fence_ends() {
  fetches_ = false;
  knowledge::hear(0, &listener_);
}

void SeenWindow::posts() {
  posted_.release();
}

void SeenWindow::started() {
  knowledge::hear(0, &listener_);
}

void SeenWindow::completed() {
  hearsay::may_hear();
}

// Others may have given up what protects memory elsewhere.
void SeenWindow::locked(int rank) {
  if (rank != lock_of_) other_lock_at_ = lock_at_;
  lock_of_ = rank;
  lock_at_ = knowledge::now();
  knowledge::hear(0, &listener_);
}

// Whoever has the lock next is also behind what operations have used here, which are complete by then.
void SeenWindow::unlocks(int rank) {
  if (!window_.in_use.empty()) drop_buffers(&window_.in_use[static_cast<size_t>(rank)]);
  if (rank == window_.rank()) unlocked_.release();
}

void SeenWindow::exposed_no_more() {
  for (const Fiber fiber : fibers_)
    if (fiber) knowledge::completed().release_of(fiber);
  if (updates_) knowledge::completed().release_of(updates_);
  hearsay::may_hear();
}

void SeenWindow::synchronised() {
  knowledge::completed().acquire();
  if (std::exchange(fetches_, false)) hearsay::may_hear();
}

// ---- what comes from others

SeenWindow::Origin& SeenWindow::origin_of(int rank) {
  const auto [at, is_new] = origins_.try_emplace(rank);
  if (is_new) {
    at->second.caller = made_.caller;
    at->second.name = fmt::format("rank {}", rank);
  }
  return at->second;
}

void SeenWindow::serves(int origin, uint64_t mark, const rma::Act& act, const rma::TargetBuffer& buffer) {
  Origin& from = origin_of(origin);
  const Fiber fiber = act.kind == rma::AccessKind::update ? updates_ : fiber_of(origin);
  if (!fiber) return;
  race_detector::name(fiber, from.name.c_str());
  knowledge::learn(fiber, mark & ~uint64_t{1});
  fenced_[mark & 1].acquire_for(fiber);
  posted_.acquire_for(fiber);
  unlocked_.acquire_for(fiber);
  knowledge::completed().acquire_for(fiber);
  race_detector::access(fiber, window_.protocol->target().memory().at(buffer), !rma::is_read(act), from.caller);
  // Whoever gets the data knows by them that it is complete, and asks no more.
  if (rma::brings_data(act)) knowledge::completed().release_of(fiber);
}

void SeenWindow::completes(int origin) {
  if (const Fiber fiber = fiber_of(origin)) knowledge::completed().release_of(fiber);
  if (updates_) knowledge::completed().release_of(updates_);
}

void SeenWindow::hears(int from, std::span<const std::byte> bytes) {
  Origin& origin = origin_of(from);
  uint16_t function = 0;
  uint8_t is_near = 0;
  uint64_t distance = 0;
  if (!tutti::get(bytes, function) || !tutti::get(bytes, is_near) || !tutti::get(bytes, distance)) return;
  origin.name = fmt::format("{} of rank {}", flight::name_of_function(function), from);
  origin.caller = is_near ? made_.caller + distance : made_.caller;
}

// ---- by window

SeenWindow* seen(const Window& window) {
  if (!hearsay::tells) [[likely]]
    return nullptr;
  AllSeen& all = all_seen();
  const Lock lock(all.mutex);
  const auto at = all.of.find(&window);
  return at == all.of.end() ? nullptr : at->second.get();
}

void open_seen(Window& window) {
  if (!hearsay::tells || strict) return;
  auto made = std::make_unique<SeenWindow>(window, here());
  AllSeen& all = all_seen();
  const Lock lock(all.mutex);
  all.of[&window] = std::move(made);
}

void close_seen(const Window& window) {
  std::unique_ptr<SeenWindow> gone;
  AllSeen& all = all_seen();
  const Lock lock(all.mutex);
  const auto at = all.of.find(&window);
  if (at == all.of.end()) return;
  gone = std::move(at->second);
  all.of.erase(at);
}

}  // namespace tutti::mpi::one_sided
