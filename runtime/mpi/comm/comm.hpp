// SPDX-License-Identifier: BSD-3-Clause
// Communicators (the standard, chapter 7): a group, my rank in it, and two channels, one for the
// users' point-to-point messages and a hidden one for collectives.
#pragma once

#include <memory>
#include <string_view>

#include "engine/channel.hpp"
#include "exec/execution.hpp"
#include "mpi/coll/repeated.hpp"
#include "mpi/comm/group.hpp"
#include "mpi/comm/topology.hpp"
#include "mpi/object/attribute.hpp"
#include "mpi/object/error.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::mpi {

class Comm final : public HasErrhandler {
 public:
  // A member of `group`. With kNoContext the communicator is still being made (MPI_Comm_idup) and
  // may not be used before set_context().
  Comm(Ref<Group> group, uint64_t context, Ref<Errhandler> errhandler);
  ~Comm() override;

  int rank() const { return group->rank; }
  int size() const { return group->size(); }
  bool is_inter() const { return false; }
  int remote_size() const { return size(); }
  int process_of(int rank) const { return (*group->processes)[static_cast<size_t>(rank)]; }

  void set_context(uint64_t context);
  // Before each collective call, with the engine owned: the first one finds out what the ranks
  // share.
  void find_area() {
    if (!asked_for_area_) [[unlikely]]
      ask_for_area();
  }
  uint64_t context() const { return user.context; }

  void call_user(const Errhandler& with, int code) override {
    call_with_handle<MPI_Comm_errhandler_function>(with, handle, code);
  }
  contract::Ledger* ledger() const override { return hidden.ledger; }
  std::string description() const override;
  const char* noun() const override { return is_of_window ? "window" : "communicator"; }

  void set_name(std::string_view given);

  const Ref<Group> group;
  engine::Channel user;    // point-to-point
  engine::Channel hidden;  // collectives
  coll::Planner planner;
  Repeated repeated;
  AttributeSet attributes;
  std::vector<std::pair<std::string, std::string>> hints;  // by key; empty: nobody has asked or told
  std::shared_ptr<const Topology> topology;  // nullptr: none. Set before the handle is given out
  MPI_Comm handle = MPI_COMM_NULL;  // the ABI's number, or this object's address
  bool is_of_window = false;        // a window's own

  // Operations with a request, and buffered sends, that are not complete; changed by the engine's owner.
  int64_t under_way = 0;
  // Whose count they are in: of those on a persistent collective's own communicator, that of the program's.
  Comm* counted_on = this;

 private:
  void ask_for_area();
  void find_nodes();

  std::unique_ptr<const NodeLayout> nodes_;  // nullptr: one node, or nobody knows
  std::unique_ptr<transport::Area> area_;  // nullptr: none
  bool asked_for_area_ = false;
};

}  // namespace tutti::mpi
