// SPDX-License-Identifier: BSD-3-Clause
// The transport over UCX active messages: shared memory, tcp, whatever the machine has. Peers are
// connected on the first message to them. Short messages over tcp are ucx_short.hpp's; nobody else
// includes UCX's headers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/os/machine.hpp"
#include "base/result.hpp"
#include "transport/transport.hpp"

namespace tutti::members {
class Processes;
}

namespace tutti::transport {

struct UcxOptions {
  std::string tls;             // UCX_TLS; empty: UCX's choice, or the user's environment
  bool between_nodes = false;  // some peers are on other nodes
  // All peers are at the other end of the loopback device: others on the network need not reach this process. Where
  // the user names devices (UCX_NET_DEVICES) these are taken.
  bool loopback = false;
  bool dev_shm = true;   // it may take 4 MiB there by its own choice, without which it cannot start
  bool segments = true;  // … or else of System V, which the user's group may read and write
  // A peer cannot be reached at all: what waits for it would do so for ever. Should not return.
  std::function<void(int process, const Error& why)> no_way;
  bool survives = false;  // those of the own job are as those of others: their end is an error of what was sent
  // Tells whose end is no reason for this process to end, but an error of what was sent: those of other jobs; and is told
  // of connections to these that break. Outlives the transport. nullptr: there are none.
  members::Processes* members = nullptr;
};

class Ucx : public Transport {
 public:
  // The worker address of a process, asked once for each peer, when it is first sent to.
  using AddressBook = std::function<Result<std::string>(int process)>;

  // Opens UCX. Errors name what UCX said.
  static Result<std::unique_ptr<Ucx>> open(const UcxOptions& options);

  // Where that of UcxOptions::loopback listens; not known: nowhere, or at the devices that the user names.
  static NetworkPlace loopback_place();

  // An idle tcp endpoint makes each poll of UCX cost half a microsecond.
  int longest_patience() const final { return 1024; }
  const char* name() const final { return "UCX"; }

  virtual const std::string& address() const = 0;  // of my worker: bytes to publish
  virtual void set_address_book(AddressBook book) = 0;
  // It is of another job, or of one that goes on without it, and has been reported to have failed, which is told once: what
  // is under way to it and from it has an error now.
  virtual void lose(int peer) = 0;
};

}  // namespace tutti::transport
