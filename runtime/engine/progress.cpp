// SPDX-License-Identifier: BSD-3-Clause
// One libevent loop with three events: the doorbell (the application left with work while this
// thread slept), the transport's descriptor (armed: something arrived), and a tick.
//
//   asleep ──doorbell──▶ watching ──application stays away──▶ driving: drain, arm
//      ▲                    ▲  │ nothing pending                   │ armed
//      └────────────────────┼──┘◀──────── descriptor ─────────── asleep, armed
//                           └── the application is back ────────────┘
#include "engine/progress.hpp"

#include <event2/event.h>
#include <event2/thread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <system_error>
#include <thread>

#include "base/log.hpp"

namespace tutti::engine {
namespace {

constexpr int kDrainPasses = 64;  // idle passes end a drain sooner

event_base* precise_base() {
  event_config* config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);  // ticks are below 10 ms
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);  // one thread; woken by descriptors
  event_base* base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

}  // namespace

class ProgressThread::Loop {
 public:
  Loop(Engine& engine, Ticks ticks)
      : engine_(engine), ticks_(ticks), tick_(ticks.shortest), base_(precise_base()) {
    TUTTI_INVARIANT(base_, "libevent has no event loop for the progress thread");
    stop_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    TUTTI_INVARIANT(stop_fd_ >= 0, "no descriptor left for an eventfd");
    doorbell_ = event_new(base_, engine_.doorbell_fd_, EV_READ | EV_PERSIST, on_doorbell, this);
    // One shot: the descriptor stays readable until it is armed anew.
    arrival_ = event_new(base_, engine_.transport_.descriptor(), EV_READ, on_arrival, this);
    timer_ = event_new(base_, -1, 0, on_tick, this);
    stop_ = event_new(base_, stop_fd_, EV_READ, on_stop, this);
    event_add(doorbell_, nullptr);
    event_add(stop_, nullptr);
    watch();
    start();
  }

  ~Loop() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(stop_fd_, &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    for (event* e : {doorbell_, arrival_, timer_, stop_}) event_free(e);
    event_base_free(base_);
    close(stop_fd_);
  }

  uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

 private:
  // Without signals, which are the application's: its handlers run on its own threads.
  void start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { event_base_dispatch(base_); });
    } catch (const std::system_error& e) {
      say(Level::warning,
          "there is no thread for progress ({}): started operations advance only while the program "
          "is in a call of MPI. A limit on processes (ulimit -u, the container's pids limit) may be "
          "too low",
          e.what());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  static Loop& self(void* loop) {
    auto& l = *static_cast<Loop*>(loop);
    l.wakeups_.fetch_add(1, std::memory_order_relaxed);
    return l;
  }
  static void on_stop(evutil_socket_t, short, void* loop) {
    event_base_loopbreak(self(loop).base_);
  }
  static void on_doorbell(evutil_socket_t fd, short, void* loop) {
    uint64_t count;
    [[maybe_unused]] const ssize_t n = read(fd, &count, sizeof count);
    self(loop).watch();
  }
  static void on_arrival(evutil_socket_t, short, void* loop) {
    Loop& l = self(loop);
    if (l.application_is_here()) return l.watch();
    l.drive();
  }
  static void on_tick(evutil_socket_t, short, void* loop) { self(loop).tick(); }

  bool application_is_here() const {
    return engine_.ownership_.owned() || engine_.sleepers_.load(std::memory_order_relaxed) > 0;
  }

  // Looks again after the shortest tick, and so on, ever more rarely while the application is busy.
  void watch() {
    engine_.helper_asleep_.store(false, std::memory_order_relaxed);
    tick_ = ticks_.shortest;
    seen_passes_ = engine_.passes_.load(std::memory_order_relaxed);
    last_look_ = false;
    schedule(tick_);
  }

  void schedule(std::chrono::microseconds after) {
    const timeval when{after.count() / 1000000, after.count() % 1000000};
    event_add(timer_, &when);
  }

  void tick() {
    const uint64_t passes = engine_.passes_.load(std::memory_order_relaxed);
    if (application_is_here() || passes != seen_passes_) {
      seen_passes_ = passes;
      tick_ = std::min(tick_ * 2, ticks_.longest);
      if (last_look_) return watch();
      return schedule(tick_);
    }
    if (!engine_.has_work_.load(std::memory_order_relaxed)) return fall_asleep();
    drive();
  }

  // leave() looks at helper_asleep_ after it has published its work, without a fence between:
  // one last look, a tick later, sees what both sides may have missed.
  void fall_asleep() {
    engine_.helper_asleep_.store(true, std::memory_order_seq_cst);
    if (std::exchange(last_look_, true)) return;
    schedule(ticks_.longest);
  }

  // The application is away and something is pending: do what there is to do, then sleep until
  // the transport has news.
  void drive() {
    if (!engine_.ownership_.try_acquire()) return watch();
    bool armed = false;
    for (int pass = 0; pass < kDrainPasses && !armed; ++pass) {
      while (engine_.progress() && !engine_.ownership_.contended()) {
      }
      if (engine_.ownership_.contended() || engine_.pending() == 0) break;
      armed = engine_.transport_.arm();
    }
    const bool work = engine_.pending() > 0;
    engine_.has_work_.store(work, std::memory_order_relaxed);
    if (engine_.sleepers_.load(std::memory_order_relaxed) > 0) engine_.wake_sleepers();
    seen_passes_ = engine_.passes_.load(std::memory_order_relaxed);
    if (armed) engine_.helper_asleep_.store(true, std::memory_order_relaxed);
    engine_.ownership_.release();
    if (armed) {
      event_add(arrival_, nullptr);
    } else if (work) {
      last_look_ = false;
      schedule(ticks_.shortest);  // the transport has work that no descriptor tells of
    } else {
      fall_asleep();
    }
  }

  Engine& engine_;
  const Ticks ticks_;
  std::chrono::microseconds tick_;
  uint64_t seen_passes_ = 0;
  bool last_look_ = false;
  std::atomic<uint64_t> wakeups_{0};
  event_base* base_;
  event *doorbell_, *arrival_, *timer_, *stop_;
  int stop_fd_;
  std::thread thread_;
};

ProgressThread::ProgressThread(Engine& engine, Ticks ticks)
    : loop_(std::make_unique<Loop>(engine, ticks)) {}
ProgressThread::~ProgressThread() = default;
uint64_t ProgressThread::wakeups() const { return loop_->wakeups(); }

}  // namespace tutti::engine
