// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wait/alarm.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cstdint>

#include "base/log.hpp"

namespace tutti::engine {
namespace {

bool control(int epoll, int operation, int descriptor, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  return epoll_ctl(epoll, operation, descriptor, &event) == 0;
}

}  // namespace

Alarm::Alarm(int transport) : transport_(transport), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  TUTTI_INVARIANT(epoll_ >= 0, "no descriptor left for epoll");
  // One shot: it stays readable until the transport is armed anew. Disabled, it tells nothing.
  TUTTI_INVARIANT(control(epoll_, EPOLL_CTL_ADD, transport_, EPOLLONESHOT), "epoll takes the transport's descriptor");
  disable();
}

void Alarm::listen_to(int transport) {
  control(epoll_, EPOLL_CTL_DEL, transport_, 0);
  transport_ = transport;
  TUTTI_INVARIANT(control(epoll_, EPOLL_CTL_ADD, transport_, EPOLLONESHOT), "epoll takes the transport's descriptor");
  disable();
}

Alarm::~Alarm() {
  close(epoll_);
}

void Alarm::enable() {
  enabled_.store(true, std::memory_order_relaxed);
  control(epoll_, EPOLL_CTL_MOD, transport_, EPOLLIN | EPOLLONESHOT);
}

void Alarm::disable() {
  enabled_.store(false, std::memory_order_relaxed);
  control(epoll_, EPOLL_CTL_MOD, transport_, EPOLLONESHOT);
}

bool Alarm::rang() {
  epoll_event event{};
  if (epoll_wait(epoll_, &event, 1, 0) <= 0) return false;
  enabled_.store(false, std::memory_order_relaxed);
  return true;
}

}  // namespace tutti::engine
