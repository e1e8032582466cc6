// SPDX-License-Identifier: BSD-3-Clause
// What calls the progress thread when a message comes: a descriptor for its event loop that becomes
// readable with the transport's, once enabled. Any thread that owns the engine enables and disables
// (an epoll takes that from everywhere, an event loop only from its own thread), so that the
// application can have the progress thread called, or see to messages itself, without waking it.
#pragma once

#include <atomic>

namespace tutti::engine {

class Alarm {
 public:
  // `transport`: readable when an armed transport has news.
  explicit Alarm(int transport);
  ~Alarm();
  Alarm(const Alarm&) = delete;

  // Listens to another one from here on.
  void listen_to(int transport);
  // For the event loop.
  int descriptor() const { return epoll_; }

  // From here on a readable transport makes the descriptor readable, once.
  void enable();
  void disable();
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }

  // For the progress thread: did it ring? Then it is disabled, and quiet again.
  bool rang();

 private:
  int transport_;
  const int epoll_;
  std::atomic<bool> enabled_{false};
};

}  // namespace tutti::engine
