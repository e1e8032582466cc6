// SPDX-License-Identifier: BSD-3-Clause
// What a starting daemon is told on its standard input: lines "key value", up to "end". The secret
// is among them, so that it stands on no command line and in no file.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/secret.hpp"
#include "launcher/data/wire.hpp"

namespace tutti::launcher {

struct DaemonStart {
  struct Node {
    int number = 0;  // among the hosts of the allocation
    std::string name;
    int place = -1;  // Host::place; known at the launcher alone
  };
  // Where to attach to the launcher, or to a daemon in between.
  struct Ancestor {
    int port = 0;
    std::vector<std::string> addresses;  // to be tried in order
  };
  std::string job_id;
  std::vector<Node> nodes;  // one; several where one text goes to all daemons (srun's input)
  std::vector<Node> below;  // those that this one starts in its turn
  std::string rsh;          // the command for that
  int fan_out = 1;          // how many it starts itself
  // The job goes on without ranks and nodes that fail: how often these say that they live; 0: it does not.
  std::chrono::nanoseconds heartbeat{0};
  Ancestor above;                   // who has started it
  std::vector<Ancestor> ancestors;  // above that one up to mpirun, where the job goes on
  std::chrono::nanoseconds connect_timeout{0}, node_timeout{0};
  Secret secret;
};

std::string write_start(const DaemonStart& start);
Result<DaemonStart> read_start(int fd);
// Which of them the reader is; by Slurm's word where there are several.
Result<DaemonStart::Node> own_node(const DaemonStart& start);

// What both sides prove their knowledge of the secret over.
std::string daemon_claim(const std::string& challenge, const std::string& nonce, int node);
std::string launcher_claim(const std::string& challenge, const std::string& nonce, int node);

// The command for a remote shell, whatever shell that is.
std::string quoted(const std::string& word);

}  // namespace tutti::launcher
