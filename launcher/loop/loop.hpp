// SPDX-License-Identifier: BSD-3-Clause
// The event loop of the launcher and of the daemon: the only user of libevent here. Everything of
// the launcher runs on the thread that calls run(); other threads (PMIx's, the terminal's writers)
// hand their work over with post().
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/mutex.hpp"
#include "launcher/loop/on_loop.hpp"

struct event_base;
struct event;

namespace tutti::launcher {

// A registered interest; ends with its destruction.
class Watch {
 public:
  Watch();
  ~Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  explicit operator bool() const { return held_ != nullptr; }
  void reset();

 private:
  friend class Loop;
  struct Held;
  std::unique_ptr<Held> held_;
};

class Loop {
 public:
  using Task = std::function<void()>;
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  static std::string library_name();  // "libevent 2.1.12-stable"
  Loop& operator=(const Loop&) = delete;

  // Level-triggered: called again and again while the descriptor is ready.
  [[nodiscard]] Watch readable(int fd, Task task);
  [[nodiscard]] Watch writable(int fd, Task task);
  [[nodiscard]] Watch on_signal(int signal, Task task);
  [[nodiscard]] Watch after(std::chrono::nanoseconds delay, Task task);  // once
  [[nodiscard]] Watch every(std::chrono::nanoseconds period, Task task);

  void post(Task task);             // from any thread; runs on the loop's, in order
  void run_posted() TUTTI_ON_LOOP;  // what is posted by now, at once
  void run();                       // until stop(), which may have been called before
  void stop();

 private:
  Watch watch(int fd, short what, std::chrono::nanoseconds delay, Task task);
  event_base* base_;
  bool stopped_ = false;
  int wake_fd_;
  Watch wake_;
  Mutex mutex_;
  std::deque<Task> posted_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::launcher
