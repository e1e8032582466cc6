// SPDX-License-Identifier: BSD-3-Clause
#include "io/worker_pool.hpp"

#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace tutti::io {

class Queue {
 public:
  std::deque<std::function<void()>> jobs;
  bool running = false;
};

namespace {

constexpr int kMostThreads = 4;

struct Pool {
  std::mutex mutex;
  std::condition_variable work, quiet;
  std::deque<std::shared_ptr<Queue>> ready;  // have jobs, and none of them runs
  int threads = 0, idle = 0, jobs = 0;

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      work.wait(lock, [&] { return !ready.empty(); });
      --idle;
      const std::shared_ptr<Queue> queue = std::move(ready.front());
      ready.pop_front();
      std::function<void()> job = std::move(queue->jobs.front());
      queue->jobs.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // what it holds goes before anybody is told
      lock.lock();
      if (queue->jobs.empty()) {
        queue->running = false;
      } else {
        ready.push_back(queue);
        work.notify_one();
      }
      if (--jobs == 0) quiet.notify_all();
    }
  }

  // The program's signals are for its own threads.
  void start_thread() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ++threads;
    std::thread([this] {
      pthread_setname_np(pthread_self(), "tutti-io");
      run();
    }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
};

// Lives for ever: its threads do.
Pool& pool() {
  static Pool& only = *new Pool;
  return only;
}

}  // namespace

std::shared_ptr<Queue> make_queue() {
  return std::make_shared<Queue>();
}

void submit(const std::shared_ptr<Queue>& queue, std::function<void()> job) {
  Pool& all = pool();
  const std::lock_guard lock(all.mutex);
  queue->jobs.push_back(std::move(job));
  ++all.jobs;
  if (queue->running) return;
  queue->running = true;
  all.ready.push_back(queue);
  if (all.idle < static_cast<int>(all.ready.size()) && all.threads < kMostThreads) all.start_thread();
  all.work.notify_one();
}

void drain() {
  Pool& all = pool();
  std::unique_lock lock(all.mutex);
  all.quiet.wait(lock, [&] { return all.jobs == 0; });
}

}  // namespace tutti::io
