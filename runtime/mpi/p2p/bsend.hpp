// SPDX-License-Identifier: BSD-3-Clause
// The buffer of buffered sends (the standard, section 3.6): keeps a copy of each message until it
// has left. One for the process, and one for each communicator and session that the program attaches one
// to: the nearest one holds.
#pragma once

#include <list>
#include <memory>

#include "base/engine_owned.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/request/request.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

class SendBuffer {
 public:
  Error attach(void* memory, int64_t size) TUTTI_ENGINE_NOT_OWNED;
  // Waits until every message has left; then the memory is the caller's again.
  Error detach(void*& memory, int64_t& size) TUTTI_ENGINE_NOT_OWNED;
  void flush() TUTTI_ENGINE_NOT_OWNED;
  // The request is complete when every message that is in the buffer now has left.
  Error start_flush(MPI_Request* request) TUTTI_ENGINE_NOT_OWNED;

  // Copies the message into the buffer and sends it from there.
  Error send(const void* data, int64_t count, Datatype& type, int dest, int tag, Comm& comm) TUTTI_ENGINE_OWNED;

 private:
  struct Message;
  class Flush;
  using Position = std::list<Message>::iterator;
  void drain() TUTTI_ENGINE_OWNED;
  void forget(Position gone) TUTTI_ENGINE_OWNED;
  std::byte* find_room(int64_t bytes, Position& before) TUTTI_ENGINE_OWNED;
  std::byte* find_room(int64_t bytes, Position& before, Position end) TUTTI_ENGINE_OWNED;

  bool attached_ TUTTI_OWNERS = false;
  bool automatic_ TUTTI_OWNERS = false;  // MPI_BUFFER_AUTOMATIC: each message has memory of its own
  std::byte* memory_ TUTTI_OWNERS = nullptr;
  int64_t size_ TUTTI_OWNERS = 0;
  std::list<Message> messages_ TUTTI_OWNERS;        // under way, by address
  Position latest_ TUTTI_OWNERS = messages_.end();  // the search for room goes on behind it
  uint64_t sent_ TUTTI_OWNERS = 0;                  // messages so far
  std::list<Flush*> flushes_ TUTTI_OWNERS;          // under way
};

struct SendBuffer::Message {
  engine::SendOperation op;
  std::byte* data = nullptr;
  int64_t bytes = 0;
  uint64_t number = 0;
  std::unique_ptr<std::byte[]> own;  // the data's memory in an automatic buffer
  Ref<Comm> comm;
  SendBuffer* buffer = nullptr;
  std::list<Message>::iterator self;
};

SendBuffer& send_buffer();  // the process'
// The one for messages on `comm`: its own, that of its session, or the process'.
SendBuffer& send_buffer_for(Comm& comm) TUTTI_ENGINE_OWNED;

}  // namespace tutti::mpi
