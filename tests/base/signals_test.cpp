// SPDX-License-Identifier: BSD-3-Clause
// Which signals a thread gets that was made within SignalsBlocked.
#include "base/signals.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace tutti {
namespace {

sigset_t mask_of_a_thread() {
  sigset_t mask{};
  const SignalsBlocked none;
  std::thread([&] { ::pthread_sigmask(SIG_BLOCK, nullptr, &mask); }).join();
  return mask;
}

TEST(SignalsBlocked, WhatOthersSendIsNotForTheThread) {
  const sigset_t mask = mask_of_a_thread();
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGPROF})
    EXPECT_EQ(sigismember(&mask, signal), 1) << signal;
}

TEST(SignalsBlocked, TheMakerGetsAllAgain) {
  sigset_t before{}, after{};
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  mask_of_a_thread();
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (int signal = 1; signal < NSIG; ++signal)
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
}

// By a thread that faults while another one is in the handler, as where both use memory that the program has overwritten:
// the handler is asked, and may let the other one finish.
void fault_in_such_a_thread() {
  struct sigaction action{};
  action.sa_handler = [](int) { ::_exit(7); };
  ::sigaction(SIGSEGV, &action, nullptr);
  const SignalsBlocked none;
  std::thread([] { *static_cast<volatile int*>(nullptr) = 3; }).join();
}
TEST(SignalsBlocked, AFaultOfTheThreadFindsItsHandler) {
  EXPECT_EXIT(fault_in_such_a_thread(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace tutti
