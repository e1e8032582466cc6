// SPDX-License-Identifier: BSD-3-Clause
// The sentences of refused arguments: the value, why it is refused, which argument it is.
#include "entry.hpp"

#include "mpi/env/instance.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/inventory.hpp"

// Private to libmpifort_abi, which does without it above another library: its name is no part of MPI's.
extern "C" [[gnu::visibility("default")]] const void** tutti_caller();
const void** tutti_caller() {
  return &tutti::lib::fortran_caller;
}

namespace tutti::lib {

constinit thread_local const void* fortran_caller = nullptr;

namespace {

std::string called(const mpi::NamedObject& object, const char* what) {
  return object.name.empty() ? fmt::format("a {} without a name", what) : fmt::format("{} {}", what, object.name);
}

// Why the call that this thread is in is refused.
Error& refusal() {
  static thread_local Error error;
  return error;
}

bool refuse(Error error) {
  refusal() = std::move(error);
  return false;
}

// Surely: it is known of the handle, or others still refer to the object.
bool is_freed(const void* handle, const HandleKind& kind) {
  if (const auto known = mpi::inventory::history_of(handle)) return known->tag == kind.tag && known->is_freed;
  const auto value = reinterpret_cast<uintptr_t>(handle);
  return value >= mpi::kFirstAddress && value % alignof(mpi::Object) == 0 &&
         mpi::Object::tag_at(reinterpret_cast<uintptr_t>(handle)) == mpi::without_handle(kind.tag);
}

}  // namespace

bool Entry::not_running() {
  const bool before = mpi::current.phase.load(std::memory_order_acquire) == mpi::Phase::before_init;
  if (const mpi::CallSite end = mpi::env::latest_session_end(); before && end.caller) {
    mpi::mentions().push_back({"the last session was finalized by", end});
    return refuse(failure(MPI_ERR_OTHER,
                          "called after MPI_Session_finalize of the last session, and MPI_Init was not called: what "
                          "comes from a session is used before its end alone (the standard, section 11.3.1)"));
  }
  return refuse(failure(MPI_ERR_OTHER, "called {}", before ? "before MPI_Init" : "after MPI_Finalize"));
}

bool Entry::bad_handle(const HandleKind& kind, const void* handle, const char* argument) {
  if (kind.tag == mpi::Tag::comm && (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF))
    return refuse(failure(kind.error_class,
                          "{} is there between MPI_Init and MPI_Finalize alone: sessions make communicators by "
                          "MPI_Comm_create_from_group (argument {})",
                          handle == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : "MPI_COMM_SELF", argument));
  if (handle == kind.null)
    return refuse(failure(kind.error_class, "the {} is null (argument {})", kind.what, argument));
  if (!is_freed(handle, kind))
    return refuse(failure(kind.error_class,
                          "{} is no {}: freed already, never set, or a handle of another kind "
                          "(argument {})",
                          handle, kind.what, argument));
  const bool operation = kind.error_class == MPI_ERR_REQUEST;
  mpi::inventory::mention(handle, kind.what);
  return refuse(failure(kind.error_class, "the {} has been {} already (argument {})", kind.what,
                        operation ? "completed or freed" : "freed", argument));
}

bool Entry::uncommitted(const mpi::Datatype& type, const char* argument) {
  mpi::inventory::mention(type.handle, "datatype");
  return refuse(failure(MPI_ERR_TYPE, "{} is not committed: call MPI_Type_commit first (argument {})",
                        called(type, "datatype"), argument));
}

bool Entry::bad_count(int64_t count, const char* argument) {
  return refuse(failure(MPI_ERR_COUNT, "{} is negative (argument {})", count, argument));
}

bool Entry::bad_tag(int tag, const char* argument) {
  if (tag == MPI_ANY_TAG)
    return refuse(failure(MPI_ERR_TAG, "MPI_ANY_TAG is for receives only (argument {})", argument));
  return refuse(failure(MPI_ERR_TAG, "{} is no tag: they count from 0 (argument {})", tag, argument));
}

bool Entry::bad_rank(int error_class, int rank, const mpi::Comm& comm, const char* argument) {
  const char* special = rank == MPI_ANY_SOURCE  ? " (MPI_ANY_SOURCE)"
                        : rank == MPI_PROC_NULL ? " (MPI_PROC_NULL)"
                        : rank == MPI_ROOT      ? " (MPI_ROOT)"
                                                : "";
  // Who forgets mpirun has one rank, and mostly learns of it here.
  const bool alone = !mpi::has_launcher() && &comm == mpi::resolve<mpi::Comm>(MPI_COMM_WORLD);
  if (comm.is_inter())
    return refuse(failure(error_class, "rank {}{} is not in the other group, of {} rank{}, of {} (argument {})", rank,
                          special, comm.remote_size(), comm.remote_size() == 1 ? "" : "s", called(comm, "communicator"),
                          argument));
  return refuse(failure(error_class, "rank {}{} is not in {} of {} rank{}{} (argument {})", rank, special,
                        comm.is_of_window ? comm.name : called(comm, "communicator"), comm.remote_size(),
                        comm.remote_size() == 1 ? "" : "s", alone ? ", for the program was started without mpirun" : "",
                        argument));
}

bool Entry::two_groups(const mpi::Comm& comm, const char* argument) {
  return refuse(failure(MPI_ERR_COMM,
                        "{} is an intercommunicator, and the call wants one of a single group (argument {})",
                        called(comm, "communicator"), argument));
}

bool Entry::null_pointer(const char* argument) {
  return refuse(failure(MPI_ERR_ARG, "the address is NULL (argument {})", argument));
}

bool Entry::null_buffer(int64_t count, const char* argument) {
  return refuse(failure(MPI_ERR_BUFFER, "the buffer is NULL, yet {} element{} lie{} in it (argument {})", count,
                        count == 1 ? "" : "s", count == 1 ? "s" : "", argument));
}

bool Entry::in_place(const char* argument) {
  return refuse(failure(MPI_ERR_BUFFER,
                        "MPI_IN_PLACE is no memory: it means something to some collectives alone (argument {}; the "
                        "number 1 in the place of an address looks like it)",
                        argument));
}

int Entry::raise_refusal(mpi::CallSite place, mpi::HasErrhandler* on) {
  return raise(place, on, std::exchange(refusal(), {}));
}

int Entry::raise_unsupported(mpi::CallSite place, MPI_Comm comm) {
  const bool running = mpi::current.phase.load(std::memory_order_relaxed) == mpi::Phase::running;
  return raise(place, running && comm != MPI_COMM_NULL ? mpi::resolve<mpi::Comm>(comm) : nullptr,
               failure(MPI_ERR_UNSUPPORTED_OPERATION, "not implemented in Tutti {}", TUTTI_VERSION));
}

}  // namespace tutti::lib
