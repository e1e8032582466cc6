// SPDX-License-Identifier: BSD-3-Clause
// Private to libmpifort_abi, which does without it above another library of MPI's ABI.
#include "mpi/object/objects.hpp"
#include "mpi/request/watch.hpp"

// See runtime/mpi/request/watch.hpp, whose Watched `what` is. 0: the request is over already and will tell nothing.
extern "C" [[gnu::visibility("default")]] int tutti_watch_request(MPI_Request request,
                                                                  void (*watcher)(void* state, int what),
                                                                  void* state);
int tutti_watch_request(MPI_Request request, void (*watcher)(void* state, int what), void* state) {
  tutti::mpi::Request* const watched = tutti::mpi::resolve<tutti::mpi::Request>(request);
  return watched && tutti::mpi::watch(*watched, watcher, state);
}
