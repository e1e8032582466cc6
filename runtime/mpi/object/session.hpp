// SPDX-License-Identifier: BSD-3-Clause
// Sessions (the standard, section 11.3): what a library of a program holds of MPI, apart from others. The
// groups of its process sets refer to it, and the communicators and windows that are made of them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "mpi/object/error.hpp"
#include "mpi/object/info.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::mpi {

class SendBuffer;

class Session final : public HasErrhandler {
 public:
  Session(int thread_level, Ref<Errhandler> errhandler)
      : HasErrhandler(Tag::session, Errhandler::On::session, std::move(errhandler)),
        thread_level(thread_level),
        handle(handle_of(*this)) {}

  int call_user(const Errhandler& with, int code) override {
    return call_with_handle<MPI_Session_errhandler_function>(with, handle, code);
  }
  std::string description() const override { return "a session"; }
  const char* noun() const override { return "session"; }

  // The communicators that are made of its groups, those of windows among them. Any thread; the engine
  // may be owned.
  void made(Comm& comm) {
    const Lock lock(mutex_);
    comms_.insert(&comm);
  }
  void ended(Comm& comm) {
    const Lock lock(mutex_);
    comms_.erase(&comm);
  }
  // Each of them, while it lives; `act` may not free one.
  template <class Act>
  void each_comm(Act act) const {
    const Lock lock(mutex_);
    for (Comm* comm : comms_) act(*comm);
  }

  const int thread_level;
  std::vector<Info::Entry> hints;           // what MPI_Session_get_info tells
  std::shared_ptr<SendBuffer> send_buffer;  // MPI_Session_attach_buffer; nullptr: none. The engine's owner's
  const MPI_Session handle;

 private:
  mutable Mutex mutex_;
  std::set<Comm*> comms_ TUTTI_GUARDED_BY(mutex_);
};

inline Session* HandleOf<Session>::predefined(uintptr_t) {
  return nullptr;
}

}  // namespace tutti::mpi
