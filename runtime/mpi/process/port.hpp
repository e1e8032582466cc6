// SPDX-License-Identifier: BSD-3-Clause
// Ports (the standard, section 11.9.2): a TCP socket of this process that listens. Its name says where it is and holds
// a secret, which whoever connects proves to know without sending it; so does this side. Who cannot is sent away, and
// nobody who connects can keep others waiting for long.
//
//   tutti://HOST/ADDRESS,ADDRESS/PORT/SECRET/JOB.RANK
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "mpi/process/socket.hpp"

namespace tutti::mpi::processes {

struct PortName {
  std::string host;                    // as that machine calls itself
  std::vector<std::string> addresses;  // numeric, no loopback
  int port = 0;
  std::string secret;  // in hexadecimal digits
  std::string owner;   // job and rank; a name without them is good, too

  std::string text() const;
  static Result<PortName> parse(std::string_view text);  // an error says what is no port's name
};

using TimeLimit = std::optional<std::chrono::milliseconds>;  // nullopt: for ever

class Greetings;

class Port {
 public:
  Port();
  ~Port();
  static Result<std::shared_ptr<Port>> open();

  const std::string& name() const { return name_; }
  // The next one who knows the secret. `or_else`: a descriptor that becomes readable when it is no use to wait any
  // longer, or -1; then the result is an empty socket. `patience`: an error if nobody has come by then.
  Result<Socket> accept(int or_else = -1, TimeLimit patience = std::nullopt);

 private:
  Result<bool> greet(int or_else, Deadline deadline) TUTTI_REQUIRES(greeting_);

  Socket listener_;
  std::string name_;
  TimedMutex greeting_;
  std::unique_ptr<Greetings> greetings_ TUTTI_GUARDED_BY(greeting_);
};

// An error that says why nobody can be reached there, or that nobody has accepted in time. `awaited`: is told of a process
// of this job whose port it is and that does not accept (beside.hpp). `gives_up`: as Socket::give_up_with() says.
Result<Socket> connect_to_port(const std::string& name, TimeLimit patience = std::nullopt,
                               std::atomic<int>* awaited = nullptr, int gives_up = -1);

}  // namespace tutti::mpi::processes
