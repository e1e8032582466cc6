// SPDX-License-Identifier: BSD-3-Clause
// A TCP connection between the launcher and a daemon that carries messages. It notices a peer that
// has vanished without a word: both sides ping, and the kernel's acknowledgements (not the peer's
// process, which may be starved or suspended) show that the other end is there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "launcher/daemons/outbox.hpp"
#include "launcher/data/wire.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

enum class LinkEnd {
  hung_up,  // by the other process, or by its kernel when that process ended
  silent,   // the other kernel does not acknowledge: what runs there is not known
  wrong,    // what came has no place here
};

// Large: half of its fields tell a peer that is slow from one that is gone.
class Link {
 public:
  struct Events {
    // An error: not a message that fits here; the link closes for this reason.
    std::function<Error(Message, std::string_view payload)> message;
    // Once; not after close().
    std::function<void(LinkEnd how, const std::string& reason)> closed;
  };
  // Owns the descriptor. `vanish_after`: silence of the other kernel that counts as its end.
  Link(Loop& loop, int fd, std::chrono::nanoseconds vanish_after);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Also from a handler, which is then the last call that it gets: what came with the message before goes to the new one.
  void attach(Events events) { events_ = std::make_shared<const Events>(std::move(events)); }
  // A longer one closes the link, before it is kept anywhere. At first kLongestGreeting.
  void expect_up_to(size_t bytes) { longest_ = bytes; }
  template <class... T>
  void send(Message type, const T&... fields) {
    send_bytes(type, wire::pack(fields...), {});
  }
  void send_packed(Message type, const Parcel& payload) { send_bytes(type, {}, payload); }
  // A message that begins with these bytes and ends with a parcel.
  void send_with(Message type, std::string_view begin, const Parcel& end) { send_bytes(type, begin, end); }
  void close();
  bool is_open() const { return fd_ >= 0; }
  // Everything sent has left for the kernel.
  bool is_flushed() const { return unsent_.empty(); }

 private:
  void send_bytes(Message type, std::string_view begin, const Parcel& end);
  void receive();
  Error deliver();
  void flush();
  void check_peer();
  std::chrono::milliseconds silence();
  void end(LinkEnd how, const std::string& reason);

  Loop& loop_;
  int fd_;
  std::chrono::nanoseconds vanish_after_;
  std::shared_ptr<const Events> events_ = std::make_shared<const Events>();  // held by who calls them
  std::string received_;
  Outbox unsent_;
  size_t longest_ = kLongestGreeting;
  int checks_ = 0;
  // When the kernel last had nothing to wait for, or got on with it; when that was looked at; when this process last
  // went on after it had been stopped.
  std::chrono::steady_clock::time_point moved_, checked_, back_;
  uint64_t acknowledged_ = 0;
  Watch readable_, writable_, ping_;
};

}  // namespace tutti::launcher
