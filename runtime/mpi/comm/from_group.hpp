// SPDX-License-Identifier: BSD-3-Clause
// How communicators are made of groups alone: what an intercommunicator of two groups shares with
// it.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "mpi/comm/comm.hpp"
#include "mpi/object/info.hpp"

namespace tutti::mpi {

Error bad_string_tag(const char* text);
// With --check=strict: an error where the two are of different sessions, for a call that is given both.
Error of_two_sessions(const Group& one, const Group& other);
// An error where one of the group is of another job.
Error foreign_member(const Group& group, const char* argument);
// The same for all who mean the same communicator.
uint64_t number_of_call(const char* string_tag, std::initializer_list<const ProcessList*> groups);
// As in making.hpp, in messages of `call`, which belong to no communicator.
Error tell_group(uint64_t call, const ProcessList& processes, int rank, void* data, size_t bytes);
Error no_context_for(const char* string_tag);
// Hands it out, with its predefined attributes and hints.
void finish_new(Comm& made, const Info* info);

}  // namespace tutti::mpi
