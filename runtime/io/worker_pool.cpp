// SPDX-License-Identifier: BSD-3-Clause
#include "io/worker_pool.hpp"

#include <pthread.h>

#include <thread>
#include <type_traits>
#include <utility>

#include "base/mutex.hpp"
#include "base/signals.hpp"

namespace tutti::io {

namespace {

constexpr int kMostThreads = 4;

constinit Mutex mutex;  // of the pool and of all queues
static_assert(std::is_trivially_destructible_v<Mutex>, "it would end before the pool's threads do");

}  // namespace

class Queue {
 public:
  std::deque<std::function<void()>> jobs TUTTI_GUARDED_BY(mutex);
  bool running TUTTI_GUARDED_BY(mutex) = false;
};

namespace {

struct Pool {
  ConditionVariable work, quiet;
  std::deque<std::shared_ptr<Queue>> ready TUTTI_GUARDED_BY(mutex);  // have jobs, and none of them runs
  int threads TUTTI_GUARDED_BY(mutex) = 0, idle TUTTI_GUARDED_BY(mutex) = 0, jobs TUTTI_GUARDED_BY(mutex) = 0;

  void run() {
    const Lock lock(mutex);
    for (;;) {
      ++idle;
      while (ready.empty()) work.wait(mutex);
      --idle;
      const std::shared_ptr<Queue> queue = std::move(ready.front());
      ready.pop_front();
      std::function<void()> job = std::move(queue->jobs.front());
      queue->jobs.pop_front();
      {
        const Unlocked meanwhile(mutex);
        job();
        job = nullptr;  // what it holds goes before anybody is told
      }
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
  void start_thread() TUTTI_REQUIRES(mutex) {
    const SignalsBlocked none;
    ++threads;
    std::thread([this] {
      pthread_setname_np(pthread_self(), "tutti-io");
      run();
    }).detach();
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
  const Lock lock(mutex);
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
  const Lock lock(mutex);
  while (all.jobs > 0) all.quiet.wait(mutex);
}

}  // namespace tutti::io
