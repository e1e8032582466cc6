// SPDX-License-Identifier: BSD-3-Clause
// The launcher's own standard streams. They may be anything (a terminal, a file, a slow pipe) and
// are shared with other processes, so they stay in blocking mode, each with a thread of its own,
// which is there before the ranks can take the last one; callbacks run on the loop. What cannot be
// written or read is told, with the kernel's reason; that nobody reads any more is no such failure.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "launcher/data/node_contract.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

// Writes in order what put() gives it. Never drops bytes, unless told to or the reader is gone.
class Writer {
 public:
  struct Events {
    std::function<void(int node, size_t room)> written;
    std::function<void()> closed;                        // nobody reads any more; later bytes are dropped
    std::function<void(const std::string& why)> failed;  // such as a full disk; the same
  };
  Writer(Loop& loop, int fd, Events events);
  ~Writer();  // lets a blocked write be: the process is about to end
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // `room` comes back with written(): the bytes as the node counted them.
  void put(int node, std::string bytes, size_t room);
  void drop_all();  // what is queued and what comes
  bool idle() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// Reads standard input, one chunk for each want(). A terminal is read only in the foreground.
class Reader {
 public:
  using Chunk = std::function<void(std::string)>;              // empty: the end
  using Failed = std::function<void(const std::string& why)>;  // the end, but not the stream's
  Reader(Loop& loop, int fd, Chunk chunk, Failed failed);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  void want();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace tutti::launcher
