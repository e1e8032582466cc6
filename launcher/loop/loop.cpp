// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/loop/loop.hpp"

#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace tutti::launcher {

struct Watch::Held {
  event* handle = nullptr;
  Loop::Task task;
  ~Held() { event_free(handle); }
};

Watch::Watch() = default;
Watch::~Watch() = default;
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;
void Watch::reset() {
  held_.reset();
}

namespace {
void call(int, short, void* task) {
  // A copy: the task may end its own watch.
  const Loop::Task run = *static_cast<Loop::Task*>(task);
  run();
}
}  // namespace

Loop::Loop() : base_(nullptr), wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  event_config* config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
  base_ = event_base_new_with_config(config);
  event_config_free(config);
  TUTTI_INVARIANT(base_ && wake_fd_ >= 0, "the event loop needs three descriptors");
  wake_ = readable(wake_fd_, [this] {
    assume_on_loop();
    uint64_t count;
    if (::read(wake_fd_, &count, sizeof count) == sizeof count) run_posted();
  });
}

Loop::~Loop() {
  wake_.reset();
  event_base_free(base_);
  ::close(wake_fd_);
}

Watch Loop::watch(int fd, short what, std::chrono::nanoseconds delay, Task task) {
  Watch watch;
  watch.held_ = std::make_unique<Watch::Held>();
  watch.held_->task = std::move(task);
  watch.held_->handle = event_new(base_, fd, what, &call, &watch.held_->task);
  const auto ns = delay.count();
  const timeval time{ns / 1'000'000'000, ns % 1'000'000'000 / 1000};
  event_add(watch.held_->handle, ns >= 0 ? &time : nullptr);
  return watch;
}

constexpr std::chrono::nanoseconds kNoDelay{-1};

Watch Loop::readable(int fd, Task task) {
  return watch(fd, EV_READ | EV_PERSIST, kNoDelay, std::move(task));
}
Watch Loop::writable(int fd, Task task) {
  return watch(fd, EV_WRITE | EV_PERSIST, kNoDelay, std::move(task));
}
Watch Loop::on_signal(int signal, Task task) {
  return watch(signal, EV_SIGNAL | EV_PERSIST, kNoDelay, std::move(task));
}
Watch Loop::after(std::chrono::nanoseconds delay, Task task) {
  return watch(-1, 0, std::max(delay, std::chrono::nanoseconds(0)), std::move(task));
}
Watch Loop::every(std::chrono::nanoseconds period, Task task) {
  return watch(-1, EV_PERSIST, period, std::move(task));
}

void Loop::post(Task task) {
  {
    const Lock lock(mutex_);
    posted_.push_back(std::move(task));
  }
  const uint64_t one = 1;
  if (::write(wake_fd_, &one, sizeof one) < 0) return;  // full counter: it is awake already
}

void Loop::run_posted() {
  for (;;) {
    Task task;
    {
      const Lock lock(mutex_);
      if (posted_.empty()) return;
      task = std::move(posted_.front());
      posted_.pop_front();
    }
    task();
  }
}

std::string Loop::library_name() {
  return std::string("libevent ") + event_get_version();
}

void Loop::run() {
  while (!stopped_) event_base_loop(base_, EVLOOP_NO_EXIT_ON_EMPTY);
  stopped_ = false;
}
void Loop::stop() {
  stopped_ = true;
  event_base_loopbreak(base_);
}

}  // namespace tutti::launcher
