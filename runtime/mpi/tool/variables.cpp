// SPDX-License-Identifier: BSD-3-Clause
// The performance variables: what the runtime counts or knows anyway, read when a tool asks, and what it counts
// while a tool wants it.
#include <algorithm>
#include <chrono>

#include "base/flight.hpp"
#include "base/pooled.hpp"
#include "boot/joining.hpp"
#include "engine/engine.hpp"
#include "engine/wait/progress.hpp"
#include "exec/plan_counts.hpp"
#include "exec/store.hpp"
#include "functions.hpp"
#include "members/processes.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/process.hpp"
#include "mpi/tool/counted.hpp"
#include "mpi/tool/event.hpp"
#include "mpi/tool/tool.hpp"
#include "transport/router.hpp"

namespace tutti::mpi::tool {
namespace {

int one(const Comm*) {
  return 1;
}
int of_peers(const Comm* comm) {
  return comm ? comm->remote_size() : 0;
}

template <bool sent>
void messages(const Comm* comm, double* values) TUTTI_ENGINE_OWNED {
  for (int i = 0; i < of_peers(comm); ++i) values[i] = 0;
  engine_of_process().each_peer([&](int peer, uint32_t out, uint32_t in) {
    for (int i = 0; i < of_peers(comm); ++i)
      if (comm->process_of(i) == peer) values[i] = sent ? out : in;
  });
}

// ---- what is counted while a handle is started

template <bool sent>
void bytes(const Comm* comm, double* values) TUTTI_ENGINE_OWNED {
  for (int i = 0; i < of_peers(comm); ++i) {
    values[i] = 0;
    const auto peer = static_cast<size_t>(comm->process_of(i));
    if (peer >= traffic().by_peer().size()) continue;
    const Traffic::Both& both = traffic().by_peer()[peer];
    values[i] = static_cast<double>(sent ? both.out.bytes : both.in.bytes);
  }
}

template <bool shared, bool of_bytes>
void by_way(const Comm*, double* v) TUTTI_ENGINE_OWNED {
  *v = 0;
  if (!running()) return;
  const std::vector<int>& near = own_job().view().node_ranks;
  for (size_t peer = 0; peer < traffic().by_peer().size(); ++peer) {
    const bool is_shared =
        process().transport->has_shared_memory() && std::ranges::binary_search(near, static_cast<int>(peer));
    const Traffic::Count& out = traffic().by_peer()[peer].out;
    if (is_shared == shared) *v += static_cast<double>(of_bytes ? out.bytes : out.messages);
  }
}

template <size_t happening>
void events(const Comm*, double* v) TUTTI_ENGINE_OWNED {
  *v = static_cast<double>(events_counted(happening));
}

int functions(const Comm*) {
  return static_cast<int>(kFunctionCount);
}
void time_in_calls(const Comm*, double* v) {
  for (size_t i = 0; i < kFunctionCount; ++i) v[i] = flight::seconds_in(static_cast<uint16_t>(i));
}
void time_in_mpi(const Comm*, double* v) {
  *v = 0;
  for (size_t i = 0; i < kFunctionCount; ++i) *v += flight::seconds_in(static_cast<uint16_t>(i));
}

// ---- what is there anyway

void tried(const Comm*, double* v) TUTTI_ENGINE_OWNED {
  *v = running() ? static_cast<double>(engine_of_process().matcher().tried()) : 0;
}
void unexpected_bytes(const Comm*, double* v) TUTTI_ENGINE_OWNED {
  *v = 0;
  if (!running()) return;
  engine_of_process().matcher().each_unexpected([&](const engine::Unexpected& message) {
    if (!engine::is_hidden(message.header.context)) *v += static_cast<double>(message.header.bytes);
  });
}

// Of the program's messages: those of the library's collectives are its own affair.
void unexpected(const Comm*, double* v) TUTTI_ENGINE_OWNED {
  *v = 0;
  if (!running()) return;
  engine_of_process().matcher().each_unexpected(
      [&](const engine::Unexpected& message) { *v += !engine::is_hidden(message.header.context); });
}
void posted(const Comm*, double* v) TUTTI_ENGINE_OWNED {
  *v = 0;
  if (!running()) return;
  engine_of_process().matcher().each_posted(
      [&](const engine::RecvOperation& receive) { *v += !engine::is_hidden(receive.match.context); });
}
void pending(const Comm*, double* v) TUTTI_ENGINE_OWNED {
  *v = running() ? static_cast<double>(engine_of_process().pending()) : 0;
}
void completed(const Comm*, double* v) TUTTI_ENGINE_OWNED {
  *v = current.process ? static_cast<double>(current.completions) : 0;
}
void wakeups(const Comm*, double* v) {
  *v = running() && process().helper ? static_cast<double>(process().helper->wakeups()) : 0;
}
void built(const Comm*, double* v) {
  *v = static_cast<double>(exec::plan_counts.built.get());
}
void reused(const Comm*, double* v) {
  *v = static_cast<double>(exec::plan_counts.reused.get());
}

// ---- memory

void idle_objects(const Comm*, double* v) {
  *v = static_cast<double>(PoolsHere::idle_bytes());
}
void kept_of_collectives(const Comm*, double* v) {
  *v = running() ? static_cast<double>(process().store->bytes()) : 0;
}
template <auto member>
void rings(const Comm*, double* v) {
  *v = running() ? static_cast<double>(process().transport->rings().*member) : 0;
}

void level(const Comm*, double* v) {
  static_assert(MPI_THREAD_MULTIPLE > 0);
  *v = running() ? process().thread_level.load() : 0;
}
void node_ranks(const Comm*, double* v) {
  *v = running() ? static_cast<double>(own_job().view().node_ranks.size()) : 0;
}
void failed(const Comm*, double* v) {
  *v = running() ? process().processes->count(members::State::failed) : 0;
}
void shared_memory(const Comm*, double* v) {
  *v = running() && process().transport->has_shared_memory();
}
void time(const Comm*, double* v) {
  *v = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr int kNone = MPI_T_BIND_NO_OBJECT, kComm = MPI_T_BIND_MPI_COMM;
const PerformanceVariable kVariables[] = {
    {"messages.sent", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kComm, false, false,
     "Messages that this process has sent to each rank of the communicator, on whatever "
     "communicator",
     of_peers, messages<true>},
    {"messages.received", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kComm, false, false,
     "Messages that have come from each rank of the communicator, on whatever communicator", of_peers, messages<false>},
    {"messages.bytes_sent", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kComm, false, false,
     "Bytes of messages that this process has sent to each other rank of the communicator while the handle was "
     "started, on whatever communicator, those of collectives included",
     of_peers, bytes<true>, Listens::traffic},
    {"messages.bytes_received", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kComm, false, false,
     "Bytes of messages that have come from each other rank of the communicator while the handle was started", of_peers,
     bytes<false>, Listens::traffic},
    {"messages.matched", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Messages on communicators that have met their receive while the handle was started", one, events<0>,
     Listens::events},
    {"messages.unexpected", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Messages on communicators that have come before their receive while the handle was started", one, events<1>,
     Listens::events},
    {"messages.tried", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Receives and messages that searches for a match have looked at; what is found at once counts nothing", one,
     tried},
    {"messages.unexpected_bytes_now", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes of the messages that have come and that no receive has matched yet", one, unexpected_bytes},
    {"messages.unexpected_now", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Messages that have come and that no receive has matched yet", one, unexpected},
    {"messages.posted_now", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Receives that are posted and that no message has matched yet", one, posted},
    {"progress.pending", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Operations under way that need progress", one, pending},
    {"progress.completed", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Requests that have completed", one, completed},
    {"progress.wakeups", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "How often the progress thread has woken", one, wakeups},
    {"collectives.plans_built", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Plans of collectives that were built", one, built},
    {"collectives.plans_reused", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Plans of collectives that were looked up and found; a call like an earlier one need not look", one, reused},
    {"collectives.started", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Collective calls that have begun in this process while the handle was started", one, events<2>, Listens::events},
    {"calls.time", MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, kNone, false, false,
     "Seconds in each function of MPI while the handle was started, an element for each in the order of the alphabet: "
     "of "
     "those that communicate, wait, or make and free objects",
     functions, time_in_calls, Listens::calls},
    {"calls.time_in_all", MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, kNone, false, false,
     "Seconds in all of these functions together", one, time_in_mpi, Listens::calls},
    {"process.thread_level", MPI_T_PVAR_CLASS_STATE, MPI_INT, kNone, true, true,
     "The thread level that MPI_Init_thread gave; none before and after", one, level},
    {"process.ranks_on_node", MPI_T_PVAR_CLASS_SIZE, MPI_UNSIGNED_LONG, kNone, true, true,
     "Ranks of the job on this node", one, node_ranks},
    {"process.failed", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Processes, of this job or of connected ones, that this one knows to have failed", one, failed},
    {"transport.shared_memory_used", MPI_T_PVAR_CLASS_SIZE, MPI_UNSIGNED_LONG, kNone, true, true,
     "1: messages on this node go through shared memory", one, shared_memory},
    {"transport.shared_memory_messages", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Messages that this process has sent through shared memory while the handle was started", one, by_way<true, false>,
     Listens::traffic},
    {"transport.shared_memory_bytes", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Bytes of these messages", one, by_way<true, true>, Listens::traffic},
    {"transport.ucx_messages", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Messages that this process has sent over UCX while the handle was started", one, by_way<false, false>,
     Listens::traffic},
    {"transport.ucx_bytes", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false, "Bytes of these messages",
     one, by_way<false, true>, Listens::traffic},
    {"memory.idle_objects", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes of requests and messages that are over, which the thread that asks keeps for its next ones", one,
     idle_objects},
    {"memory.collectives", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes of plans, and of scratch of collectives that are over, which are kept for the next ones", one,
     kept_of_collectives},
    {"memory.rings", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes of the shared rings in which this process's messages go to others of its node", one,
     rings<&transport::RingFigures::taken>},
    {"memory.rings_unread", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes in these rings that their readers have not said to have read, which they say from time to time", one,
     rings<&transport::RingFigures::unread>},
    {"memory.large_rings_lent", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Large shared rings that are lent for long messages at the moment, to all processes of the node", one,
     rings<&transport::RingFigures::lent>},
    {"process.time", MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, kNone, false, false,
     "Seconds that have passed while the handle was started", one, time},
};

}  // namespace

void Traffic::hears(const life::Event& event) {
  const auto peer = static_cast<size_t>(event.process);
  if (peer >= peers_.size()) peers_.resize(peer + 1);
  Count& count = event.what == life::Happening::message_sent ? peers_[peer].out : peers_[peer].in;
  ++count.messages;
  count.bytes += static_cast<uint64_t>(event.bytes);
}

// It lives as long as the process, as what tools have made does (performance.cpp).
Traffic& traffic() {
  static auto& only = *new Traffic;
  return only;
}

std::span<const PerformanceVariable> performance_variables() {
  return kVariables;
}

}  // namespace tutti::mpi::tool
