// SPDX-License-Identifier: BSD-3-Clause
// Those who have connected to a port and prove, all at the same time, that they know its secret. Who proves nothing is
// sent away, soon where many come, and keeps nobody waiting. Who has waits for its turn, maybe through several calls of
// MPI_Comm_accept. Not safe from several threads at once.
//
//   connects           accepts
//   nonce        ->
//                <-    nonce, proof
//   proof        ->                        it is known now
//                <-    "accepted"          its turn has come
#pragma once

#include <poll.h>

#include <atomic>
#include <list>
#include <string>
#include <vector>

#include "base/os/peer_owner.hpp"
#include "mpi/process/socket.hpp"

namespace tutti::mpi::processes {

class Greetings {
 public:
  explicit Greetings(std::string secret) : secret_(std::move(secret)) {}

  // Room for one more, where someone may have to go for that.
  bool make_room();
  void add(Socket socket);
  // What is to be waited for, behind what is there; and hearing it, from the first of these on. Then sends away whose time
  // is over.
  void watch(std::vector<pollfd>& list) const;
  void hear(const pollfd* first);
  // The first of those who are known, and are there.
  Socket take();
  // When to call hear() again, though nobody has said anything; empty: never.
  Deadline next() const;

 private:
  enum class Stage { nonce, proof, known };
  struct Guest {
    Socket socket;
    Newcomer who;
    Stage stage = Stage::nonce;
    std::string received, theirs, mine;
  };
  bool listen_to(Guest& guest) const;
  bool understand(Guest& guest, const std::string& message) const;

  const std::string secret_;
  std::list<Guest> guests_;
};

// The other side of it; returns when its turn has come. `awaited` (beside.hpp), if any, becomes kNobody when the side that
// accepts has answered: from then on that is at it.
Error greet_as_client(Socket& socket, const std::string& secret, Deadline deadline, std::atomic<int>* awaited);

}  // namespace tutti::mpi::processes
