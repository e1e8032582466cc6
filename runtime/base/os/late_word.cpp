// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/late_word.hpp"

#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/os/own_threads.hpp"
#include "base/signals.hpp"

namespace tutti {
namespace {

constexpr size_t kMostWords = 8;

struct Pending {
  Mutex mutex;
  std::vector<std::string> words TUTTI_GUARDED_BY(mutex);
  size_t told TUTTI_GUARDED_BY(mutex) = 0;
};
Pending& pending() {
  static auto& it = *new Pending;  // never destroyed: its thread may outlive main()
  return it;
}

void say_all() {
  const Lock lock(pending().mutex);
  for (const std::string& text : std::exchange(pending().words, {})) log_line(Level::error, text);
}

}  // namespace

void say_unless_ended(std::string text) {
  const Lock lock(pending().mutex);
  if (pending().told++ >= kMostWords) return;
  pending().words.push_back(std::move(text));
  if (pending().words.size() > 1) return;  // goes with the first
  if (pending().told == 1) {
    static const pid_t own = getpid();
    std::atexit([] {
      if (getpid() == own) say_all();
    });
  }
  const SignalsBlocked none;  // they are the program's
  std::thread([] {
    const OwnThread own;
    std::this_thread::sleep_for(kTimeToEnd);
    say_all();
  }).detach();
}

}  // namespace tutti
