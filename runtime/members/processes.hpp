// SPDX-License-Identifier: BSD-3-Clause
// The processes that this one knows, of whatever job: who they are, where they are, and how they are. A process is a
// number, which means something here alone: below the size of the own job it is a rank of it; processes of other jobs
// have the numbers from there on, in the order in which they became known. What has to be understood elsewhere names a
// process by its job's random id and its rank there.
//
// How a process is, others tell: PMIx what the launcher has seen, a transport that a connection has broken, the root of
// a connection that the other job has gone. Each of these changes is kept, in the order in which it became known, in one
// list that whoever is concerned reads from where it has read last. Nobody is called, though a bell may be rung: what a
// change means for messages or for the program is for its reader to say. Knows nothing of how messages travel.
//
// Any thread may call; PMIx's does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/result.hpp"

namespace tutti::members {

// As every process understands it.
struct GlobalName {
  uint64_t job = 0;
  int32_t rank = 0;
  auto operator<=>(const GlobalName&) const = default;  // NOLINT(modernize-use-nullptr): what the compiler makes
};

enum class State : uint8_t {
  alive,      // nothing else is known of it
  suspected,  // what leads there has broken, and nobody has said why
  failed,     // it has ended otherwise than by MPI_Finalize; it comes back no more
  left,       // it has called MPI_Finalize and ended; nor does it
};

// `why`: what is known of that, for messages, behind the process' text: "was killed by signal 9 (Killed)".
struct Change {
  int process = 0;
  State state = State::alive;
  std::string why;
};

class Processes {
 public:
  // `job`: the own one's id; `size`: how many ranks it has. `ask_nodes`: what nodes() tells, which may take long.
  Processes(uint64_t job, int size, std::function<std::vector<int>()> ask_nodes = {})
      : job_(job), size_(size), ask_nodes_(std::move(ask_nodes)) {}

  // ---- who they are

  uint64_t job() const { return job_; }
  bool is_foreign(int process) const { return process >= size_; }
  // The number of a process, which gets one if it had none. `host`: where it is, for messages.
  int number_of(const GlobalName& name, const std::string& host = {});
  // -1: it is not known.
  int find(const GlobalName& name) const;
  GlobalName name_of(int process) const;
  // For messages: "rank 2 of a job on node3", "rank 2".
  std::string text(int process) const;
  int count() const;

  // Words of this job's id that are the same on all its ranks and on no other job.
  static uint64_t id_of(const std::string& job, int size);

  // ---- where they are

  // Of the own job, by rank: a number that exactly the ranks of one node share; empty: nobody knows. Asked for once.
  const std::vector<int>& nodes();
  // Of another job: the address under which transports reach it, and the number by which it knows this process. Once it
  // is met it stays where it is: what is told again changes nothing.
  void meet(int process, std::string address, int known_as);
  Result<std::string> address_of(int process) const;
  int known_as(int process) const;

  // ---- how they are

  // Who has failed or left stays so, and nobody is suspected twice. False: that is no news.
  bool report(int process, State state, std::string why);
  State state_of(int process) const;
  bool has_failed(int process) const { return state_of(process) == State::failed; }
  int count(State state) const;

  // Rung after each change, by whoever reports it, for one who sleeps until something happens. It must not wait, and
  // asks nothing here. Empty: nobody is to be rung for.
  void set_bell(std::function<void()> bell);

  // So many changes there have been: who has read as many has read all. One load.
  size_t changes() const { return changed_.load(std::memory_order_acquire); }
  // All but the first `read` of them.
  std::vector<Change> changes_since(size_t read) const;

 private:
  struct Foreign {
    GlobalName name;
    std::string host, address;
    int known_as = -1;  // it has not been met
  };
  const Foreign& foreign(int process) const TUTTI_REQUIRES(mutex_) {
    return foreign_[static_cast<size_t>(process - size_)];
  }
  int find_foreign(const GlobalName& name) const TUTTI_REQUIRES(mutex_);
  int count_all() const TUTTI_REQUIRES(mutex_) { return size_ + static_cast<int>(foreign_.size()); }

  const uint64_t job_;
  const int size_;
  const std::function<std::vector<int>()> ask_nodes_;
  std::once_flag nodes_asked_;
  std::vector<int> nodes_;

  mutable Mutex mutex_;                                             // nobody is asked anything while it is held
  std::vector<Foreign> foreign_ TUTTI_GUARDED_BY(mutex_);           // by number, less size_
  std::map<GlobalName, int> known_ TUTTI_GUARDED_BY(mutex_);        // those of other jobs
  std::unordered_map<int, State> states_ TUTTI_GUARDED_BY(mutex_);  // of those that are not alive, which are few
  std::vector<Change> changes_ TUTTI_GUARDED_BY(mutex_);
  std::function<void()> bell_ TUTTI_GUARDED_BY(mutex_);
  std::atomic<size_t> changed_{0};  // their number
};

}  // namespace tutti::members
