// SPDX-License-Identifier: BSD-3-Clause
// Starting another job: the words of MPI_Comm_spawn as a command line of Tutti's launcher, and the launcher as a child
// of this process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "mpi/object/info.hpp"
#include "mpi/process/socket.hpp"

namespace tutti::mpi::processes {

// One program of a job, as the root has given it.
struct Command {
  std::string program;
  std::vector<std::string> arguments;
  int ranks = 0;
  std::vector<Info::Entry> hints;
};

// What stands behind "mpirun". Errors: hints that cannot be met, and what no command line can say.
// `nodes`: "node1:2,node2:2", where the parents' job may run; empty: this machine.
Result<std::vector<std::string>> launcher_arguments(const std::vector<Command>& commands, const std::string& nodes);

struct Launched {
  Socket life;  // ends with the launcher, which ends its job when this end closes, unless it was told otherwise
  int pid = 0;
};
// `port`: where its ranks find their parents.
Result<Launched> start_launcher(const std::vector<std::string>& arguments, const std::string& port);
// What the launcher has said before it ended; waits for that.
std::string last_words(const Launched& launched);

}  // namespace tutti::mpi::processes
