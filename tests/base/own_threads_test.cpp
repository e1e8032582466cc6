// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/own_threads.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/os/thread_sanitizer.hpp"

namespace tutti {
namespace {

// A thread that is there until it is told to end.
class Waiting {
 public:
  explicit Waiting(bool says_so = false) {
    thread_ = std::thread([this, says_so] {
      std::unique_ptr<OwnThread> own;
      if (says_so) own = std::make_unique<OwnThread>();
      id_ = ::gettid();
      while (!ends_) ::usleep(1000);
    });
    while (id_ == 0) ::usleep(100);
  }
  ~Waiting() {
    ends_ = true;
    thread_.join();
  }
  int id() const { return id_; }

 private:
  std::atomic<int> id_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

bool is_own(int thread) {
  const auto others = without_own_threads({thread});
  return others && others->empty();
}

// Whether the kernel tells masks; an emulator of another machine may not.
bool is_mask_told() {
  const StartsOwnThreads here;
  const Waiting thread;
  FILE* file = std::fopen(("/proc/self/task/" + std::to_string(thread.id()) + "/status").c_str(), "re");
  if (!file) return false;
  char text[256];
  unsigned long long mask = 0;
  while (std::fgets(text, sizeof text, file)) std::sscanf(text, "SigBlk: %llx", &mask);
  std::fclose(file);
  return mask != 0;
}

TEST(OwnThreads, SayIt) {
  const Waiting own(true), other;
  EXPECT_TRUE(is_own(own.id()));
  EXPECT_FALSE(is_own(other.id()));
}

TEST(OwnThreads, AreThoseOfALibraryThatIsCalled) {
  if (!is_mask_told()) GTEST_SKIP() << "no masks are told here";
  std::unique_ptr<Waiting> made;
  {
    const StartsOwnThreads here;
    made = std::make_unique<Waiting>();
  }
  EXPECT_TRUE(is_own(made->id()));
}

// One that the program starts at the same time, by another thread of its own.
TEST(OwnThreads, AreNotThoseThatAreStartedMeanwhile) {
  std::unique_ptr<Waiting> made;
  {
    const StartsOwnThreads here;
    std::thread maker;
    // The maker is older than the scope in a program: here it gets the mask that it would have.
    maker = std::thread([&] {
      sigset_t none;
      sigemptyset(&none);
      pthread_sigmask(SIG_SETMASK, &none, nullptr);
      made = std::make_unique<Waiting>();
    });
    maker.join();
  }
  EXPECT_FALSE(is_own(made->id()));
}

TEST(OwnThreads, CannotBeToldWhileOneIsStarted) {
  const int self = ::gettid();
  EXPECT_FALSE(is_own(self));
  {
    const StartsOwnThreads here;
    EXPECT_EQ(without_own_threads({self}), std::nullopt);
  }
  EXPECT_FALSE(is_own(self));
}

// Threads with all signals blocked, or all but those that a thread raises itself, and the helper that the C library has
// for timers.
TEST(OwnThreads, AreNotThoseThatBlockAllSignals) {
  for (const bool but_faults : {false, true}) {
    sigset_t all, before;
    sigfillset(&all);
    if (but_faults)
      for (const int signal : {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS}) sigdelset(&all, signal);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const Waiting made;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_FALSE(is_own(made.id()));
  }
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = [](sigval) {};
  timer_t timer;
  ASSERT_EQ(::timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  int own = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    own += is_own(std::atoi(entry.path().filename().c_str()));
  EXPECT_LE(own, is_under_thread_sanitizer() ? 1 : 0);
  ::timer_delete(timer);
}

TEST(OwnThreads, LeaveTheMaskOfTheirMaker) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    const StartsOwnThreads outer;
    const StartsOwnThreads inner;
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 64; ++signal) EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

// While makers come and go, and threads with them, nobody takes a program's thread for the library's.
TEST(OwnThreads, HoldAmidStartsAndEnds) {
  std::atomic<bool> ends{false};
  std::atomic<int> makers{0}, at_work{0};
  std::thread maker([&] {
    makers = ::gettid();
    while (!ends) {
      const StartsOwnThreads here;
      std::thread([] {}).join();
      ++at_work;
    }
  });
  while (makers == 0) ::usleep(100);
  for (int i = 0; i < 2000 || at_work < 10; ++i) EXPECT_FALSE(is_own(makers));
  ends = true;
  maker.join();
}

}  // namespace
}  // namespace tutti
