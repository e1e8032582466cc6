// SPDX-License-Identifier: BSD-3-Clause
// A child process that is listened to for a limited time: what it prints, and how it ends. Whatever may stand still, such
// as a file system that does not answer, a remote shell, a library that opens devices, is asked in such a child, so that
// whoever asks goes on. Never throws; only while this process has a single thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::launcher {

class Talker {
 public:
  enum class Keep { beginning, end };     // of a text that is longer than `most`
  enum class Input { none, ours, told };  // told: by tell()
  Talker() = default;
  Talker(size_t most, Keep keep) : most_(most), keep_(keep) {}
  Talker(Talker&& other) noexcept;
  Talker(const Talker&) = delete;
  ~Talker() { end(); }

  // Begins `work` in the child, with both of its standard streams in one pipe. What it returns is the exit code. False: the
  // kernel gives no process; text() says why. The child has a process group of its own, of which nothing is left behind its
  // end; a Talker in a Talker's child stays in that one's group.
  bool begin(const std::function<int()>& work, Input input = Input::none);
  // The same with a command, which PATH finds; 127: it cannot be executed.
  bool begin(const std::vector<std::string>& command, Input input = Input::none);

  // Hears all of them until the last one has ended or the time is over. `meanwhile` is called whenever something may have
  // been heard, and now and then.
  static void hear(const std::vector<Talker*>& all, std::chrono::milliseconds patience,
                   const std::function<void()>& meanwhile = {});
  // To the standard input of one that began with Input::told; nothing where that has ended, or has no room.
  void tell(std::string_view text) const;
  void end_input();
  // To all of its group; to nobody after its end.
  void signal(int number) const;
  // Kills what has not ended. A process that the kernel does not end, as one that waits for a dead file system, is left.
  void end();

  bool has_ended() const { return pid_ < 0; }
  pid_t pid() const { return pid_; }
  const std::string& text() const { return text_; }
  size_t left_out() const { return left_out_; }  // bytes that were too many
  // As a shell has it: 128 and the signal's number. -1: it has not ended by itself.
  int exit_code() const;
  int ended_by() const;  // the signal's number; 0: none

 private:
  void read();
  void reap();

  size_t most_ = size_t{64} << 10;
  Keep keep_ = Keep::beginning;
  bool has_group_ = false;
  pid_t pid_ = -1;
  int fd_ = -1;
  int input_ = -1;
  int status_ = -1;  // of waitpid
  size_t left_out_ = 0;
  std::string text_;
};

}  // namespace tutti::launcher
