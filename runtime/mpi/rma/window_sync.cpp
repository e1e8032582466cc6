// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation of windows (the standard, section 12.5) but for locks (window_locks.cpp): which epoch may begin and end
// when, what must be over before a call returns, and what a waiting one needs.
#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/fence.hpp"
#include "contract/signature.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/rma/api_window.hpp"
#include "mpi/rma/races.hpp"
#include "mpi/rma/seen_window.hpp"
#include "mpi/rma/window_waits.hpp"
#include "rma/window_end.hpp"

namespace tutti::mpi::one_sided {
namespace {

using engine::Engine;
using life::Condition;
using rma::Epochs;
using rma::kAll;

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

void await_locally(Window& win, int rank) TUTTI_ENGINE_OWNED {
  rma::WindowEnd& protocol = *win.protocol;
  protocol.flush_locally(rank);
  win.comm->engine().wait_until(
      [&]() TUTTI_ENGINE_OWNED { return protocol.origin().is_locally_complete(rank) || is_given_up(win); },
      [&](Condition& needs) TUTTI_ENGINE_OWNED { win.add_needs(needs, rank); });
  win.drop_in_use(rank);
  if (win.races) [[unlikely]]
    win.races->completed_locally(rank);
}

}  // namespace

Error check_assertion(int assertion, int allowed, const char* which) {
  if ((assertion & ~allowed) == 0) return {};
  return failure(MPI_ERR_ASSERT, "{} is no assertion for this call, which knows {} (argument assert)", assertion,
                 which);
}

void await_flushed(Window& win, int rank) {
  rma::WindowEnd& protocol = *win.protocol;
  if (win.races) [[unlikely]]
    win.races->about_to_complete(rank);
  if (protocol.is_near(rank)) [[likely]] {
    protocol.flush_locally(rank);
    win.comm->engine().over_at_once();
  } else {
    protocol.flush(rank);
    win.comm->engine().wait_until(
        [&]() TUTTI_ENGINE_OWNED { return protocol.origin().is_flushed(rank) || is_given_up(win); },
        [&](Condition& needs) TUTTI_ENGINE_OWNED { win.add_needs(needs, rank); });
  }
  win.drop_in_use(rank);
  if (win.races) [[unlikely]]
    win.races->completed(rank);
}

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
