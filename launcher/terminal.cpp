// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/terminal.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/mutex.hpp"
#include "base/signals.hpp"
#include "launcher/loop/on_loop.hpp"
#include "launcher/node/limits.hpp"

namespace tutti::launcher {
namespace {

// Empty, or why there is none.
std::string start_quiet_thread(std::function<void()> body) {
  const SignalsBlocked none;
  try {
    std::thread(std::move(body)).detach();
    return "";
  } catch (const std::system_error& e) {
    return "there is no thread for it: " + e.code().message() + advice_on(e.code().value());
  }
}

// Nobody reads what was written here, as where a pipe ends in 'head'.
bool means_closed(int error_number) {
  return error_number == EPIPE || error_number == ECONNRESET;
}

// 0, or what is wrong.
int write_all(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {  // somebody else made it non-blocking
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (n == 0) {
      return EIO;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

struct Writer::Shared {
  Loop* loop;
  int fd;
  Events events TUTTI_LOOPS;
  Mutex mutex;
  ConditionVariable changed;
  struct Piece {
    int node;
    std::string bytes;
    size_t room;
  };
  std::deque<Piece> queue TUTTI_GUARDED_BY(mutex);
  bool writing TUTTI_GUARDED_BY(mutex) = false, dropping TUTTI_GUARDED_BY(mutex) = false;
  bool over TUTTI_GUARDED_BY(mutex) = false;    // the writer is destroyed
  bool terminal = false;                        // is what is written to
  bool untold TUTTI_GUARDED_BY(mutex) = false;  // the loop does not know yet that something was lost

  void run(const std::shared_ptr<Shared>& self) {
    const Lock lock(mutex);
    for (;;) {
      while (!over && queue.empty()) changed.wait(mutex);
      if (over) return;
      const Piece piece = std::move(queue.front());
      queue.pop_front();
      writing = true;
      const bool drop = dropping;
      int problem = 0;
      if (!drop) {
        const Unlocked meanwhile(mutex);
        problem = write_all(fd, piece.bytes);
      }
      writing = false;
      if (over) return;
      // A terminal that is gone sends SIGHUP, which ends the job; there is nowhere to say more.
      if (problem == EIO && terminal) dropping = true;
      if (problem != 0 && !std::exchange(dropping, true)) tell_lost(self, problem, std::strerror(problem));
      tell_written(self, piece);
    }
  }
  void tell_lost(const std::shared_ptr<Shared>& self, int problem, const std::string& why) TUTTI_REQUIRES(mutex) {
    untold = true;
    loop->post([self, problem, why] {
      assume_on_loop();
      {
        const Lock told(self->mutex);
        self->untold = false;
        if (self->over) return;
      }
      means_closed(problem) ? self->events.closed() : self->events.failed(why);
    });
  }
  bool is_over() {
    const Lock lock(mutex);
    return over;
  }
  void tell_written(const std::shared_ptr<Shared>& self, const Piece& piece) {
    loop->post([self, node = piece.node, room = piece.room] {
      assume_on_loop();
      if (!self->is_over()) self->events.written(node, room);
    });
  }
};

Writer::Writer(Loop& loop, int fd, Events events) : shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
  shared_->fd = fd;
  shared_->events = std::move(events);
  shared_->terminal = ::isatty(fd) == 1;
  const std::string why = start_quiet_thread([shared = shared_] { shared->run(shared); });
  if (why.empty()) return;
  const Lock lock(shared_->mutex);
  shared_->dropping = true;
  shared_->tell_lost(shared_, EAGAIN, why);
}

Writer::~Writer() {
  const Lock lock(shared_->mutex);
  shared_->over = true;
  shared_->changed.notify_all();
}

void Writer::put(int node, std::string bytes, size_t room) {
  const Lock lock(shared_->mutex);
  if (shared_->dropping) return shared_->tell_written(shared_, {node, {}, room});
  shared_->queue.push_back({node, std::move(bytes), room});
  shared_->changed.notify_all();
}

void Writer::drop_all() {
  const Lock lock(shared_->mutex);
  shared_->dropping = true;
  for (const Shared::Piece& piece : shared_->queue) shared_->tell_written(shared_, piece);
  shared_->queue.clear();
  shared_->writing = false;  // a blocked write stays so; nobody waits for it now
}

bool Writer::idle() const {
  const Lock lock(shared_->mutex);
  return shared_->queue.empty() && !shared_->writing && !shared_->untold;
}

struct Reader::Shared {
  Loop* loop;
  int fd;
  Chunk chunk TUTTI_LOOPS;
  Failed failed TUTTI_LOOPS;
  Mutex mutex;
  ConditionVariable changed;
  int wanted TUTTI_GUARDED_BY(mutex) = 0;
  bool terminal = false;                      // is what is read, or was when it was opened
  bool over TUTTI_GUARDED_BY(mutex) = false;  // the reader is destroyed

  bool is_over() {
    const Lock lock(mutex);
    return over;
  }

  // Empty: the end, or `problem`.
  std::string read_chunk(int& problem) {
    std::string bytes(1 << 16, '\0');
    for (;;) {
      const ssize_t n = ::read(fd, bytes.data(), bytes.size());
      if (n >= 0) {
        bytes.resize(static_cast<size_t>(n));
        return bytes;
      }
      if (errno == EAGAIN) {
        pollfd ready{fd, POLLIN, 0};
        ::poll(&ready, 1, -1);
      } else if (errno == EIO && ::isatty(fd)) {
        ::poll(nullptr, 0, 300);  // in the background: the terminal belongs to another job
      } else if (errno != EINTR) {
        // One that is open for writing alone, such as nohup leaves, has nothing to be read, nor has a
        // terminal that is gone.
        const bool ends = errno == EBADF || means_closed(errno) || (errno == EIO && terminal);
        problem = ends ? 0 : errno;
        return {};
      }
    }
  }
  void tell_failed(const std::shared_ptr<Shared>& self, const std::string& why) {
    loop->post([self, why] {
      assume_on_loop();
      if (!self->is_over()) self->failed(why);
    });
  }
  void run(const std::shared_ptr<Shared>& self) {
    for (;;) {
      {
        const Lock lock(mutex);
        while (!over && wanted == 0) changed.wait(mutex);
        if (over) return;
        --wanted;
      }
      int problem = 0;
      std::string bytes = read_chunk(problem);
      const bool end = bytes.empty();
      const Lock lock(mutex);
      if (over) return;
      if (problem != 0) return tell_failed(self, std::strerror(problem));
      loop->post([self, bytes = std::move(bytes)] {
        assume_on_loop();
        if (!self->is_over()) self->chunk(bytes);
      });
      if (end) return;
    }
  }
};

Reader::Reader(Loop& loop, int fd, Chunk chunk, Failed failed) : shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
  shared_->fd = fd;
  shared_->terminal = ::isatty(fd) == 1;
  shared_->chunk = std::move(chunk);
  shared_->failed = std::move(failed);
  const std::string why = start_quiet_thread([shared = shared_] { shared->run(shared); });
  if (!why.empty()) shared_->tell_failed(shared_, why);
}

Reader::~Reader() {
  const Lock lock(shared_->mutex);
  shared_->over = true;
  shared_->changed.notify_all();
}

void Reader::want() {
  const Lock lock(shared_->mutex);
  ++shared_->wanted;
  shared_->changed.notify_all();
}

}  // namespace tutti::launcher
