// SPDX-License-Identifier: BSD-3-Clause
// One call of an entry point: counts it, checks its arguments by the standard's parameter kinds,
// and turns an error into the call of an error handler. Used by the generated entry points alone:
//
//   Entry entry(412, caller);            with Entry::Recorded where the flight record shall know of
//                                        the call, Entry::making where objects are made or freed
//   mpi::Comm* comm_;
//   if (!(entry.ready() && entry.comm(comm_, comm, "comm") && entry.rank(…) && …))
//     return entry.failed();
//   entry.note_comm(*comm_); …           what the flight record shall say of it
//   return entry.done(mpi::send(…, *comm_));
//
// A check returns true if all is well; otherwise it keeps the first error and returns false. The
// checks are inline and short, what they say lies apart in entry.cpp, in functions that are given
// values and never the Entry itself: so it lives in registers. Refuses what cannot be judged from
// one argument and its neighbours (aliasing, lengths of arrays, MPI_IN_PLACE where it is not
// allowed): that is left to the implementations.
#pragma once

#include <climits>
#include <cstdint>

#include "base/flight.hpp"
#include "counters.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/env/thread_level.hpp"
#include "mpi/file/file.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/incident.hpp"
#include "mpi/object/info.hpp"
#include "mpi/object/objects.hpp"
#include "mpi/object/session.hpp"
#include "mpi/request/request.hpp"
#include "mpi/rma/window.hpp"
#include "mpi/type/datatype.hpp"
#include "mpi/type/op.hpp"
#include "raise.hpp"

namespace tutti::lib {

// How errors speak of a type of handle.
struct HandleKind {
  int error_class;
  const char* what;
  const void* null;
  mpi::Tag tag;
};
template <class T>
inline const HandleKind kHandleKind{};
template <>
inline const HandleKind kHandleKind<mpi::Comm>{MPI_ERR_COMM, "communicator", MPI_COMM_NULL, mpi::Tag::comm};
template <>
inline const HandleKind kHandleKind<mpi::Datatype>{MPI_ERR_TYPE, "datatype", MPI_DATATYPE_NULL, mpi::Tag::datatype};
template <>
inline const HandleKind kHandleKind<mpi::Op>{MPI_ERR_OP, "operation", MPI_OP_NULL, mpi::Tag::op};
template <>
inline const HandleKind kHandleKind<mpi::Group>{MPI_ERR_GROUP, "group", MPI_GROUP_NULL, mpi::Tag::group};
template <>
inline const HandleKind kHandleKind<mpi::Errhandler>{MPI_ERR_ERRHANDLER, "error handler", MPI_ERRHANDLER_NULL,
                                                     mpi::Tag::errhandler};
template <>
inline const HandleKind kHandleKind<mpi::Info>{MPI_ERR_INFO, "info object", MPI_INFO_NULL, mpi::Tag::info};
template <>
inline const HandleKind kHandleKind<mpi::Request>{MPI_ERR_REQUEST, "request", MPI_REQUEST_NULL, mpi::Tag::request};
template <>
inline const HandleKind kHandleKind<mpi::Message>{MPI_ERR_REQUEST, "message", MPI_MESSAGE_NULL, mpi::Tag::message};
template <>
inline const HandleKind kHandleKind<mpi::Window>{MPI_ERR_WIN, "window", MPI_WIN_NULL, mpi::Tag::win};
template <>
inline const HandleKind kHandleKind<mpi::File>{MPI_ERR_FILE, "file", MPI_FILE_NULL, mpi::Tag::file};
template <>
inline const HandleKind kHandleKind<mpi::Session>{MPI_ERR_SESSION, "session", MPI_SESSION_NULL, mpi::Tag::session};

// A procedure of Fortran calls the entry point from inside its library; what is to be told is where the procedure
// was called. It sets this for as long as it runs (tutti_caller() below), and nobody else does.
extern constinit thread_local const void* fortran_caller;

inline const void* caller_of(const void* returns_to) {
  return fortran_caller ? fortran_caller : returns_to;
}

class Entry {
 public:
  // The flight record shall know of the call; the arguments that `marks` names are noted at once.
  struct Recorded {
    uint8_t marks = 0;
  };
  static constexpr uint8_t kData = flight::kData, kOtherData = flight::kOtherData, kOp = flight::kOp;
  static constexpr uint8_t peer(flight::PeerIs is) { return static_cast<uint8_t>(is); }
  // The flight record keeps no such call, and what it does may be told of later, by its place.
  enum Making { making };
  // The flight record keeps no such call, and time may decide what it finds (MPI_Iprobe): strict tells where it is.
  enum Choosing { choosing };
  Entry(int function, const void* caller) : function_(function), caller_(caller) { count_call(function); }
  [[gnu::always_inline]] Entry(int function, const void* caller, Recorded told)
      : function_(function),
        caller_(caller),
        record_(flight::begin(static_cast<uint16_t>(function), caller, told.marks)),
        call_(record_ ? *record_->call : flight::inside::nowhere) {
    count_call(function);
    if (!record_ && mpi::checking.keeps_what_is_gone) [[unlikely]]
      mpi::set_here(place());
  }
  Entry(int function, const void* caller, Making) : Entry(function, caller) { mpi::set_here(place()); }
  Entry(int function, const void* caller, Choosing) : Entry(function, caller) {
    if (mpi::checking.keeps_what_is_gone) [[unlikely]]
      mpi::set_here(place());
  }
  [[gnu::always_inline]] ~Entry() {
    if (record_) flight::end(*record_);
  }
  Entry(const Entry&) = delete;

  // --- what the flight record says of the call. What its marks do not name needs mark() as well.
  void note_comm(const mpi::Comm& comm) { flight::set(call_.context, comm.context()); }
  void note_win(const mpi::Window& win) { note_comm(*win.comm); }
  void note_file(const mpi::File& file) { note_comm(file.comm()); }
  void note_peer(int peer, int tag = 0) { flight::note_peer(call_, peer, tag); }
  void note_data(int64_t count, MPI_Datatype type) {
    flight::note_data(call_, count, reinterpret_cast<uintptr_t>(type));
  }
  void note_other_data(int64_t count, MPI_Datatype type) {
    flight::note_other_data(call_, count, reinterpret_cast<uintptr_t>(type));
  }
  void note_op(MPI_Op op) { flight::note_op(call_, reinterpret_cast<uintptr_t>(op)); }
  void mark(uint8_t marks) { flight::mark(call_, marks); }

  bool ready() { return mpi::current.phase.load(std::memory_order_relaxed) == mpi::Phase::running || not_running(); }

  // The same of a call that the flight record does not know of: whether this thread may make it is asked here.
  bool ready_to_ask() {
    if (!ready()) return false;
    if (!mpi::env::may_ask()) [[unlikely]]
      mpi::env::judge_asking(static_cast<uint16_t>(function_), caller_);
    return true;
  }

  // --- handles: the object, and the communicator on which later errors are raised

  bool comm(mpi::Comm*& object, MPI_Comm handle, const char* argument) {
    object = mpi::resolve<mpi::Comm>(handle);
    if (!object && !(object = mpi::resolve_in_callback<mpi::Comm>(handle))) [[unlikely]]
      return bad_handle(kHandleKind<mpi::Comm>, handle, argument);
    if (!on_) on_ = object;
    return true;
  }
  // The window, on which later errors are raised.
  bool win(mpi::Window*& object, MPI_Win handle, const char* argument) {
    object = mpi::resolve<mpi::Window>(handle);
    return (object || (object = mpi::resolve_in_callback<mpi::Window>(handle)) ||
            bad_handle(kHandleKind<mpi::Window>, handle, argument)) &&
           set_window(object);
  }
  bool held_win(MPI_Win* handle, const char* argument) {
    return held<mpi::Window>(handle, argument) && set_window(mpi::resolve<mpi::Window>(*handle));
  }
  // Without a file errors are raised on MPI_FILE_NULL (the standard, section 14.7).
  bool no_file() {
    file_ = &mpi::file::null_file();
    return true;
  }
  // The file, on which later errors are raised.
  bool file(mpi::File*& object, MPI_File handle, const char* argument) {
    no_file();
    object = mpi::resolve<mpi::File>(handle);
    if (!object && !(object = mpi::resolve_in_callback<mpi::File>(handle))) [[unlikely]]
      return bad_handle(kHandleKind<mpi::File>, handle, argument);
    file_ = object;
    return true;
  }
  bool held_file(MPI_File* handle, const char* argument) {
    no_file();
    mpi::File* object = nullptr;
    return pointer(handle, argument) && file(object, *handle, argument);
  }
  // Of functions about error handlers, which MPI_FILE_NULL has, too.
  bool file_or_null(mpi::HasErrhandler*& object, MPI_File handle, const char* argument) {
    mpi::File* given = nullptr;
    if (handle != MPI_FILE_NULL && !file(given, handle, argument)) return false;
    object = given ? static_cast<mpi::HasErrhandler*>(given) : &mpi::file::null_file();
    return handle != MPI_FILE_NULL || no_file();
  }
  template <class T>
  bool handle(T*& object, typename mpi::HandleOf<T>::type handle, const char* argument) {
    object = mpi::resolve<T>(handle);
    if (!object && !(object = mpi::resolve_in_callback<T>(handle))) [[unlikely]]
      return bad_handle(kHandleKind<T>, handle, argument);
    // Errors of calls on groups are raised on the session that they are of (the standard, section 9.3).
    if constexpr (std::is_same_v<T, mpi::Group>)
      if (!other_) other_ = object->session.get();
    if constexpr (std::is_same_v<T, mpi::Session>) other_ = object;
    return true;
  }
  // MPI_INFO_NULL is a value like others, except for functions about info objects themselves.
  bool info(mpi::Info*& object, MPI_Info handle, const char* argument) {
    object = nullptr;
    return handle == MPI_INFO_NULL || this->handle<mpi::Info>(object, handle, argument);
  }
  // For functions that move data of this type.
  bool committed(mpi::Datatype*& type, MPI_Datatype handle, const char* argument) {
    return this->handle<mpi::Datatype>(type, handle, argument) && (type->committed || uncommitted(*type, argument));
  }
  // A handle by address, for the functions that free or change it.
  template <class T>
  bool held(typename mpi::HandleOf<T>::type* handle, const char* argument) {
    return pointer(handle, argument) && (mpi::resolve<T>(*handle) || bad_handle(kHandleKind<T>, *handle, argument));
  }
  // A request may be MPI_REQUEST_NULL here: only some functions refuse it.
  bool request(const MPI_Request* handle, const char* argument) {
    return pointer(handle, argument) && request(*handle, argument);
  }
  bool request(MPI_Request handle, const char* argument) {
    return handle == MPI_REQUEST_NULL || mpi::resolve<mpi::Request>(handle) ||
           bad_handle(kHandleKind<mpi::Request>, handle, argument);
  }
  // Their class is known to point-to-point communication alone, their tag suffices here.
  bool message(const MPI_Message* handle, const char* argument) {
    return pointer(handle, argument) && (*handle == MPI_MESSAGE_NO_PROC || is_message(*handle) ||
                                         bad_handle(kHandleKind<mpi::Message>, *handle, argument));
  }

  // --- values

  static bool set(bool& to, bool value) {
    to = value;
    return true;
  }

  bool count(int64_t count, const char* argument) { return count >= 0 || bad_count(count, argument); }
  bool tag(int tag, const char* argument) { return tag >= 0 || bad_tag(tag, argument); }
  bool tag_or_any(int tag, const char* argument) { return tag >= 0 || tag == MPI_ANY_TAG || bad_tag(tag, argument); }
  bool dest(int rank, const mpi::Comm& comm, const char* argument) {
    return in_range(rank, comm) || rank == MPI_PROC_NULL || bad_rank(MPI_ERR_RANK, rank, comm, argument);
  }
  bool source(int rank, const mpi::Comm& comm, const char* argument) {
    return in_range(rank, comm) || rank == MPI_PROC_NULL || rank == MPI_ANY_SOURCE ||
           bad_rank(MPI_ERR_RANK, rank, comm, argument);
  }
  // Of a window: some calls do nothing where the target is MPI_PROC_NULL.
  bool target(int rank, const mpi::Window& win, bool or_null, const char* argument) {
    return in_range(rank, *win.comm) || (or_null && rank == MPI_PROC_NULL) ||
           bad_rank(MPI_ERR_RANK, rank, *win.comm, argument);
  }
  bool root(int rank, const mpi::Comm& comm, const char* argument) {
    return in_range(rank, comm) || (comm.is_inter() && (rank == MPI_ROOT || rank == MPI_PROC_NULL)) ||
           bad_rank(MPI_ERR_ROOT, rank, comm, argument);
  }
  // Some calls are not for intercommunicators.
  bool one_group(const mpi::Comm& comm, const char* argument) { return !comm.is_inter() || two_groups(comm, argument); }
  // Where arguments that only the root needs are significant.
  static bool at_root(int root, const mpi::Comm& comm) {
    return comm.is_inter() ? root == MPI_ROOT : root == comm.rank();
  }

  // --- addresses

  bool pointer(const void* address, const char* argument) { return address != nullptr || null_pointer(argument); }
  // Address 0 is MPI_BOTTOM, good for derived types with absolute addresses and for nothing else.
  bool buffer(const void* address, int64_t count, const mpi::Datatype* type, const char* argument) {
    return address != nullptr || count <= 0 || !type || !type->predefined || null_buffer(count, argument);
  }
  // The same of functions in which MPI_IN_PLACE, the address behind that one, means nothing. `type`: nullptr where
  // NULL is for the implementation to judge.
  bool own_buffer(const void* address, int64_t count, const mpi::Datatype* type, const char* argument) {
    return reinterpret_cast<uintptr_t>(address) > reinterpret_cast<uintptr_t>(MPI_IN_PLACE) || count <= 0 ||
           (address ? in_place(argument) : buffer(address, count, type, argument));
  }

  // --- ends of the call

  [[gnu::always_inline]] int done(Error error) {
    if (!error) [[likely]]
      return MPI_SUCCESS;
    return raise(place(), told(), std::move(error));
  }
  [[gnu::always_inline]] int failed() {
    if (on_) note_comm(*on_);
    if (window_) note_win(*window_);
    return raise_refusal(place(), told());
  }
  // Of a function that is given the error handler of what it makes; nullptr: its handle is none.
  int failed_to_make(mpi::Errhandler* errhandler, mpi::Errhandler::On kind) {
    if (errhandler) mpi::raise_on_what_is_made(*errhandler, kind);
    return failed();
  }
  // A function that is not written yet, told to the communicator that it was given, if any.
  int unsupported(MPI_Comm comm = MPI_COMM_NULL) { return raise_unsupported(place(), comm); }

 private:
  mpi::CallSite place() const { return {static_cast<uint16_t>(function_), reinterpret_cast<uintptr_t>(caller_)}; }
  // On which errors are raised.
  mpi::HasErrhandler* told() const {
    if (file_) return file_;
    if (window_) return window_;
    return on_ ? on_ : other_;
  }
  bool set_window(mpi::Window* window) {
    window_ = window;
    return true;
  }
  static bool in_range(int rank, const mpi::Comm& comm) {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(comm.remote_size());
  }
  static bool is_message(MPI_Message handle) {
    const auto value = reinterpret_cast<uintptr_t>(handle);
    return value >= mpi::kFirstAddress && value % alignof(mpi::Object) == 0 &&
           mpi::Object::tag_at(value) == mpi::Tag::message;
  }
  // Each keeps its sentence for raise_refusal(), and returns false.
  [[gnu::cold]] static bool not_running();
  [[gnu::cold]] static bool bad_handle(const HandleKind& kind, const void* handle, const char* argument);
  [[gnu::cold]] static bool uncommitted(const mpi::Datatype& type, const char* argument);
  [[gnu::cold]] static bool bad_count(int64_t count, const char* argument);
  [[gnu::cold]] static bool bad_tag(int tag, const char* argument);
  [[gnu::cold]] static bool bad_rank(int error_class, int rank, const mpi::Comm& comm, const char* argument);
  [[gnu::cold]] static bool two_groups(const mpi::Comm& comm, const char* argument);
  [[gnu::cold]] static bool null_pointer(const char* argument);
  [[gnu::cold]] static bool null_buffer(int64_t count, const char* argument);
  [[gnu::cold]] static bool in_place(const char* argument);
  [[gnu::cold]] static int raise_refusal(mpi::CallSite place, mpi::HasErrhandler* on);
  [[gnu::cold]] static int raise_unsupported(mpi::CallSite place, MPI_Comm comm);

  const int function_;
  const void* const caller_;
  flight::Thread* const record_ = nullptr;
  flight::CallRecord& call_ = flight::inside::nowhere;  // of the record
  mpi::Comm* on_ = nullptr;
  mpi::Window* window_ = nullptr;
  mpi::HasErrhandler* other_ = nullptr;  // a session
  mpi::HasErrhandler* file_ = nullptr;   // or what stands for MPI_FILE_NULL
};

// What a query returns through an int: the standard has MPI_UNDEFINED for what does not fit.
inline void store(int* to, int64_t value) {
  *to = value >= INT_MIN && value <= INT_MAX ? static_cast<int>(value) : MPI_UNDEFINED;
}
inline void store(int64_t* to, int64_t value) {
  *to = value;
}

}  // namespace tutti::lib
