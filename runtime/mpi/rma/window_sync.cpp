// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation of windows (the standard, section 12.5): which epoch may begin and end when, what
// must be over before a call returns, and what a waiting one needs.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fence.hpp"
#include "contract/signature.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/object/process.hpp"
#include "mpi/rma/api_window.hpp"
#include "mpi/rma/races.hpp"
#include "mpi/rma/seen_window.hpp"
#include "rma/window_end.hpp"

namespace tutti::mpi::one_sided {
namespace {

using engine::Engine;
using life::Condition;
using rma::Epochs;
using rma::kAll;

// In a call of synchronisation. It begins with an atomic addition, which fence_behind_update() stands behind.
class TUTTI_SCOPED_CAPABILITY Inside {
 public:
  explicit Inside(const Window& window) TUTTI_ACQUIRES(engine_owned) : own_(window.comm->engine()), window_(window) {
    if (strict) [[unlikely]]
      strict->acts();
    hearsay::may_tell();
  }
  ~Inside() TUTTI_RELEASES() {
    if (SeenWindow* const looks_on = seen(window_)) [[unlikely]]
      looks_on->synchronised();
  }

 private:
  const Engine::Guard own_;
  const Window& window_;
};

// A call that need not wait for anybody. A program may make it again and again, to look whether another rank has written
// something: with more ranks than cores it cannot, while this one has its core, so that one of so many looks gives it up.
template <class Call>
Error without_wait(Window& win, Call&& call) {
  constexpr unsigned kLooks = 16;
  bool gives_way = false;
  Error error;
  {
    const Inside inside(win);
    error = call();
    gives_way = !std::exchange(win.has_written, false) && ++win.looks % kLooks == 0;
  }
  if (gives_way) win.comm->engine().give_way();
  return error;
}

Error check_assertion(int assertion, int allowed, const char* which) {
  if ((assertion & ~allowed) == 0) return {};
  return failure(MPI_ERR_ASSERT, "{} is no assertion for this call, which knows {} (argument assert)", assertion,
                 which);
}

// Ranks in the window, ascending.
Result<std::vector<int>> ranks_of(const Group& group, const Window& window) {
  const ProcessRanks rank_of(window.comm->group->processes, group.size());
  std::vector<int> ranks;
  for (const int member : group.processes) {
    const int rank = rank_of(member);
    if (rank < 0)
      return failure(MPI_ERR_GROUP, "the process with rank {} in the group is not in the window's (argument group)",
                     ranks.size());
    ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

// A member has failed: nothing is waited for any more, and each synchronisation says so.
bool is_harmed(const Window& window) TUTTI_ENGINE_OWNED {
  return window.comm->hidden.harm != 0;
}

// Waits for what others tell, by messages or by words in memory.
template <class Done, class Needs>
void await(const Window& window, Done&& done, Needs&& needs) TUTTI_ENGINE_OWNED {
  const auto over = [&]() TUTTI_ENGINE_OWNED { return done() || is_harmed(window); };
  const rma::WordWait wait(*window.protocol, over);
  window.comm->engine().wait_until(over, needs);
}

// Waits for those of `ranks` that `done` does not hold for: each has to make a call.
template <class IsDone>
void await_each(const Window& window, const std::vector<int>& ranks, IsDone&& is_done) TUTTI_ENGINE_OWNED {
  await(
      window, [&] { return std::ranges::all_of(ranks, is_done); },
      [&](Condition& needs) TUTTI_ENGINE_OWNED {
        needs.all();
        for (const int rank : ranks)
          if (!is_done(rank)) needs.process(window.process_of(rank));
        needs.end();
      });
}

// The others' progress completes these, which needs no call of theirs.
void await_flushed(Window& win, int rank) TUTTI_ENGINE_OWNED {
  rma::WindowEnd& protocol = *win.protocol;
  if (protocol.is_near(rank)) [[likely]] {
    protocol.flush_locally(rank);
    win.comm->engine().over_at_once();
  } else {
    protocol.flush(rank);
    win.comm->engine().wait_until(
        [&]() TUTTI_ENGINE_OWNED { return protocol.origin().is_flushed(rank) || is_harmed(win); },
        [&](Condition& needs) TUTTI_ENGINE_OWNED { win.add_needs(needs, rank); });
  }
  win.drop_in_use(rank);
  if (win.races) [[unlikely]]
    win.races->completed(rank);
}
void await_locally(Window& win, int rank) TUTTI_ENGINE_OWNED {
  rma::WindowEnd& protocol = *win.protocol;
  protocol.flush_locally(rank);
  win.comm->engine().wait_until(
      [&]() TUTTI_ENGINE_OWNED { return protocol.origin().is_locally_complete(rank) || is_harmed(win); },
      [&](Condition& needs) TUTTI_ENGINE_OWNED { win.add_needs(needs, rank); });
  win.drop_in_use(rank);
  if (win.races) [[unlikely]]
    win.races->completed_locally(rank);
}

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

// Whether the call may return before it is its turn. Who looks on at what comes in which order wants to know when it has
// the lock.
bool may_be_lazy(const Window& window) {
  return !strict && !window.races && !seen(window);
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

// The first failure that targets have told of since the last time, raised on the window by the call
// that completes the operations.
Error failure_of(Window& window) TUTTI_ENGINE_OWNED {
  if (window.races) [[unlikely]]
    if (Error e = window.races->take_finding()) return e;
  if (is_harmed(window)) [[unlikely]]
    return settle_first(window.comm->hidden);
  return window.protocol->origin().take_failure();
}

// Gives up locks that have been asked for, when the operations under them are complete.
Error unlock(Window& window, std::span<const int> ranks) TUTTI_ENGINE_OWNED {
  rma::WindowEnd& protocol = *window.protocol;
  if (SeenWindow* const looks_on = seen(window)) [[unlikely]]
    for (const int rank : ranks) looks_on->unlocks(rank);
  fence_behind_update();
  for (const int rank : ranks) protocol.unlock(rank);
  auto open = ranks.begin();
  window.comm->engine().wait_until(
      [&]() TUTTI_ENGINE_OWNED {
        const auto is_over = [&](int rank) TUTTI_ENGINE_OWNED {
          return protocol.is_near(rank) || (protocol.origin().is_flushed(rank) && protocol.is_unlocked(rank));
        };
        while (open != ranks.end() && is_over(*open)) ++open;
        return open == ranks.end() || is_harmed(window);
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
  std::vector<int> ranks = window.protocol->origin().ends_lock_of_all();
  if (window.node)
    std::ranges::copy_if(window.node->ranks, std::back_inserter(ranks),
                         [&](int rank) { return window.protocol->is_near(rank); });
  return unlock(window, ranks);
}

// Ends an epoch of locks that nobody was asked for.
Error end_unchecked(Window& window, int rank) TUTTI_ENGINE_OWNED {
  fence_behind_update();
  await_flushed(window, rank);
  return failure_of(window);
}

}  // namespace

// ---- fence (12.5.1)

Error win_fence(int assertion, Window& win) {
  constexpr int kKnown = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if (Error e = check_assertion(assertion, kKnown,
                                "MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and "
                                "MPI_MODE_NOSUCCEED"))
    return e;
  Error differ;
  std::optional<TellsNobody> quiet;
  if (strict) [[unlikely]]
    quiet.emplace();
  {
    const Inside inside(win);
    if (Error e = win.epochs.check_fence(assertion)) return e;
    if (win.races) [[unlikely]]
      win.races->promises(assertion, false);
    await_flushed(win, kAll);
    if (SeenWindow* const looks_on = seen(win)) [[unlikely]]
      looks_on->fence_begins();
  }
  // Everybody's operations are complete where they went: behind the barrier, at all.
  if (win.races) [[unlikely]] {
    if (Error e = exchange_assertions(assertion, win, differ)) return e;
  } else if (Error e = run(*win.comm, coll::Call{.kind = coll::Collective::barrier,
                                                 .signature = contract::word_of(Function::Win_fence)}))
    return e;
  const Inside inside(win);
  win.epochs.fence(!(assertion & MPI_MODE_NOSUCCEED));
  if (win.races) [[unlikely]]
    win.races->fenced();
  if (SeenWindow* const looks_on = seen(win)) [[unlikely]]
    looks_on->fence_ends();
  fence_behind_update();
  if (differ) return differ;
  return failure_of(win);
}

// ---- general active target (12.5.2)

Error win_start(Group& group, int assertion, Window& win) {
  if (Error e = check_assertion(assertion, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK")) return e;
  Result<std::vector<int>> ranks = ranks_of(group, win);
  if (!ranks) return std::move(ranks).error();
  const Inside inside(win);
  Epochs& epochs = win.epochs;
  if (Error e = epochs.check_start()) return e;
  if (assertion & MPI_MODE_NOCHECK)
    for (const int rank : *ranks)
      if (win.protocol->is_posted(rank))
        return failure(
            MPI_ERR_ASSERT,
            "MPI_MODE_NOCHECK is given, but not by the MPI_Win_post of rank {}: it must be given by both, or "
            "by neither (argument assert)",
            rank);
  epochs.start(*std::move(ranks));
  if (assertion & MPI_MODE_NOCHECK) return {};
  rma::WindowEnd& protocol = *win.protocol;
  await_each(win, epochs.targets(), [&](int rank) TUTTI_ENGINE_OWNED { return protocol.is_posted(rank); });
  if (is_harmed(win)) return failure_of(win);
  for (const int rank : epochs.targets()) protocol.take_post(rank);
  if (SeenWindow* const looks_on = seen(win)) [[unlikely]]
    looks_on->started();
  return {};
}

Error win_complete(Window& win) {
  const Inside inside(win);
  if (Error e = win.epochs.check_complete()) return e;
  for (const int rank : win.epochs.targets()) win.protocol->complete(rank);
  await_locally(win, kAll);
  if (win.races) [[unlikely]]
    win.races->completed(kAll);
  if (SeenWindow* const looks_on = seen(win)) [[unlikely]]
    looks_on->completed();
  win.epochs.complete();
  return failure_of(win);
}

Error win_post(Group& group, int assertion, Window& win) {
  if (Error e = check_assertion(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                                "MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT"))
    return e;
  Result<std::vector<int>> ranks = ranks_of(group, win);
  if (!ranks) return std::move(ranks).error();
  const Inside inside(win);
  if (Error e = win.epochs.check_post()) return e;
  if (Error e = win.protocol->expose()) return e;
  win.epochs.post(*std::move(ranks));
  if (win.races) [[unlikely]]
    win.races->promises(assertion, true);
  if (SeenWindow* const looks_on = seen(win)) [[unlikely]]
    looks_on->posts();
  fence_behind_update();
  if (!(assertion & MPI_MODE_NOCHECK))
    for (const int rank : win.epochs.origins()) win.protocol->post(rank);
  return {};
}

namespace {

void end_exposure(Window& win) TUTTI_ENGINE_OWNED {
  for (const int rank : win.epochs.origins())
    if (win.protocol->is_completed_by(rank)) win.protocol->take_complete(rank);
  win.epochs.wait();
  win.protocol->hide();
  if (win.races) [[unlikely]]
    win.races->exposed_no_more();
  if (SeenWindow* const looks_on = seen(win)) [[unlikely]]
    looks_on->exposed_no_more();
  fence_behind_update();
}

}  // namespace

Error win_wait(Window& win) {
  const Inside inside(win);
  if (Error e = win.epochs.check_wait()) return e;
  rma::WindowEnd& protocol = *win.protocol;
  protocol.hide();  // who locks it from here on waits, as the standard may be read
  const std::vector<int>& origins = win.epochs.origins();
  const auto is_done = [&](int rank) TUTTI_ENGINE_OWNED { return protocol.is_completed_by(rank); };
  await(
      win, [&] { return std::ranges::all_of(origins, is_done); },
      [&](Condition& needs) TUTTI_ENGINE_OWNED {
        needs.all();
        for (const int rank : origins)
          if (!is_done(rank) && !protocol.target().is_serving(rank)) needs.process(win.process_of(rank));
        needs.end();
      });
  end_exposure(win);
  return win.races || is_harmed(win) ? failure_of(win) : Error();
}

Error win_test(Window& win, int* flag) {
  Engine& engine = win.comm->engine();
  hearsay::may_tell();
  engine.enter();
  Error error = win.epochs.check_wait();
  bool moved = false;
  *flag = 0;
  if (!error) {
    moved = engine.progress();
    *flag = std::ranges::all_of(win.epochs.origins(),
                                [&](int rank) TUTTI_ENGINE_OWNED { return win.protocol->is_completed_by(rank); });
    if (!*flag && is_harmed(win)) *flag = true;
    if (*flag) end_exposure(win);
    if (*flag && (win.races || is_harmed(win))) [[unlikely]]
      error = failure_of(win);
  }
  engine.leave();
  if (!error && !*flag && !moved) engine.give_way();
  return error;
}

// ---- passive target (12.5.3)

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
  if (may_be_lazy(win) && may_be_lazy_at(win, rank)) {
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
  // One after the other, in the order of ranks. Two calls that asked for all at once could each hold what somebody waits
  // for alone who is before the other one elsewhere: none of the four would go on.
  const std::vector<int> ranks = locked_at_once(win, lazy);
  rma::OriginSide& origin = win.protocol->origin();
  if (lazy) origin.begins_lock_of_all();
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

// ---- flush and sync (12.5.4)

namespace {

Error flush(Window& win, int rank) {
  return without_wait(win, [&]() TUTTI_ENGINE_OWNED -> Error {
    if (Error e = win.epochs.check_flush(rank)) return e;
    await_flushed(win, rank);
    if (win.protocol->is_near(rank))
      fence_behind_update();
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
    return failure_of(win);
  });
}

Error flush_local(Window& win, int rank) {
  return without_wait(win, [&]() TUTTI_ENGINE_OWNED -> Error {
    if (Error e = win.epochs.check_flush(rank)) return e;
    await_locally(win, rank);
    return failure_of(win);
  });
}

}  // namespace

Error win_flush(int rank, Window& win) {
  return flush(win, rank);
}
Error win_flush_all(Window& win) {
  return flush(win, kAll);
}
Error win_flush_local(int rank, Window& win) {
  return flush_local(win, rank);
}
Error win_flush_local_all(Window& win) {
  return flush_local(win, kAll);
}

Error win_sync(Window& win) {
  return without_wait(win, [&]() TUTTI_ENGINE_OWNED -> Error {  // behind it what others have written before is seen
    fence_behind_update();
    win.comm->engine().over_at_once();
    return {};
  });
}

}  // namespace tutti::mpi::one_sided
