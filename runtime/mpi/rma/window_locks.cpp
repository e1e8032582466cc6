// SPDX-License-Identifier: BSD-3-Clause
// Passive target synchronisation of windows (the standard, section 12.5.3): which locks a call waits for and which are
// asked for later, and what is over before they are given up.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <span>
#include <vector>

#include "base/fence.hpp"
#include "engine/engine.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/process.hpp"
#include "mpi/rma/api_window.hpp"
#include "mpi/rma/races.hpp"
#include "mpi/rma/seen_window.hpp"
#include "mpi/rma/window_waits.hpp"
#include "rma/window_end.hpp"

namespace tutti::mpi::one_sided {
namespace {

using life::Condition;
using rma::Epochs;
using rma::kAll;

// Locks are waited for later of one call at a time. Two that this process had asked for and not got could each be held by
// somebody who waits for the other one, where a program that takes them one after the other is right. The call is that of
// `but`: then there is nothing to wait for.
void settle_lazy_locks(const Window* but = nullptr) TUTTI_ENGINE_OWNED {
  Window*& last = process().lazily_locked;
  while (last && last != but) [[unlikely]] {
    Window* const window = last;
    rma::WindowEnd& protocol = *window->protocol;
    const uint32_t until = protocol.origin().last_lazy();
    protocol.ask_for_lazy_locks(kAll);
    // Another thread may give up these locks meanwhile, and free the window.
    window->comm->engine().wait_until(
        [&]()
            TUTTI_ENGINE_OWNED { return last != window || protocol.origin().are_settled(until) || is_harmed(*window); },
        [&](Condition& needs)
            TUTTI_ENGINE_OWNED { last != window ? void(needs.always()) : window->add_needs(needs, kAll); });
    if (last == window && (!protocol.origin().has_unsettled() || is_harmed(*window))) last = nullptr;
  }
}

// Other threads may start operations there meanwhile, which wait at the target.
void await_lazy_lock(Window& window, int rank) TUTTI_ENGINE_OWNED {
  rma::WindowEnd& protocol = *window.protocol;
  protocol.ask_for_lazy_locks(rank);
  window.comm->engine().wait_until(
      [&]() TUTTI_ENGINE_OWNED { return !protocol.origin().is_unsettled(rank) || is_harmed(window); },
      [&](Condition& needs) TUTTI_ENGINE_OWNED { window.add_needs(needs, rank); });
}

// Whether the call may return before it is its turn. Who looks on at what comes in which order wants to know when it has
// the lock.
bool may_be_lazy(const Window& window) {
  return !strict && !window.races && !seen(window);
}

// Whether who asks for a lock waits for it before anything else is asked for, where it is not known that the same thread
// makes the next call. Else that one would have to wait for a lock of another thread's, which may be held by somebody who
// waits for a lock that the waiting thread holds, though each of the threads takes its locks in an order that is right.
bool waits_by_thread() {
  return current.concurrent_calls;
}

// A lock of memory that this process comes to itself protects what it loads and stores there, also where operations go by
// messages.
bool may_be_lazy_at(const Window& window, int rank) {
  return window.protocol->can_lock_lazily(rank) && !(window.node && window.node->member(rank) >= 0);
}

void take_lock(Window& window, int rank, bool exclusive) TUTTI_ENGINE_OWNED {
  rma::WindowEnd& protocol = *window.protocol;
  protocol.lock(rank, exclusive);
  await(
      window, [&]() TUTTI_ENGINE_OWNED { return protocol.is_locked(rank); },
      [&](Condition& needs) TUTTI_ENGINE_OWNED { window.add_needs_of_lock(needs, rank); });
  if (protocol.is_near(rank))
    fence_behind_update();  // the ticket's
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Whose locks MPI_Win_lock_all waits for, ascending: where it need not be all, those of memory that this process comes to
// itself, and of ranks at whose locks others waited when it gave them up last, so that it does not pass these again.
std::vector<int> locked_at_once(const Window& window, bool lazy) TUTTI_ENGINE_OWNED {
  std::vector<int> ranks;
  if (!lazy) {
    for (int r = 0; r < window.size(); ++r) ranks.push_back(r);
    return ranks;
  }
  std::ranges::set_union(window.node ? window.node->ranks : std::vector{window.rank()},
                         window.protocol->origin().awaited(), std::back_inserter(ranks));
  return ranks;
}

// Gives up locks that have been asked for, when the operations under them are complete.
Error unlock(Window& window, std::span<const int> ranks) TUTTI_ENGINE_OWNED {
  rma::WindowEnd& protocol = *window.protocol;
  if (SeenWindow* const looks_on = seen(window)) [[unlikely]]
    for (const int rank : ranks) looks_on->unlocks(rank);
  fence_behind_update();
  if (window.races) [[unlikely]]
    for (const int rank : ranks) window.races->about_to_complete(rank);
  for (const int rank : ranks) protocol.unlock(rank);
  auto open = ranks.begin();
  window.comm->engine().wait_until(
      [&]() TUTTI_ENGINE_OWNED {
        const auto is_over = [&](int rank) TUTTI_ENGINE_OWNED {
          return protocol.is_near(rank) || (protocol.origin().is_flushed(rank) && protocol.is_unlocked(rank));
        };
        while (open != ranks.end() && is_over(*open)) ++open;
        return open == ranks.end() || is_given_up(window);
      },
      [&](Condition& needs) TUTTI_ENGINE_OWNED {
        needs.all();
        for (auto rank = open; rank != ranks.end(); ++rank) window.add_needs(needs, *rank);
        needs.end();
      });
  if (process().lazily_locked == &window && !protocol.origin().has_unsettled()) process().lazily_locked = nullptr;
  for (const int rank : ranks) {
    window.drop_in_use(rank);
    if (window.races) [[unlikely]]
      window.races->completed(rank);
  }
  return failure_of(window);
}

Error end_lock_of_all(Window& window) TUTTI_ENGINE_OWNED {
  window.locks_when_used = false;
  rma::WindowEnd& protocol = *window.protocol;
  std::vector<int> ranks = protocol.origin().ends_lock_of_all();
  const bool as_one = protocol.shares_all_near();
  if (as_one) {
    fence_behind_update();
    protocol.unlock_all_near();
  } else if (window.node) {
    std::ranges::copy_if(window.node->ranks, std::back_inserter(ranks),
                         [&](int rank) { return protocol.is_near(rank); });
  }
  Error error = unlock(window, ranks);
  if (as_one) window.drop_in_use(kAll);
  return error;
}

// Ends an epoch of locks that nobody was asked for.
Error end_unchecked(Window& window, int rank) TUTTI_ENGINE_OWNED {
  fence_behind_update();
  await_flushed(window, rank);
  return failure_of(window);
}

}  // namespace

Error win_lock(int lock_type, int rank, int assertion, Window& win) {
  if (lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED)
    return failure(MPI_ERR_LOCKTYPE, "{} is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED (argument lock_type)",
                   lock_type);
  if (Error e = check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")) return e;
  const Inside inside(win);
  Epochs& epochs = win.epochs;
  if (win.races) [[unlikely]]
    if (Error e = refuse_locks(win)) return e;
  if (Error e = epochs.check_lock(rank)) return e;
  if (win.races) [[unlikely]]
    win.races->locks(lock_type == MPI_LOCK_EXCLUSIVE);
  const bool checked = !(assertion & MPI_MODE_NOCHECK);
  epochs.lock(rank, checked ? Epochs::Lock::held : Epochs::Lock::unchecked);
  if (!checked) return {};
  settle_lazy_locks();
  if (!waits_by_thread() && may_be_lazy(win) && may_be_lazy_at(win, rank)) {
    win.protocol->lock_lazily(rank, {.exclusive = lock_type == MPI_LOCK_EXCLUSIVE});
    process().lazily_locked = &win;
    return {};
  }
  take_lock(win, rank, lock_type == MPI_LOCK_EXCLUSIVE);
  if (SeenWindow* const looks_on = seen(win)) [[unlikely]]
    looks_on->locked(rank);
  Error refused = failure_of(win);
  if (!refused) return {};
  (void)unlock(win, std::span(&rank, 1));
  epochs.unlock(rank);
  return refused;
}

Error win_unlock(int rank, Window& win) {
  return without_wait(win, [&]() TUTTI_ENGINE_OWNED -> Error {
    Epochs& epochs = win.epochs;
    if (Error e = epochs.check_unlock(rank)) return e;
    Error error =
        epochs.lock_of(rank) == Epochs::Lock::held ? unlock(win, std::span(&rank, 1)) : end_unchecked(win, rank);
    epochs.unlock(rank);
    return error;
  });
}

Error win_lock_all(int assertion, Window& win) {
  if (Error e = check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")) return e;
  const Inside inside(win);
  Epochs& epochs = win.epochs;
  if (win.races) [[unlikely]]
    if (Error e = refuse_locks(win)) return e;
  if (Error e = epochs.check_lock_all()) return e;
  if (win.races) [[unlikely]]
    win.races->locks(false);
  const bool checked = !(assertion & MPI_MODE_NOCHECK);
  epochs.lock_all(checked ? Epochs::Lock::held : Epochs::Lock::unchecked);
  if (!checked) return {};
  settle_lazy_locks();
  const bool lazy = may_be_lazy(win);
  rma::OriginSide& origin = win.protocol->origin();
  if (lazy) origin.begins_lock_of_all();
  // The node's at once where nothing is waited for, not even behind it.
  if (lazy && origin.awaited().empty() && win.protocol->lock_all_near()) {
    fence_behind_update();
    win.locks_when_used = static_cast<int>(win.node->ranks.size()) < win.size();
    return {};
  }
  // One after the other, in the order of ranks. Two calls that asked for all at once could each hold what somebody waits
  // for alone who is before the other one elsewhere: none of the four would go on.
  const std::vector<int> ranks = locked_at_once(win, lazy);
  for (const int rank : ranks) {
    if (!win.protocol->is_near(rank)) origin.asked_under_lock_of_all(rank);
    take_lock(win, rank, false);
  }
  Error refused = failure_of(win);
  win.locks_when_used = lazy && !refused && static_cast<int>(ranks.size()) < win.size();
  if (!refused) return {};
  (void)end_lock_of_all(win);
  epochs.unlock_all();
  return refused;
}

// These pass who waits (rma::LockWish), since this process holds others of the window. So it waits for those alone who hold
// one alone, and not for who waits for somebody that may wait for this process.
void ask_for_lock(Window& window, int rank) {
  rma::OriginSide& origin = window.protocol->origin();
  if (rank == MPI_PROC_NULL || window.protocol->is_near(rank) || !origin.wants_lock(rank)) return;
  settle_lazy_locks(&window);
  if (!origin.wants_lock(rank)) return;  // another thread's operation has asked meanwhile
  origin.asked_under_lock_of_all(rank);
  window.protocol->lock_lazily(rank, {.passes = true});
  if (waits_by_thread())
    await_lazy_lock(window, rank);
  else
    process().lazily_locked = &window;
}

Error win_unlock_all(Window& win) {
  return without_wait(win, [&]() TUTTI_ENGINE_OWNED -> Error {
    Epochs& epochs = win.epochs;
    if (Error e = epochs.check_unlock_all()) return e;
    Error error = epochs.lock_of_all() == Epochs::Lock::held ? end_lock_of_all(win) : end_unchecked(win, kAll);
    epochs.unlock_all();
    return error;
  });
}

}  // namespace tutti::mpi::one_sided
