// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/flush.hpp"
#include "base/log.hpp"
#include "boot/joining.hpp"
#include "engine/context.hpp"
#include "io/worker_pool.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/env/api_environment.hpp"
#include "mpi/env/instance.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/info.hpp"
#include "mpi/p2p/bsend.hpp"
#include "mpi/process/connection.hpp"

namespace tutti::mpi::env {
Error init(int* argc, char*** argv) {
  int provided;
  return init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

Error init_thread(int*, char***, int required, int* provided) {
  if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED && required != MPI_THREAD_SERIALIZED &&
      required != MPI_THREAD_MULTIPLE)
    return failure(MPI_ERR_ARG, "{} is no thread level (argument required)", required);
  if (!world_has_begun() && calls_of_world().initializing.exchange(true))
    return failure(MPI_ERR_OTHER,
                   "another thread is initializing MPI: it is done once, by one thread (the "
                   "standard, section 11.2)");
  Error error = begin_world(required);
  if (error)
    calls_of_world().initializing = false;
  else
    *provided = required;
  return error;
}

namespace {

Error finalize_world() {
  // What the program attached to MPI_COMM_SELF runs first, while MPI still works (section 11.2.4). MPI ends whatever a
  // callback returns: a second MPI_Finalize would call it once more.
  for (Comm* const comm : {current.self, current.world})
    if (const Error e = comm->attributes.delete_all(comm->handle, true); e && strict)
      log_line(Level::note, fmt::format("note: MPI_Finalize: {}; MPI ends all the same", e.message()));
  send_buffer().flush();
  io::drain();
  return end_world();
}

// The child has the connections of the rank, which it must not use, and none of its threads. The job goes on.
[[noreturn]] void end_forked_child() {
  say(Level::error,
      "MPI_Finalize: called by process {}, which the rank has forked; MPI belongs to the process that called MPI_Init; "
      "a "
      "child leaves by _exit() or becomes another program by exec()",
      ::getpid());
  flush_streams();
  ::_exit(1);
}

}  // namespace

Error finalize() {
  if (is_forked()) end_forked_child();
  if (!world_has_begun() || world_has_ended())
    return failure(MPI_ERR_OTHER, "called {}", world_has_begun() ? "after MPI_Finalize" : "before MPI_Init");
  if (calls_of_world().finalizing.exchange(true))
    return failure(MPI_ERR_OTHER,
                   "MPI_Finalize is under way already: it is called once, by one thread (the "
                   "standard, section 11.2.2)");
  Error error = finalize_world();
  if (error) calls_of_world().finalizing = false;
  return error;
}

Error initialized(int* flag) {
  *flag = world_has_begun();
  return {};
}

Error finalized(int* flag) {
  *flag = world_has_ended();
  return {};
}

Error query_thread(int* provided) {
  if (!world_has_begun()) return failure(MPI_ERR_OTHER, "called before MPI_Init");
  *provided = world_thread_level();
  return {};
}

Error is_thread_main(int* flag) {
  if (!world_has_begun()) return failure(MPI_ERR_OTHER, "called before MPI_Init");
  *flag = is_main_thread();
  return {};
}

Error abort(Comm& comm, int errorcode) {
  if (engine::spans_jobs(comm.context())) processes::abort_connected(comm, errorcode);
  end_members(comm, errorcode,
              fmt::format("MPI_Abort on {} with code {}: its processes end", comm.description(), errorcode));
  own_job().abort(errorcode, fmt::format("MPI_Abort on {} with code {}",
                                         comm.name.empty() ? "a communicator" : comm.name, errorcode));
  return {};  // never
}

Error get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return {};
}

Error get_processor_name(char* name, int* resultlen) {
  std::string host = own_job().view().host;
  host.resize(std::min<size_t>(host.size(), MPI_MAX_PROCESSOR_NAME - 1));
  std::memcpy(name, host.c_str(), host.size() + 1);
  *resultlen = static_cast<int>(host.size());
  return {};
}

Error alloc_mem(MPI_Aint size, Info* info, void* baseptr) {
  if (size < 0) return failure(MPI_ERR_ARG, "{} is no size (argument size)", size);
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment_of(info), static_cast<size_t>(std::max<MPI_Aint>(size, 1))) != 0)
    return failure(MPI_ERR_NO_MEM, "there is no memory for {} bytes", size);
  *static_cast<void**>(baseptr) = memory;
  return {};
}

Error free_mem(void* base) {
  std::free(base);
  return {};
}

}  // namespace tutti::mpi::env
