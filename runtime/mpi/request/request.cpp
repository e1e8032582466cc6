// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/request.hpp"

#include <mpi-ext.h>

#include <algorithm>

#include "base/cpu.hpp"
#include "boot/joining.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/status.hpp"
#include "mpi/request/watch.hpp"

namespace tutti::mpi {
namespace {

const char* name_of(Request::Kind kind) {
  switch (kind) {
      // clang-format off
    case Request::Kind::send: return "a send";
    case Request::Kind::recv: return "a receive";
    case Request::Kind::collective: return "a collective";
    case Request::Kind::one_sided: return "a one-sided operation";
    case Request::Kind::file: return "an access to a file";
    case Request::Kind::partitioned: return "a partitioned operation";
    // clang-format on
    case Request::Kind::generalized:
    case Request::Kind::persistent:
      break;
  }
  return "an operation";
}

// Whoever drives the engine finds it out, in whatever call, or none. Ends the job.
[[gnu::cold]] void tell_lost(const Request& request, const Error& lost) {
  const Comm& comm = *request.comm;
  std::string text = fmt::format(
      "rank {} on {}: {} on {} failed after MPI_Request_free: {}. The job ends: when the request is "
      "freed, nobody is left to hear of an error, whatever the error handler (the standard, section 3.7.3)",
      my_process(), own_job().view().host, name_of(request.kind), comm.name.empty() ? "a communicator" : comm.name,
      lost.message());
  if (const auto known =
          checking.keeps_what_is_gone ? inventory::history_of(static_cast<const Object*>(&request)) : std::nullopt) {
    const std::vector<std::string> places = place_texts({known->made, known->freed});
    text += fmt::format("\n  it was started by {}\n  it was freed by {}", places[0], places[1]);
  }
  own_job().abort(std::clamp(lost.mpi_class(), 1, 255), text);
}

}  // namespace

// ---- the part of Request that few calls need

bool Request::take_from_others() {
  for (;;) {
    State now = State::complete;
    if (state_.compare_exchange_strong(now, State::taken, std::memory_order_acq_rel)) return true;
    if (now != State::looked_at) return now == State::for_ever;
    cpu::pause();
  }
}

bool Request::look(MPI_Status& status) {
  if (!current.concurrent_calls || state_.load(std::memory_order_relaxed) == State::for_ever) {
    fill(status);
    was_looked_at_.store(true, std::memory_order_relaxed);
    return true;
  }
  for (;;) {
    State now = State::complete;
    if (state_.compare_exchange_strong(now, State::looked_at, std::memory_order_acq_rel)) break;
    if (now != State::looked_at) return false;
    cpu::pause();
  }
  fill(status);
  was_looked_at_.store(true, std::memory_order_relaxed);
  state_.store(State::complete, std::memory_order_release);
  return true;
}

Error taken_by_another_thread() {
  return failure(MPI_ERR_REQUEST,
                 "another thread has completed, started or freed the request while this call was at it: "
                 "only one thread at a time may use a request (the standard, section 11.6.2)");
}

Error interrupted() {
  return failure(MPIX_ERR_PROC_FAILED_PENDING,
                 "a process has failed that might have sent the message: the receive goes on once the program has "
                 "acknowledged that (MPIX_Comm_ack_failed)");
}

void Request::end_unheard() {
  const Error lost = well_ ? Error() : unheard_error();
  if (watched_) tell_watchers(*this, Watched::ends);
  if (lost) tell_lost(*this, lost);
  state_.store(State::taken, std::memory_order_release);
  destroy();
}

void fill_empty(MPI_Status& status) {
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  status.MPI_TAG = MPI_ANY_TAG;
  status.MPI_ERROR = MPI_SUCCESS;
  set_status_bytes(status, 0);
  set_status_cancelled(status, false);
}

void fill_proc_null(MPI_Status& status) {
  status.MPI_SOURCE = MPI_PROC_NULL;
  status.MPI_TAG = MPI_ANY_TAG;
  set_status_bytes(status, 0);
  set_status_cancelled(status, false);
}

void fill_status(MPI_Status& status, const engine::Outcome& outcome) {
  status.MPI_SOURCE = outcome.source;
  status.MPI_TAG = outcome.tag;
  set_status_bytes(status, outcome.bytes);
  set_status_cancelled(status, outcome.cancelled);
}

Error failure_of(const engine::Outcome& outcome) {
  if (outcome.mpi_class == MPI_ERR_TRUNCATE)
    return failure(MPI_ERR_TRUNCATE,
                   "the message of {} bytes from rank {} with tag {} is longer than the receive "
                   "buffer of {} bytes",
                   outcome.sent_bytes, outcome.source, outcome.tag, outcome.bytes);
  if (outcome.mpi_class == MPIX_ERR_PROC_FAILED)
    return failure(outcome.mpi_class, "the process at the other end has failed");
  if (outcome.mpi_class == MPIX_ERR_REVOKED) return failure(outcome.mpi_class, "the communicator is revoked");
  if (outcome.mpi_class == MPI_ERR_PROC_ABORTED)
    return failure(outcome.mpi_class, "the job of the process at the other end has ended");
  return failure(outcome.mpi_class, "the message could not be carried; the line above says why");
}

}  // namespace tutti::mpi
