// SPDX-License-Identifier: BSD-3-Clause
// Which call may come in which epoch (the standard, section 12.5).
#include "rma/epochs.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

namespace {

using tutti::Error;
using tutti::rma::Epochs;
using tutti::rma::kAll;
using Lock = Epochs::Lock;

// Each opens one kind of epoch; beside it, which calls may come then: operations at ranks 1 and 2, one with a request at
// 1, fence, start, complete, post, wait, lock of 1 and 2, unlock of 1, lock_all, unlock_all, flush of 1, flush_all, free.
struct Case {
  const char* name;
  std::function<void(Epochs&)> open;
  const char* may;
};

const std::vector<Case> kCases = {
    //                                                         o o r f s c p w l l u L U 1 A x
    {"nothing", [](Epochs&) {}, /*                          */ "- - - + + - + - + + - + - - - +"},
    {"fence", [](Epochs& e) { e.fence(true); }, /*          */ "+ + - + + - + - + + - + - - - +"},
    {"fence, used",
     [](Epochs& e) {
       e.fence(true);
       e.note_operation();
     },
     /*                                                     */ "+ + - + - - + - - - - - - - - -"},
    {"last fence", [](Epochs& e) { e.fence(false); }, /*    */ "- - - + + - + - + + - + - - - +"},
    {"start of 1", [](Epochs& e) { e.start({1}); }, /*      */ "+ - - - - + + - - - - - - - - -"},
    {"post", [](Epochs& e) { e.post({1}); }, /*             */ "- - - - + - - + + + - + - - - -"},
    {"lock of 1", [](Epochs& e) { e.lock(1, Lock::held); },
     /*                                                     */ "+ - + - - - + - - + + - - + + -"},
    {"unchecked", [](Epochs& e) { e.lock(1, Lock::unchecked); },
     /*                                                     */ "+ - + - - - + - - + + - - + + -"},
    {"lock_all", [](Epochs& e) { e.lock_all(Lock::held); },
     /*                                                     */ "+ + + - - - + - - - - - + + + -"},
    {"fence, then lock of 1",
     [](Epochs& e) {
       e.fence(true);
       e.lock(1, Lock::held);
     },
     /*                                                     */ "+ - + - - - + - - + + - - + + -"},
    {"all over",
     [](Epochs& e) {
       e.start({1});
       e.complete();
       e.post({1});
       e.wait();
       e.lock(1, Lock::held);
       e.note_operation();  // which is under the lock, and not in a fence's epoch
       e.unlock(1);
       e.lock_all(Lock::unchecked);
       e.unlock_all();
     },
     /*                                                     */ "- - - + + - + - + + - + - - - +"},
};

TEST(Epochs, each_call_has_its_place) {
  for (const Case& each : kCases) {
    Epochs e;
    each.open(e);
    std::string may;
    for (const Error& error :
         {e.check_operation(1), e.check_operation(2), e.check_request(1), e.check_fence(0), e.check_start(),
          e.check_complete(), e.check_post(), e.check_wait(), e.check_lock(1), e.check_lock(2), e.check_unlock(1),
          e.check_lock_all(), e.check_unlock_all(), e.check_flush(1), e.check_flush(kAll), e.check_free()}) {
      if (!may.empty()) may += ' ';
      may += error ? '-' : '+';
      EXPECT_TRUE(!error || error.mpi_class() == MPI_ERR_RMA_SYNC) << each.name << ": " << error.message();
    }
    EXPECT_EQ(may, each.may) << each.name;
  }
}

TEST(Epochs, a_fence_that_nothing_precedes_must_be_one) {
  Epochs epochs;
  epochs.fence(true);
  EXPECT_FALSE(epochs.check_fence(MPI_MODE_NOPRECEDE));
  epochs.note_operation();
  EXPECT_EQ(epochs.check_fence(MPI_MODE_NOPRECEDE).mpi_class(), MPI_ERR_ASSERT);
  EXPECT_FALSE(epochs.check_fence(0));
}

TEST(Epochs, know_how_each_rank_is_locked) {
  Epochs epochs;
  epochs.lock(3, Lock::unchecked);
  epochs.lock(1'000'000, Lock::held);
  EXPECT_EQ(epochs.lock_of(3), Lock::unchecked);
  EXPECT_EQ(epochs.lock_of(1'000'000), Lock::held);
  EXPECT_EQ(epochs.lock_of(4), Lock::none);
  EXPECT_FALSE(epochs.is_locked(4));
  epochs.unlock(3);
  EXPECT_FALSE(epochs.is_locked(3));
  epochs.unlock(1'000'000);
  epochs.lock_all(Lock::held);
  EXPECT_TRUE(epochs.is_locked(3) && epochs.is_locked(4));
  EXPECT_NE(epochs.check_unlock(3).message().find("MPI_Win_unlock_all ends"), std::string::npos);
}

}  // namespace
