// SPDX-License-Identifier: BSD-3-Clause
// Groups (the standard, section 7.3): an ordered set of processes. Owns the list; knows nothing
// of communicators, nor of how a process is reached.
#pragma once

#include <memory>

#include "base/node_layout.hpp"
#include "base/process_list.hpp"
#include "mpi/object/session.hpp"

namespace tutti::mpi {

// Immutable once made: any thread may read it, and communicators share the list.
class Group final : public Object {
 public:
  // `processes[rank]` is the number by which the job knows a process, each at most once; `rank`
  // is this process's place in the list, or MPI_UNDEFINED. `session`: of whose process sets it is.
  Group(ProcessList processes, int rank, Ref<Session> session = {})
      : Object(Tag::group), processes(std::move(processes)), rank(rank), session(std::move(session)) {}

  int size() const { return processes.size(); }

  const ProcessList processes;
  const int rank;
  const Ref<Session> session;  // nullptr: of the World Model
  // Who is where, once a communicator of this group has asked: it and its duplicates share this. The engine's owner's.
  std::shared_ptr<const NodeLayout> nodes;
};

// The handle of a new group; MPI_GROUP_EMPTY if it has no member. `rank` as above.
MPI_Group make_group(ProcessList processes, int rank, Ref<Session> session = {});
// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const Group& group1, const Group& group2);

}  // namespace tutti::mpi
