// SPDX-License-Identifier: BSD-3-Clause
// The transport between the ranks of one node: rings in a shared segment (ring.hpp,
// node_segment.hpp), one for each ordered pair that talks. Which way a message takes is told by the
// tables of ways.hpp, by its length and by what has been learnt of the peer (learnt.hpp). The ways:
//
//   in one record   header and payload together
//   in pieces       a record with the first piece, then the rest in fragments, so that the receiver
//                   copies out while the sender still copies in
//   announced       the header alone. Its receiver has the bytes come in one of four ways:
//     read            from the sender's memory, where the kernel allows that: then nobody but the
//                     receiver need progress
//     from both ends  two processors copy faster than one: a sender that is there as well writes
//                     the back of the message into the receiver's memory meanwhile
//     streamed        where that has shown itself to be faster, the sender is asked to send a part
//                     at a time through a ring, and the receiver reads the rest itself when it lets
//                     it wait
//     sent            the sender is asked for all of it, through a ring, where it cannot be read
//
// A ring that is full makes no caller wait: what does not fit is kept back, in order, and written
// by progress(). No allocation, lock or system call for a short message to a receiver that is
// awake.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/peer_copies.hpp"
#include "transport/shared/node_areas.hpp"
#include "transport/transport.hpp"

namespace tutti::members {
class Processes;
}

namespace tutti::transport {

class WordBells;

struct SharedMemoryOptions {
  std::string name;            // of the segment: the same for all ranks of the node
  int file = -1;               // instead of the name: NodeSegment::make_file() or open_file()
  std::vector<int> processes;  // the process ids that share it, ascending
  int process = 0;             // mine, among them
  bool read_peers = true;      // long messages by reading the sender's memory, where allowed
  bool try_rings = true;       // through a ring where that is found to be faster
  bool both_copy = true;       // each process has a core: two may be busy with one message
  // A message can never leave, and its receiver waits for it: ends the job. Without one the message
  // ends with the error.
  std::function<void(int process, const Error& why)> no_way;
  bool survives = false;  // processes may fail and the others go on: lose()
  // Is told of processes that turn out to be gone. Outlives the transport. nullptr: nobody is.
  members::Processes* members = nullptr;
};

// The rings at this moment, as far as this process knows them.
struct RingFigures {
  size_t taken = 0;   // bytes of those to other processes that this one has connected to
  size_t unread = 0;  // bytes in these that their readers have not said to have left
  int lent = 0;       // large ones of the node, to whomever
};

class SharedMemory : public Transport, public PeerCopies {
 public:
  static Result<std::unique_ptr<SharedMemory>> open(const SharedMemoryOptions& options);

  const char* name() const final { return "shared memory"; }
  // All processes have opened it. Once they have had the chance (a fence), it stays as it is.
  virtual bool complete() const = 0;
  // What the processes of the node call last, when this is gone: returns when all of them do
  // (parting.hpp).
  virtual std::function<void()> parting() const = 0;
  // Processes of which it keeps anything: those that this one has spoken to, or that have spoken to it.
  virtual size_t peers() const = 0;
  virtual RingFigures rings() const = 0;
  // Removes the segment's name, which remains while it is incomplete.
  virtual void forget_name() const = 0;

  // Of a thread that does not own the engine: whoever sleeps there looks at everything once more.
  virtual void wake_own() = 0;
  // It has failed, which is told once: what it has sent whole is handed over, and the rest of what is under way to it and
  // from it has an error of this class now, or when it is fetched.
  virtual void lose(int process, int mpi_class) TUTTI_ENGINE_OWNED = 0;
  // What the processes of a communicator, by rank, share for collectives (node_areas.hpp).
  virtual std::unique_ptr<Area> area_for(const AreaKey& key, const std::vector<int>& processes, int rank) = 0;
  // Of one that has an area here (node_areas.hpp).
  virtual std::byte* ballot_memory(const AreaKey& key, size_t bytes) = 0;
  // This process has the communicator no more, and has not asked for its area, since members have failed.
  virtual void decline_area(const AreaKey& key) = 0;
  // Wakes these, by their places, where they wait for words in other memory that they share (word_bells.hpp).
  virtual std::unique_ptr<WordBells> bells_for(const std::vector<int>& processes) const = 0;
};

}  // namespace tutti::transport
