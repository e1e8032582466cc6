// SPDX-License-Identifier: BSD-3-Clause
// One libevent loop with four events: the alarm (a message has come), a summons (a thread left
// the engine and wants it looked after), a timer (the tick), and the order to stop.
//
//   watching  Ticks, ever more rarely while the application keeps calling MPI. Found away for the
//             shortest tick: drive.
//   driving   The application is away. Does what there is to do, then sets the alarm and sleeps.
//   asleep    No ticks at all. Woken by a message when the alarm is set and the application away,
//             or by a summons when it has left so often lately that setting the alarm each time
//             would be dear.
//
// It falls asleep also when nothing is pending: a message that comes unexpected is answered, too.
#include "engine/wait/progress.hpp"

#include <event2/event.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/os/own_threads.hpp"
#include "base/signals.hpp"
#include "engine/engine.hpp"

namespace tutti::engine {
namespace {

constexpr int kDrainPasses = 64;  // until the transport is armed
// With work left behind it is looked for after at most so many of the shortest tick: a tick on a
// core that computes costs that up to 20 µs.
constexpr int kLongestWithWork = 8;
// Messages to a rank that computes wake this thread and cost their sender a system call each. A
// flood of them is looked after by ticks instead.
constexpr int kWakesAtOnce = 32;
constexpr std::chrono::milliseconds kWakePeriod{1};
// Made between two ticks they show a loop over MPI_Test, for example. A thread that ticks every 1.6 ms
// or more often beside one that never sleeps has Linux 6.18 (250 Hz) keep other sessions and containers
// from their common core for seconds; one that ticks every 4 ms has not.
constexpr uint64_t kPassesOfPolling = 100;

event_base* precise_base() {
  event_config* config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);  // ticks are below 10 ms
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);         // one thread; woken by descriptors
  event_base* base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

}  // namespace

// Large: it is the whole thread, and its fields are what it has seen at its last looks.
class ProgressThread::Loop {
 public:
  Loop(Engine& engine, Ticks ticks)
      : engine_(engine),
        waiter_(engine.waiter_),
        ticks_(ticks),
        tick_(ticks.shortest),
        stop_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        wakes_(kWakesAtOnce, kWakePeriod),
        base_(precise_base()) {
    TUTTI_INVARIANT(base_, "libevent has no event loop for the progress thread");
    TUTTI_INVARIANT(stop_fd_ >= 0, "no descriptor left for the progress thread");
    alarm_ = event_new(base_, waiter_.alarm_.descriptor(), EV_READ | EV_PERSIST, on_alarm, this);
    summons_ = event_new(base_, waiter_.summons_fd_, EV_READ | EV_PERSIST, on_summons, this);
    stop_ = event_new(base_, stop_fd_, EV_READ, on_stop, this);
    timer_ = event_new(base_, -1, 0, on_tick, this);
    for (event* e : {alarm_, summons_, stop_}) event_add(e, nullptr);
    watch();
    start();
    waiter_.has_helper_.store(thread_.joinable(), std::memory_order_relaxed);
  }

  ~Loop() {
    waiter_.has_helper_.store(false, std::memory_order_relaxed);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(stop_fd_, &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    waiter_.helper_.store(Waiter::Helper::watching, std::memory_order_relaxed);
    for (event* e : {alarm_, summons_, stop_, timer_}) event_free(e);
    event_base_free(base_);
    close(stop_fd_);
  }

  uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

 private:
  void start() {
    const SignalsBlocked none;
    try {
      thread_ = std::thread([this] {
        const OwnThread own;
        event_base_dispatch(base_);
      });
      pthread_setname_np(thread_.native_handle(), "tutti-progress");
    } catch (const std::system_error& e) {
      say(Level::warning,
          "there is no thread for progress ({}): started operations advance only while the program "
          "is in a call of MPI. A limit on processes (ulimit -u, the container's pids limit) may "
          "be "
          "too low",
          e.what());
    }
  }

  static Loop& self(void* loop) {
    auto& l = *static_cast<Loop*>(loop);
    l.wakeups_.fetch_add(1, std::memory_order_relaxed);
    return l;
  }
  static void on_stop(evutil_socket_t, short, void* loop) { event_base_loopbreak(self(loop).base_); }
  static void on_tick(evutil_socket_t, short, void* loop) { self(loop).tick(); }
  static void on_alarm(evutil_socket_t, short, void* loop) {
    Loop& l = self(loop);
    if (l.waiter_.alarm_.rang()) l.arrival();
  }
  static void on_summons(evutil_socket_t fd, short, void* loop) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = read(fd, &count, sizeof count);
    if (count == static_cast<uint64_t>(Waiter::Summons::busy)) {
      self(loop).watch_from_afar();
    } else {
      self(loop).watch();
    }
  }

  uint64_t passes() const { return waiter_.passes_.load(std::memory_order_relaxed); }
  bool someone_sleeps_inside() const { return waiter_.sleepers_.load(std::memory_order_relaxed) > 0; }
  // Who sleeps hears of what comes, or has to be woken once nobody else polls any more.
  bool someone_listens() const {
    return someone_sleeps_inside() && !waiter_.unattended_.load(std::memory_order_relaxed);
  }

  std::chrono::microseconds longest_with_work() const {
    return std::min(ticks_.longest, kLongestWithWork * ticks_.shortest);
  }

  void schedule(std::chrono::microseconds after) {
    const timeval when{after.count() / 1000000, after.count() % 1000000};
    event_add(timer_, &when);
  }

  // The application makes calls that wait every now and then, so often that it must be away for
  // long before it is worth the alarm.
  void watch_from_afar() {
    watch();
    busy_ = true;
    schedule(tick_ = longest_with_work());
  }

  void watch() {
    tick_ = ticks_.shortest;
    seen_passes_ = passes();
    probing_ = busy_ = false;
    waiter_.helper_.store(Waiter::Helper::watching, std::memory_order_relaxed);
    schedule(tick_);
  }

  // The application has made passes since it was seen last: it is at work. If it is away at the
  // moment it may be gone for long, so the next look is soon. Not so if it polls in a loop and is
  // between two calls: that is looked at rarely, see kPassesOfPolling.
  void keep_watching(bool away) {
    const bool polls = passes() - seen_passes_ >= kPassesOfPolling;
    seen_passes_ = passes();
    probing_ = away && !probing_ && !busy_ && !polls;
    if (probing_) return schedule(ticks_.shortest);
    if (polls) {
      waiter_.helper_.store(Waiter::Helper::watching, std::memory_order_relaxed);
      return schedule(tick_ = ticks_.longest);
    }
    const auto longest = longest_with_work();
    const bool work = waiter_.has_work_.load(std::memory_order_relaxed);
    tick_ = std::min(tick_ * 2, work ? longest : ticks_.longest);
    waiter_.helper_.store(tick_ > longest ? Waiter::Helper::dozing : Waiter::Helper::watching,
                          std::memory_order_relaxed);
    schedule(tick_);
  }

  void tick() {
    const bool owned = waiter_.ownership_.owned();
    if (!someone_listens() && (owned || passes() != seen_passes_)) return keep_watching(!owned);
    drive();
  }

  // The alarm rang. An application thread that has made a pass since it was set is back, and sees
  // what came itself.
  void arrival() {
    if (waiter_.ownership_.owned() && !someone_sleeps_inside()) return watch();
    drive();
  }

  void drive() {
    if (!waiter_.ownership_.try_acquire()) return watch();
    // Whoever sleeps in a call sees to everything, and to the alarm when it leaves.
    if (someone_sleeps_inside() && !someone_listens()) waiter_.wake_one();
    const bool quiet = someone_sleeps_inside() || do_work();
    const bool contended = waiter_.ownership_.contended();
    const bool sleeps = quiet && !contended;
    waiter_.helper_.store(sleeps ? Waiter::Helper::asleep : Waiter::Helper::watching, std::memory_order_relaxed);
    waiter_.has_work_.store(engine_.pending() > 0, std::memory_order_relaxed);
    seen_passes_ = passes();
    waiter_.ownership_.release();
    if (sleeps) {
      event_del(timer_);
      return;
    }
    if (contended) return watch();
    probing_ = false;
    schedule(longest_with_work());
  }

  // True if the alarm is set. False: an application thread wants the engine, or there will be more
  // to do soon.
  bool do_work() TUTTI_ENGINE_OWNED {
    waiter_.helper_drives_ = true;
    while (engine_.progress() && !waiter_.ownership_.contended()) {
    }
    const bool set = !waiter_.ownership_.contended() && wakes_.take() && waiter_.set_alarm(kDrainPasses);
    waiter_.helper_drives_ = false;
    return set;
  }

  Engine& engine_;
  Waiter& waiter_;
  const Ticks ticks_;
  std::chrono::microseconds tick_;
  uint64_t seen_passes_ = 0;
  bool busy_ = false;     // watching from afar
  bool probing_ = false;  // the last look was soon after one that found the application away
  std::atomic<uint64_t> wakeups_{0};
  const int stop_fd_;
  Allowance wakes_;  // to be woken by messages
  event_base* const base_;
  event *alarm_, *summons_, *stop_, *timer_;
  std::thread thread_;
};

ProgressThread::ProgressThread(Engine& engine, Ticks ticks) : loop_(std::make_unique<Loop>(engine, ticks)) {}
ProgressThread::~ProgressThread() = default;
uint64_t ProgressThread::wakeups() const {
  return loop_->wakeups();
}

}  // namespace tutti::engine
