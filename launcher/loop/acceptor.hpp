// SPDX-License-Identifier: BSD-3-Clause
// A listening socket whose connections are taken in the loop. Where they cannot be taken, since
// there are no descriptors left or its owner wants no more for now, it rests for a while: the
// loop would find the socket ready again and again.
#pragma once

#include <functional>
#include <string>

#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class Acceptor {
 public:
  struct Events {
    std::function<void(int fd)> accepted;  // owns it: nonblocking, closed at exec
    std::function<bool()> has_room = [] { return true; };
    std::function<void(const std::string& why)> unable = [](const std::string&) {};  // once
  };
  Acceptor(Loop& loop, int listener, Events events);  // owns the descriptor, which listens
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void watch();
  void accept_one();
  void rest();

  Loop& loop_;
  int listener_;
  Events events_;
  bool has_complained_ = false;
  Watch ready_, rested_;
};

}  // namespace tutti::launcher
