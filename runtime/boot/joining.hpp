// SPDX-License-Identifier: BSD-3-Clause
// Joining the job: who I am, who else there is, how their addresses are found. Over PMIx when a
// launcher offers it (mpirun, srun --mpi=pmix), alone when there is no launcher. Reads only keys
// that every PMIx server is known to give. Refuses to run as N jobs of one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tutti::members {
class Processes;
}

namespace tutti::boot {

// How the job of a rank without a launcher is called; its process number follows.
inline constexpr std::string_view kSingleton = "singleton";

// Constant after join().
struct JobInfo {
  std::string id{kSingleton};  // unique on the node at any time
  int rank = 0;                // = process id
  int size = 1;
  int universe_size = 0;           // 0: nobody said
  int application = 0;             // index among the programs of an MPMD job
  std::string host;                // this node's name
  std::vector<int> node_ranks{0};  // the job's ranks on this node, ascending, mine among them
  // Tutti's own: it removes the job's files if it is killed, and prints what abort() says.
  bool own_launcher = false;
};

class Membership {
 public:
  virtual ~Membership() = default;

  // Blocks until the launcher has answered.
  static Result<std::unique_ptr<Membership>> join();

  const JobInfo& view() const { return view_; }

  // Makes my transport address known to all; collective over the job.
  virtual Error publish(const std::string& address) = 0;
  // Returns when all ranks of the job have called it.
  virtual Error fence() = 0;
  // A word to the other ranks of this node, once, before publish() or fence(); and what one of them
  // has told, which is waited for.
  virtual Error tell_node(const std::string& word) = 0;
  virtual Result<std::string> told_by(int rank) = 0;
  // Of a process that has published. Under Tutti's launcher the first question of a node's ranks brings the addresses
  // of all into memory that they share; under others each is a round trip to this node's server, and maybe by it to
  // that process' node. Any thread.
  virtual Result<std::string> address_of(int rank) = 0;
  // By rank: a number that exactly the ranks of one node share. The same on all ranks; empty where
  // the launcher does not say. Some round trips to the node's server. Any thread.
  virtual std::vector<int> nodes() = 0;
  // From here on what the launcher tells of the ends of ranks is reported there, until leave().
  virtual void report_ends(members::Processes& members) = 0;
  // Tells the launcher that I leave in good order; no call after it.
  virtual void leave() = 0;
  // Ends the job with this exit code, when the program's streams are written out or their time is
  // over (flush_streams). Any thread.
  [[noreturn]] virtual void abort(int code, const std::string& message) = 0;

 protected:
  JobInfo view_;
};

// Cores that the ranks of this node may use together: the launcher's word, or else what affinity
// and the cgroup's quota leave. At least 1.
int allowed_cores();

// The process ids that the launcher and other ranks of this node know of each other are those that
// this process sees, too. False where that cannot be told.
bool sees_processes_of_node();

// The launcher's server for this node listens at the loopback device, by which therefore all ranks of the node reach
// each other: none of them began in a network namespace of its own.
bool ranks_share_loopback();

// Implemented in pmix.cpp: the environment names a PMIx server; join() asks these.
bool pmix_offered();
Result<std::unique_ptr<Membership>> join_pmix();

}  // namespace tutti::boot
