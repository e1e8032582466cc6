// SPDX-License-Identifier: BSD-3-Clause
// What is known about a job before its ranks start, and what a node must know to start its part.
// Plain data; the same in the launcher and in the daemons.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/data/rank_map.hpp"
#include "launcher/place/placement.hpp"
#include "launcher/place/topology.hpp"

namespace tutti::launcher {

struct App {
  std::vector<std::string> command;
  std::string folder;                  // absolute; as the user's shell calls it
  std::string real_folder;             // the same without symbolic links, for nodes that have no such name; or empty
  std::vector<std::string> variables;  // "NAME=value", on top of the job's environment
};

struct JobMap {
  std::string id;                  // names the job's files: tutti.<id>.*
  std::vector<std::string> nodes;  // names, each once
  std::vector<int> slots;          // of each node
  std::vector<int> rank_cores;     // of each node: what Slurm was asked for each rank; 0: nothing
  std::vector<App> apps;
  RankMap ranks;

  std::vector<int> ranks_on(int node) const { return ranks.on(node); }
};

struct NodeTask {
  JobMap map;
  std::string key;     // what a rank must know to be one, and nobody else can: the namespace ends in it
  std::string parent;  // who has spawned the job by PMIx, "namespace:rank"; empty: nobody
  int node = 0;
  std::vector<std::string> environment;  // of every rank, "NAME=value"
  // Where the jobs that this one spawns may run, with the slots: empty where that is the own node alone.
  std::vector<std::string> allocation;
  std::vector<int> allocation_slots;
  MapPolicy policy;
  BindTo bind_to = BindTo::automatic;
  bool report_bindings = false;
  bool foreign_mpi = false;             // start programs that are built for another MPI
  bool rank_variables = true;           // ranks find their numbers in their environment
  int input_rank = 0;                   // which reads standard input; -1: none
  int pmix_ranks = 0;                   // a job of more ranks is not described to PMIx rank by rank
  int gpus_per_rank = 0;                // 0: nothing is said of GPUs
  std::string processors;               // --cpu-set: those of each node that may be used; empty: all that are allowed
  std::vector<std::string> rank_slots;  // of each rank, in words of a rankfile; none: nothing is said
  bool shares_cores = false;            // other jobs of this user may have the same cores
  std::vector<std::string> files;       // --preload-files, and programs of --preload-binary: their names
  std::chrono::nanoseconds kill_grace{0};
};

// How the ranks of a node are bound. Without a word from --map-by a rank has as many cores as Slurm was
// asked for, or as OMP_NUM_THREADS says. Slurm may count hardware threads, and there may be more ranks than
// tasks: then all have an equal share.
inline MapPolicy policy_on(const NodeTask& task, int node, const Topology& topology) {
  MapPolicy policy = task.policy;
  const auto at = static_cast<size_t>(node);
  const int asked = at < task.map.rank_cores.size() ? task.map.rank_cores[at] : 0;
  const int ranks = task.map.ranks.count_on(node);
  if (!policy.cores_given && asked > 0 && ranks > 0)
    policy.cores_per_rank = std::max(1, std::min(asked, topology.allowed_cores() / ranks));
  return policy;
}

// The rank that stands for all of them, where standard input is for all.
inline constexpr int kEveryRank = -2;

// Names of a job's files begin so, in TMPDIR and in /dev/shm.
inline constexpr std::string_view kJobPrefix = "tutti.";
inline std::string job_prefix(const std::string& id) {
  return std::string(kJobPrefix) + id + ".";
}
// Its name for PMIx. Whoever knows it may ask to be let in, and the job's number is no secret: files, sockets and lists
// show it. The key is in the environment of the ranks alone.
inline std::string namespace_of(const NodeTask& task) {
  return job_prefix(task.map.id) + task.key;
}
inline constexpr const char* kJobVariable = "TUTTI_JOB";
inline constexpr const char* kLauncherVariable = "TUTTI_LAUNCHER";  // the host that mpirun is on

}  // namespace tutti::launcher
