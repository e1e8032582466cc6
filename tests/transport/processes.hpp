// SPDX-License-Identifier: BSD-3-Clause
// Runs the ranks of a test as processes of their own, forked from the test's, which must not have
// started threads. What fails in one of them fails the test.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "transport/router.hpp"

namespace tutti::testing_processes {

// What the processes of one job share beside the transport under test.
class Job {
 public:
  explicit Job(int size) : size_(size) {
    static int jobs = 0;
    name_ = "engine-test." + std::to_string(getpid()) + "." + std::to_string(++jobs);
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    shared_ = new (memory) Shared;
  }
  ~Job() { munmap(shared_, sizeof(Shared)); }
  Job(const Job&) = delete;

  int size() const { return size_; }
  const std::string& name() const { return name_; }

  Error fence() {
    const int round = shared_->round.load();
    if (shared_->arrived.fetch_add(1) + 1 == size_) {
      shared_->arrived = 0;
      shared_->round = round + 1;
    }
    while (shared_->round.load() == round) std::this_thread::yield();
    return {};
  }

  transport::RouterOptions options(int rank) const {
    transport::RouterOptions o{.job = name_, .process = rank, .job_size = size_, .neighbours = {}};
    for (int i = 0; i < size_; ++i) o.neighbours.push_back(i);
    return o;
  }
  transport::Wiring wiring(int rank) {
    return {.publish =
                [this, rank](const std::string& address) {
                  Mail& mail = shared_->addresses[rank];
                  EXPECT_LE(address.size(), sizeof mail.bytes);
                  mail.length = address.copy(mail.bytes, sizeof mail.bytes);
                  return fence();
                },
            .fence = [this] { return fence(); },
            .address_of = [this](int peer) -> Result<std::string> {
              const Mail& mail = shared_->addresses[peer];
              return std::string(mail.bytes, mail.length);
            }};
  }

  // Of a job behind which nobody removes a file.
  transport::Wiring wiring_without_names(int rank) {
    transport::Wiring w = wiring(rank);
    w.node_is_visible = true;
    w.tell_node = [this](const std::string& word) -> Error {
      shared_->word.length = word.copy(shared_->word.bytes, sizeof shared_->word.bytes);
      shared_->told.store(true);
      return {};
    };
    w.told_by = [this](int) -> Result<std::string> {
      while (!shared_->told.load()) std::this_thread::yield();
      return std::string(shared_->word.bytes, shared_->word.length);
    };
    return w;
  }

  // One process a rank; each runs body(rank) and is then checked. None outlives the limit.
  void run(const std::function<void(int)>& body, std::chrono::seconds limit = std::chrono::seconds(60)) {
    fflush(nullptr);
    std::vector<pid_t> children;
    for (int rank = 0; rank < size_; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(static_cast<unsigned>(limit.count()));
        body(rank);
        fflush(nullptr);
        _exit(::testing::Test::HasFailure() ? 1 : 0);
      }
      children.push_back(child);
    }
    for (int rank = 0; rank < size_; ++rank) {
      int status = -1;
      waitpid(children[static_cast<size_t>(rank)], &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
          << "rank " << rank
          << (WIFSIGNALED(status) ? std::string(" ended by ") + strsignal(WTERMSIG(status)) : " failed");
    }
  }

 private:
  struct Mail {
    char bytes[4096];
    size_t length;
  };
  struct Shared {
    std::atomic<int> arrived{0}, round{0};
    Mail addresses[8];
    Mail word;
    std::atomic<bool> told{false};
  };
  const int size_;
  std::string name_;
  Shared* shared_;
};

}  // namespace tutti::testing_processes
