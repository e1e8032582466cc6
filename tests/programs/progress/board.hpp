// SPDX-License-Identifier: BSD-3-Clause
// What progress is judged by: the order of events, told without MPI. The board is a file beside the
// program that all ranks have in memory, also those of other nodes of the test cluster, which are
// namespaces of one machine. A rank that is to be away stays outside of MPI until the board says
// that what it waits for has happened; it comes back without it only after a time that no load
// explains.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <thread>

#include "check.hpp"

namespace check {

constexpr double kForEver = 25;  // seconds that nobody should need: below the time limit of a test

// Of each thread of this process but the calling one, by number and name: how often it has run.
inline std::map<std::string, long> switches_of_other_threads() {
  std::map<std::string, long> found;
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != nullptr);
  while (const dirent* task = readdir(tasks)) {
    const long id = std::atol(task->d_name);
    if (id <= 0 || id == gettid()) continue;
    std::ifstream status("/proc/self/task/" + std::to_string(id) + "/status");
    std::string name;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:")) name = std::to_string(id) + " (" + line.substr(6) + ")";
      if (line.find("voluntary_ctxt_switches") != std::string::npos)
        found[name] += std::atol(line.substr(line.find(':') + 1).c_str());
    }
  }
  closedir(tasks);
  return found;
}

inline std::string load_of_machine() {
  std::ifstream file("/proc/loadavg");
  std::string load;
  std::getline(file, load);
  return "load " + load + " on " + std::to_string(std::thread::hardware_concurrency()) + " cores";
}

enum class Outside { computing, sleeping, reading };
inline const char* name_of(Outside how) {
  return how == Outside::computing ? "computing" : how == Outside::sleeping ? "asleep" : "in read() of a socket";
}

class Board {
 public:
  explicit Board(const Program& world) : rank_(world.rank()), size_(world.size()) {
    char path[4096] = "";
    int file = -1;
    if (rank_ == 0) {
      char program[4000] = "";
      CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
      std::snprintf(path, sizeof path, "%s/board.XXXXXX", dirname(program));
      file = mkstemp(path);
      CHECK(file >= 0 && ftruncate(file, bytes()) == 0);
    }
    OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (rank_ != 0) file = open(path, O_RDWR);
    if (file < 0) fail(__FILE__, __LINE__, std::string("cannot open the board ") + path);
    marks_ = static_cast<std::atomic<int>*>(mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    CHECK(marks_ != MAP_FAILED);
    close(file);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank_ == 0) unlink(path);
  }
  ~Board() {
    if (marks_) munmap(marks_, bytes());
  }
  Board(const Board&) = delete;

  // Events are numbered alike on all ranks, which name them in one order.
  int next_event() { return ++event_; }
  void tell(int event) { marks_[rank_].store(event); }
  bool told(int event, int rank) const { return marks_[rank].load() >= event; }
  bool told_by_all(int event) const {
    for (int i = 0; i < size_; ++i)
      if (!told(event, i)) return false;
    return true;
  }

  // Stays outside of MPI, in this way, until `over()`; false: that did not come.
  template <class Over>
  bool stay_away(Outside how, Over&& over) const {
    const double end = seconds() + kForEver;
    if (how == Outside::computing) {
      volatile double sink = 1;
      while (!over()) {
        if (seconds() > end) return false;
        for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001;
      }
      return true;
    }
    const auto sleep_through = [&] {
      for (; !over(); usleep(500))
        if (seconds() > end) return false;
      return true;
    };
    if (how == Outside::sleeping) return sleep_through();
    int ends[2];
    char came = 0;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    std::thread writer([&] {
      const char byte = sleep_through();
      CHECK(write(ends[1], &byte, 1) == 1);
    });
    CHECK(read(ends[0], &came, 1) == 1);
    writer.join();
    close(ends[0]);
    close(ends[1]);
    return came;
  }

  // The same for one event at one rank, which ought to come while I am away.
  void away_until(Outside how, int event, int rank, const std::string& what, const char* file, int line) const {
    const auto before = switches_of_other_threads();
    if (!stay_away(how, [&] { return told(event, rank); }))
      fail(file, line, what + " was not done for rank " + std::to_string(rank) + stays_undone(how, before));
  }
  // Nobody waits in MPI: all stay away until each of them has seen, in its own memory, what it
  // awaits.
  template <class Seen>
  void all_see(Outside how, int event, const std::string& what, Seen&& seen, const char* file, int line) {
    const auto before = switches_of_other_threads();
    const bool came = stay_away(how, [&] {
      if (!told(event, rank_) && seen()) tell(event);
      return told_by_all(event);
    });
    if (!came) fail(file, line, what + " was not done everywhere" + stays_undone(how, before));
  }
  // For the message: who was where, and whether the other threads have run.
  std::string stays_undone(Outside how, const std::map<std::string, long>& before) const {
    std::string text = " while this rank was away, " + std::string(name_of(how)) + ", for " +
                       std::to_string(static_cast<int>(kForEver)) + " s; " + load_of_machine() +
                       "; its threads have run";
    for (const auto& [thread, switches] : switches_of_other_threads()) {
      const auto at = before.find(thread);
      text += " " + thread + " " + std::to_string(switches - (at == before.end() ? 0 : at->second)) + " times,";
    }
    text += " and the ranks have come to event";
    for (int i = 0; i < size_; ++i) text += " " + std::to_string(marks_[i].load());
    return text + " of " + std::to_string(event_);
  }

 private:
  size_t bytes() const { return static_cast<size_t>(size_) * sizeof(std::atomic<int>); }

  const int rank_, size_;
  int event_ = 0;
  std::atomic<int>* marks_ = nullptr;
};

// The longest of what the waiting rank has waited for; nothing is judged by it.
class Slowest {
 public:
  void saw(double took, const std::string& what) {
    if (took > took_) took_ = took, what_ = what;
  }
  void report() const {
    if (took_ > 0) std::printf("the slowest took %.3f ms: %s\n", took_ * 1e3, what_.c_str());
  }

 private:
  double took_ = 0;
  std::string what_;
};

}  // namespace check
