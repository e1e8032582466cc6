// SPDX-License-Identifier: BSD-3-Clause
// Do messages have the types that their receives name (the standard, 3.3.1)? A message says of which
// pattern its types are (datatype_signature.hpp), and its receiver compares when it has been matched and
// received: one comparison, since the patterns are equal for all counts and factorings. Where they are
// not, the message may still be the beginning of what the receive would take, such as the int of a
// struct, which is looked into then. Refuses to judge what --check=off leaves alone, MPI_BYTE,
// MPI_PACKED, and messages that are truncated, of which that is told.
#pragma once

#include "base/engine_owned.hpp"
#include "base/flight.hpp"
#include "contract/checker_options.hpp"
#include "engine/operation.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/checking.hpp"
#include "mpi/object/incident.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

// Of one-byte integers or characters alone, by whose names programs send whatever has bytes: that it differs
// from other types is told once and tolerated where the bytes fit, but for --check=strict.
bool is_one_byte(Pattern pattern);

// A receive as the program has asked for it.
struct Wanted {
  const Comm& comm;
  const Datatype& type;
  int64_t count;
  int source, tag;  // as they were named
};

[[gnu::cold]] bool differ_in_types(const engine::Outcome& outcome, const Datatype& type);

// Of a receive that is over: its error class becomes MPI_ERR_TYPE if the message is of other types.
[[gnu::always_inline]] inline void compare_types(engine::Outcome& outcome, const Datatype& type) {
  if (outcome.pattern != type.pattern && differ_in_types(outcome, type)) [[unlikely]]
    outcome.mpi_class = MPI_ERR_TYPE;
}

// From where the error of a receive is asked for: by a call that completes it, which does not own the engine; by
// the blocking call that has received, which does; or in the midst of a pass, where nobody can be asked for more.
enum class AskedFrom : uint8_t { unowned, in_receive, in_pass };
// The error of a receive that is over; where findings are only to be reported, none but the report. Not proven: it
// takes the engine where it is not owned.
[[gnu::cold]] Error failure_of_receive(const engine::Outcome& outcome, const Wanted& wanted,
                                       AskedFrom from) TUTTI_NOT_PROVEN;
inline Error error_of_receive(const engine::Outcome& outcome, const Wanted& wanted, AskedFrom from) {
  if (outcome.mpi_class == MPI_SUCCESS) [[likely]]
    return {};
  return failure_of_receive(outcome, wanted, from);
}

// contract::MayHaveSent.
int may_have_sent(const flight::CallRecord& call, int64_t bytes, Pattern pattern);

// Both sides of one call, of which the standard wants one signature, and which have equally many bytes.
inline bool differ_in_types(const Datatype& one, const Datatype& other) {
  return one.pattern != other.pattern && one.pattern && other.pattern && checking.compares_types;
}

// Where findings are only to be reported: does so, once for each place in the program, with all that
// this thread has mentioned, and makes it no error. `comm`: as for story_of().
Error report_alone(Error error, const Comm* comm) TUTTI_ENGINE_OWNED;

// "2 of MPI_INT"; of a type that is made of others, with the first of them.
std::string amount_text(int64_t count, const Datatype& type);

}  // namespace tutti::mpi
