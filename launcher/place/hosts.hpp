// SPDX-License-Identifier: BSD-3-Clause
// Which nodes a job may use: --host, --hostfile, a Slurm allocation, or this machine. Names only;
// how many cores a node without a number of slots has is learnt when its daemon reports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/place/run_options.hpp"

namespace tutti::launcher {

struct Host {
  std::string name;
  std::optional<int> slots;             // absent: as many as the node has cores that we may use
  bool own = false;                     // this machine: no ssh
  std::optional<int> max_slots{};       // that more ranks than slots must not exceed
  std::optional<int> cores_per_rank{};  // as Slurm was asked: that many for each slot
  int place = -1;                       // among the nodes of a scheduler whose remote shell wants it
  int het_group = -1;                   // of a heterogeneous job of Slurm's; -1: none
  bool operator==(const Host&) const = default;
};

// Lines "name", "name slots=N max_slots=N", "name:N"; '#' begins a comment; a name may come again
// and adds up.
// `file` is for messages.
Result<std::vector<Host>> parse_hostfile(std::string_view text, std::string_view file);
// The same, each line for itself.
Result<std::vector<Host>> parse_host_lines(std::string_view text, std::string_view file);
Result<Host> parse_host(std::string_view word);  // "name" or "name:slots"

struct Allocation {
  std::vector<Host> hosts;                  // the job's nodes, in order, each once
  std::vector<std::vector<int>> app_hosts;  // for each program the hosts that it may use
  // --map-by seq and rankfile: for each program the host of each rank; and of all ranks what the rankfile says of cores.
  std::vector<std::vector<int>> sequences;
  std::vector<std::string> rank_slots;
  std::string map_by;         // as the scheduler was asked, where nobody has told mpirun
  std::string remote_shell;   // of another scheduler that holds them all; empty: none
  std::string scheduler;      // another one whose job this is; empty: none that is known
  bool within_slurm = false;  // a Slurm allocation holds them all: its srun reaches them
};
Result<Allocation> allocate(const RunOptions& run);

std::string own_name();
// Host name, localhost, an address of ours, or what resolves to one.
bool is_own_name(const std::string& name);
// Names of hosts are the same in capitals, and with the dot at the end that the root has.
bool same_name(std::string_view a, std::string_view b);
// This machine's addresses, those that others can reach first; no loopback.
std::vector<std::string> own_addresses();

}  // namespace tutti::launcher
