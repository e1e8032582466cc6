// SPDX-License-Identifier: BSD-3-Clause
// Which epochs are open on a window at one process (the standard, section 12.5), and so which call may come next. What
// is wrong is told in the words of the call that asks. Waits for nobody, and knows of no operation what has become of
// it. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/by_process.hpp"
#include "base/result.hpp"
#include "rma/operation.hpp"

namespace tutti::rma {

class Epochs {
 public:
  // unchecked: by MPI_MODE_NOCHECK, so that its target has not been asked.
  enum class Lock : uint8_t { none, held, unchecked };

  // ---- operations

  // Whether one may be started at `rank`, and one with a request.
  Error check_operation(int rank) const {
    if (is_locked(rank) || (fenced_ && !started_ && locks_held_ == 0)) [[likely]]
      return {};
    return check_unlocked_operation(rank);
  }
  Error check_request(int rank) const;
  // One that nothing refuses, and that has something to do, is about to start: if no other epoch is open, in
  // that of a fence.
  void note_operation() {
    if (!started_ && !is_passive()) fence_used_ = true;
  }

  // ---- calls: whether each may come, and, when it is through, that it has

  Error check_fence(int assertion) const;
  void fence(bool succeeded) {
    fenced_ = succeeded;
    fence_used_ = false;
  }

  Error check_start() const { return check_no_access(); }
  void start(std::vector<int> targets) {
    fenced_ = false;
    started_ = true;
    targets_ = std::move(targets);
  }
  Error check_complete() const;
  void complete() {
    started_ = false;
    targets_.clear();
  }

  Error check_post() const;
  void post(std::vector<int> origins) {
    fenced_ = fenced_ && fence_used_;
    exposed_ = true;
    origins_ = std::move(origins);
  }
  Error check_wait() const;
  void wait() {
    exposed_ = false;
    origins_.clear();
  }

  Error check_lock(int rank) const;
  void lock(int rank, Lock how) {
    fenced_ = false;
    locks_.set(rank, how);
    ++locks_held_;
  }
  Error check_unlock(int rank) const;
  void unlock(int rank) {
    locks_.set(rank, Lock::none);
    --locks_held_;
  }
  Error check_lock_all() const { return check_no_access(); }
  void lock_all(Lock how) {
    fenced_ = false;
    all_ = how;
  }
  Error check_unlock_all() const;
  void unlock_all() { all_ = Lock::none; }

  // A flush of `rank`, or kAll.
  Error check_flush(int rank) const {
    if (rank == kAll ? is_passive() : is_locked(rank)) [[likely]]
      return {};
    return no_lock_to_flush(rank);
  }
  Error check_free() const;

  // ---- what is open

  bool is_started() const { return started_; }
  const std::vector<int>& targets() const { return targets_; }  // of MPI_Win_start, ascending
  bool is_exposed() const { return exposed_; }
  const std::vector<int>& origins() const { return origins_; }  // of MPI_Win_post
  // Of MPI_Win_lock alone, and of MPI_Win_lock_all.
  Lock lock_of(int rank) const {
    const Lock* const lock = locks_.find(rank);
    return lock ? *lock : Lock::none;
  }
  Lock lock_of_all() const { return all_; }
  bool is_locked(int rank) const { return all_ != Lock::none || (locks_held_ > 0 && lock_of(rank) != Lock::none); }

 private:
  bool is_passive() const { return locks_held_ > 0 || all_ != Lock::none; }
  Error check_no_access() const;
  Error check_unlocked_operation(int rank) const;
  Error no_lock_to_flush(int rank) const;

  bool fenced_ = false;      // after a fence that may begin an epoch
  bool fence_used_ = false;  // and there were operations in it
  bool started_ = false;     // MPI_Win_start
  bool exposed_ = false;     // MPI_Win_post
  Lock all_ = Lock::none;    // MPI_Win_lock_all
  int locks_held_ = 0;       // of locks_, those that are not none
  ByProcess<Lock> locks_;    // by rank, of those that were locked once
  std::vector<int> targets_, origins_;
};

}  // namespace tutti::rma
