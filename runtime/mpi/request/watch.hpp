// SPDX-License-Identifier: BSD-3-Clause
// What a library above MPI wants to hear of a request that it has made for the program: Fortran's, which
// works on a copy where no datatype can describe the program's buffer, fills the copy before the operation
// starts, copies back when it has ended, and frees the copy when the request is gone. Whoever completes the
// request, in whatever language, the program then finds its data.
#pragma once

#include <vector>

#include "mpi/request/request.hpp"

namespace tutti::mpi {

enum class Watched : int {
  starts,  // a persistent request, each time: before the operation looks at its buffers
  ends,    // the operation is complete, which a call is about to say, or the request was freed; may come several times
  goes,    // once, at the end; without `ends` before it if the program never completes the request
  partition_ready,    // of a partitioned operation: MPI_Pready hands the partition over, and may send it behind this
  partition_arrived,  // MPI_Parrived is about to say that it has come; may come several times, also behind `ends`
};
// Called by any thread, of one request by one at a time; may not call MPI. The partition is 0 where none is meant.
using WatchFunction = void (*)(void* state, int what, int partition);

// False: the request is over already and will tell nothing.
bool watch(Request& request, WatchFunction watcher, void* state);

[[gnu::cold]] void tell_watchers(const Request& request, Watched what, int partition = 0);
// A persistent request is freed while its operation goes on: the operation is watched from now on.
[[gnu::cold]] void hand_watchers_on(const Request& from, Request& to);

// Those who are told, once, when something that has no request is over: operations on a window, a split access.
class Watchers {
 public:
  Watchers() = default;
  Watchers(Watchers&&) = default;
  Watchers& operator=(Watchers&&) = default;
  ~Watchers() { tell(false); }
  void add(WatchFunction call, void* state) { all_.push_back({call, state}); }
  // It has ended, or nobody will ever hear whether it has.
  void tell(bool ended) {
    for (const One& one : all_) {
      if (ended) one.call(one.state, static_cast<int>(Watched::ends), 0);
      one.call(one.state, static_cast<int>(Watched::goes), 0);
    }
    all_.clear();
  }

 private:
  struct One {
    WatchFunction call;
    void* state;
  };
  std::vector<One> all_;
};

}  // namespace tutti::mpi
