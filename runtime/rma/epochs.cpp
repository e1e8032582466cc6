// SPDX-License-Identifier: BSD-3-Clause
#include "rma/epochs.hpp"

#include <mpi.h>

#include <algorithm>

namespace tutti::rma {
namespace {

template <class... Args>
Error out_of_sync(fmt::format_string<Args...> format, Args&&... args) {
  return failure(MPI_ERR_RMA_SYNC, format, std::forward<Args>(args)...);
}

}  // namespace

// ---- operations

Error Epochs::check_unlocked_operation(int rank) const {
  if (started_) {
    if (std::ranges::binary_search(targets_, rank)) return {};
    return out_of_sync("rank {} is not in the group that MPI_Win_start was given (argument target_rank)", rank);
  }
  return out_of_sync(
      "no access epoch is open for rank {} of the window: MPI_Win_fence, MPI_Win_start, "
      "MPI_Win_lock or MPI_Win_lock_all comes first (argument target_rank)",
      rank);
}

Error Epochs::check_request(int rank) const {
  if (is_locked(rank)) return {};
  return out_of_sync(
      "operations with a request want a lock on rank {} of the window: MPI_Win_lock or "
      "MPI_Win_lock_all comes first (argument target_rank)",
      rank);
}

// ---- calls

// An open access epoch keeps another kind from beginning.
Error Epochs::check_no_access() const {
  const char* const open = started_             ? "MPI_Win_start opened an access epoch: call MPI_Win_complete"
                           : all_ != Lock::none ? "MPI_Win_lock_all opened an epoch: call MPI_Win_unlock_all"
                           : locks_held_ > 0    ? "MPI_Win_lock opened an epoch: call MPI_Win_unlock"
                           : fence_used_ ? "there were operations since the last MPI_Win_fence: call it once more"
                                         : nullptr;
  return open ? out_of_sync("{} first (argument win)", open) : Error();
}

Error Epochs::check_fence(int assertion) const {
  if (!fence_used_)
    if (Error e = check_no_access()) return e;
  if (exposed_) return out_of_sync("MPI_Win_post opened an exposure epoch: call MPI_Win_wait first (argument win)");
  if (fence_used_ && (assertion & MPI_MODE_NOPRECEDE))
    return failure(MPI_ERR_ASSERT,
                   "MPI_MODE_NOPRECEDE is given, yet there were operations since the last "
                   "MPI_Win_fence (argument assert)");
  return {};
}

Error Epochs::check_complete() const {
  if (started_) return {};
  return out_of_sync("there is no access epoch to complete: MPI_Win_start comes first (argument win)");
}

Error Epochs::check_post() const {
  if (!exposed_) return {};
  return out_of_sync("MPI_Win_post opened an exposure epoch already: call MPI_Win_wait first (argument win)");
}

Error Epochs::check_wait() const {
  if (exposed_) return {};
  return out_of_sync("there is no exposure epoch to wait for: MPI_Win_post comes first (argument win)");
}

Error Epochs::check_lock(int rank) const {
  if (lock_of(rank) != Lock::none)
    return out_of_sync(
        "rank {} of the window is locked by this one already: call MPI_Win_unlock first "
        "(argument rank)",
        rank);
  return locks_held_ > 0 ? Error() : check_no_access();
}

Error Epochs::check_unlock(int rank) const {
  if (lock_of(rank) != Lock::none) return {};
  return out_of_sync("rank {} of the window is not locked by this one{} (argument rank)", rank,
                     all_ != Lock::none ? " alone: MPI_Win_unlock_all ends what MPI_Win_lock_all began"
                                        : ": MPI_Win_lock comes first");
}

Error Epochs::check_unlock_all() const {
  if (all_ != Lock::none) return {};
  return out_of_sync("MPI_Win_lock_all has not locked the window: it comes first (argument win)");
}

Error Epochs::no_lock_to_flush(int rank) const {
  return rank == kAll ? out_of_sync(
                            "there is no lock on the window: MPI_Win_lock or MPI_Win_lock_all comes first "
                            "(argument win)")
                      : out_of_sync(
                            "rank {} of the window is not locked by this one: MPI_Win_lock or "
                            "MPI_Win_lock_all comes first (argument rank)",
                            rank);
}

Error Epochs::check_free() const {
  const char* const open = fence_used_ ? "there were operations since the last MPI_Win_fence: call it once more"
                           : started_  ? "the access epoch of MPI_Win_start is open: call MPI_Win_complete"
                           : exposed_  ? "the exposure epoch of MPI_Win_post is open: call MPI_Win_wait"
                           : all_ != Lock::none ? "the epoch of MPI_Win_lock_all is open: call MPI_Win_unlock_all"
                           : locks_held_ > 0    ? "the epoch of MPI_Win_lock is open: call MPI_Win_unlock"
                                                : nullptr;
  return open ? out_of_sync("the window cannot be freed yet, for {} first (argument win)", open) : Error();
}

}  // namespace tutti::rma
