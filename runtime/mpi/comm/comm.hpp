// SPDX-License-Identifier: BSD-3-Clause
// Communicators (the standard, chapter 7): a group, my rank in it, and two channels, one for the
// users' point-to-point messages and a hidden one for collectives. An intercommunicator has a second
// group, the remote one, whose ranks messages go to and come from.
#pragma once

#include <memory>
#include <string_view>

#include "base/engine_owned.hpp"
#include "engine/channel.hpp"
#include "exec/planner.hpp"
#include "mpi/comm/group.hpp"
#include "mpi/comm/virtual_topology.hpp"
#include "mpi/object/attribute.hpp"
#include "mpi/object/error.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::contract {
class Checker;
}
namespace tutti::engine {
class ContextPool;
}

namespace tutti::mpi {

struct Process;
class SendBuffer;
class Repeated;

// Large: it is an object of the standard, with a field for each thing that one knows of a communicator.
class Comm final : public HasErrhandler {
 public:
  // A member of `group`. With kNoContext the communicator is still being made (MPI_Comm_idup) and
  // may not be used before set_context().
  Comm(Ref<Group> group, uint64_t context, Ref<Errhandler> errhandler);
  // An intercommunicator, between my group and another one. `local_first`: in the union of both, over
  // which collectives go, my group's ranks come first; the members of both agree about that.
  Comm(Ref<Group> local, Ref<Group> remote, bool local_first, uint64_t context, Ref<Errhandler> errhandler);
  ~Comm() override;

  int rank() const { return group->rank; }
  int size() const { return group->size(); }
  bool is_inter() const { return static_cast<bool>(remote_group); }
  // Of the ranks that messages go to: those of the remote group, or of the only one.
  int remote_size() const { return user.size(); }
  int process_of(int rank) const { return user.process_of(rank); }

  void set_context(uint64_t context);
  // Before each collective call: the first one finds out what the ranks share.
  void find_area() TUTTI_ENGINE_OWNED {
    if (!asked_for_area_) [[unlikely]]
      ask_for_area();
  }
  uint64_t context() const { return user.context; }
  // Finds out for a hidden channel of this communicator's ranks, in whatever context of theirs, who is where
  // and what they share, which is the caller's to keep; nullptr: nothing.
  std::unique_ptr<transport::Area> share(engine::Channel& channel) TUTTI_ENGINE_OWNED;
  // The ranks have another context, until it is forgotten. Any thread.
  void note_context(uint64_t context) const;
  void forget_context(uint64_t context) const;

  int call_user(const Errhandler& with, int code) override {
    return call_with_handle<MPI_Comm_errhandler_function>(with, handle, code);
  }
  contract::Ledger* ledger() const override { return hidden.ledger; }
  std::string description() const override;
  const char* noun() const override { return is_of_window ? "window" : "communicator"; }

  void set_name(std::string_view given);

  engine::Engine& engine() const { return *user.engine; }
  // Of its process, for the chapters that know communicators and not the whole process.
  engine::ContextPool& contexts() const;
  contract::Checker* checker() const;  // nullptr when switched off
  const std::shared_ptr<exec::Store>& store() const;

  Process& process;  // in which it is, with all that communicators of a process share
  const Ref<Group> group;
  const Ref<Group> remote_group;  // nullptr: the communicator has but one group
  engine::Channel user;           // point-to-point
  engine::Channel hidden;         // collectives
  exec::Planner planner;
  std::shared_ptr<Repeated> repeated;  // calls that came before and may come again; mpi/coll/'s. nullptr: none yet
  AttributeSet attributes;
  std::vector<std::pair<std::string, std::string>> hints;     // by key; empty: nobody has asked or told
  std::shared_ptr<const VirtualTopology> topology;            // nullptr: none. Set before the handle is given out
  std::vector<std::unique_ptr<const coll::Edges>> distances;  // by bit: letters.cpp's
  std::shared_ptr<SendBuffer> send_buffer;  // MPI_Comm_attach_buffer; nullptr: none. The engine's owner's
  MPI_Comm handle = MPI_COMM_NULL;          // the ABI's number, or this object's address
  bool is_of_window = false;                // a window's own

  // Operations with a request, and buffered sends, that are not complete.
  int64_t under_way TUTTI_OWNERS = 0;

 private:
  void ask_for_area() TUTTI_ENGINE_OWNED;
  const NodeLayout* find_nodes();

  std::unique_ptr<transport::Area> area_;  // nullptr: none
  bool asked_for_area_ TUTTI_OWNERS = false;
};

}  // namespace tutti::mpi
