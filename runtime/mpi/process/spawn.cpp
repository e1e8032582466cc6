// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn (the standard, section 11.8): the root starts a launcher of its own, whose ranks connect to a port of
// the root's in MPI_Init. So a job that was spawned is one like others, and a program without a launcher can spawn.
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "base/fault_point.hpp"
#include "base/mutex.hpp"
#include "base/spawned.hpp"
#include "boot/joining.hpp"
#include "functions.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/process/api_process.hpp"
#include "mpi/process/connection.hpp"
#include "mpi/process/launch.hpp"
#include "mpi/process/parent.hpp"
#include "mpi/process/port.hpp"
#include "mpi/process/spawn_hints.hpp"

namespace tutti::mpi::processes {
namespace {

// The jobs that this process has started. They are never destroyed, because threads of the program may be in calls of
// MPI while it exits.
struct Children {
  Mutex mutex;
  std::map<uint64_t, Launched> launched TUTTI_GUARDED_BY(mutex);  // by the communicator's context
};
Children& children() {
  static auto& only = *new Children;
  return only;
}

// To the launcher (launcher/run.cpp): from here on it speaks for itself; it is on its own.
constexpr char kConnected = 'C', kFarewell = 'L';

void tell(const Launched& launched, char word) {
  [[maybe_unused]] const ssize_t n = ::send(launched.life.fd(), &word, 1, MSG_NOSIGNAL);
}

void let_be(const Launched& launched) {
  tell(launched, kFarewell);
  // If it has ended; else it is init's once this process has.
  ::waitpid(launched.pid, nullptr, WNOHANG);
}

// The root's arguments, or what is wrong with them.
using Commands = Result<std::vector<Command>>;

Error add_argv(char* const* argv, Command& command) {
  for (size_t i = 0; argv && argv[i]; ++i) command.arguments.emplace_back(argv[i]);
  return {};
}

Result<Command> command_of(const char* program, char* const* argv, int ranks, const Info* info) {
  if (!program || !*program) return failure(MPI_ERR_ARG, "the command is empty (argument command)");
  if (ranks < 0) return failure(MPI_ERR_ARG, "{} is no number of processes (argument maxprocs)", ranks);
  if (ranks == 0) return failure(MPI_ERR_SPAWN, "no processes are asked for (argument maxprocs)");
  Command command{.program = program, .arguments = {}, .ranks = ranks, .hints = {}};
  if (info) command.hints = info->entries();
  if (Error e = add_argv(argv, command)) return e;
  if (Error e = add_hints_of_file(command)) return e;
  return command;
}

// Starts that many processes of each. An empty socket, and the launcher's words: it has ended.
struct Attempt {
  Socket socket;
  std::string words;
  int exit_code = 0;
};
Result<Attempt> attempt(const std::vector<Command>& commands, Port& port, Launched& launched) {
  // In an allocation of Slurm's its own words say where the job may run.
  const char* nodes = std::getenv("SLURM_JOB_ID") ? nullptr : std::getenv("TUTTI_ALLOCATION");
  Result<std::vector<std::string>> arguments = launcher_arguments(commands, nodes ? nodes : "");
  if (!arguments) return std::move(arguments).error();
  Result<Launched> started = start_launcher(*arguments, port.name());
  if (!started) return std::move(started).error();
  launched = *std::move(started);
  TUTTI_FAULT_POINT("spawn.launched");
  Result<Socket> socket = port.accept(launched.life.fd());
  if (!socket) return std::move(socket).error();
  Attempt made{.socket = *std::move(socket), .words = {}};
  TUTTI_FAULT_POINT("spawn.accepted");
  if (made.socket) return made;
  made.words = last_words(launched);
  int status = 0;
  ::waitpid(launched.pid, &status, 0);
  made.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  launched = {};
  return made;
}

// As many processes as there are slots for, of those numbers that will do. Leaves in `commands` how many they are.
Result<Socket> launch(Commands& commands, Port& port, Launched& launched) {
  if (!commands) return failure(commands.error().mpi_class(), "{}", commands.error().message());
  if (std::getenv("SLURM_STEP_ID") && boot::pmix_offered() && !own_job().view().own_launcher)
    return failure(MPI_ERR_SPAWN,
                   "srun has started this job, and Slurm's PMIx server starts no processes for it, nor is there room "
                   "beside its step: start the program by mpirun, in the same allocation (salloc or sbatch)");
  std::vector<std::vector<int>> fewer;  // by command: what else will do, the largest last
  for (Command& command : *commands) {
    Result<std::vector<int>> numbers = numbers_that_will_do(command);
    if (!numbers) return std::move(numbers).error();
    command.ranks = numbers->front();
    fewer.emplace_back(numbers->rbegin(), std::prev(numbers->rend()));
  }
  for (;;) {
    Result<Attempt> made = attempt(*commands, port, launched);
    if (!made) return std::move(made).error();
    if (made->socket) return std::move(made->socket);
    // The one that asks for the most gives way first.
    int most = -1;
    for (size_t i = 0; i < fewer.size(); ++i)
      if (!fewer[i].empty() && (most < 0 || (*commands)[i].ranks > (*commands)[static_cast<size_t>(most)].ranks))
        most = static_cast<int>(i);
    if (made->exit_code != kTooFewSlotsExitCode || most < 0)
      return failure(MPI_ERR_SPAWN, "the processes could not be started: {}",
                     made->words.empty() ? "they ended before they called MPI_Init" : made->words);
    (*commands)[static_cast<size_t>(most)].ranks = fewer[static_cast<size_t>(most)].back();
    fewer[static_cast<size_t>(most)].pop_back();
  }
}

// "3 2": of each command.
std::string counts_text(const Commands& commands) {
  std::string text;
  for (size_t i = 0; commands && i < commands->size(); ++i) text += fmt::format(" {}", (*commands)[i].ranks);
  return text;
}

std::string asked_text(int count, const int* processes) {
  std::string text;
  for (int i = 0; processes && i < count; ++i) text += fmt::format(" {}", std::max(processes[i], 0));
  return text;
}

// Of `asked` processes of each command, the first `started` are there.
void fill_codes(const std::string& asked, const std::string& started, int code, int* codes) {
  std::istringstream of_asked(asked), of_started(started);
  for (int n = 0, there = 0; of_asked >> n; there = 0) {
    of_started >> there;
    for (int i = 0; i < n; ++i) *codes++ = code != MPI_SUCCESS ? code : i < there ? MPI_SUCCESS : MPI_ERR_SPAWN;
  }
}

// What all spawn calls are once the arguments are read, which mean something at the root alone.
Error spawn(Commands commands, const std::string& asked_here, Function function, int root, Comm& comm,
            MPI_Comm* intercomm, int* errcodes) {
  *intercomm = MPI_COMM_NULL;
  if (root < 0 || root >= comm.size())
    return failure(MPI_ERR_ROOT, "root {} is no rank of the communicator of {} (argument root)", root, comm.size());
  Result<std::vector<std::string>> counts = gather_texts(comm, asked_here, function);
  if (!counts) return std::move(counts).error();
  const std::string& asked = (*counts)[static_cast<size_t>(root)];

  std::shared_ptr<Port> port;
  Launched launched;
  Result<Ref<Comm>> made = join_groups(comm, root, true, function, [&](int) -> Result<Socket> {
    Result<std::shared_ptr<Port>> opened = Port::open();
    if (!opened) return std::move(opened).error();
    port = *std::move(opened);
    return launch(commands, *port, launched);
  });
  Error problem;
  if (made) {
    if (launched.life) {
      TUTTI_FAULT_POINT("spawn.joined");
      tell(launched, kConnected);
      const Lock lock(children().mutex);
      children().launched[(*made)->context()] = std::move(launched);
    }
    (*made)->handle = handle_of(**made);
    (*made)->retain();  // the handle's
    *intercomm = inventory::hand_out(**made);
  } else {
    problem = std::move(made).error();
    if (problem.mpi_class() == MPI_ERR_PORT) problem = failure(MPI_ERR_SPAWN, "{}", problem.message());
  }
  std::string started = counts_text(commands);
  if (!problem) problem = spread_text(comm, root, started);
  if (errcodes != MPI_ERRCODES_IGNORE)
    fill_codes(asked, started, problem ? problem.mpi_class() : MPI_SUCCESS, errcodes);
  return problem;
}

}  // namespace

void let_children_be(uint64_t context) {
  const Lock lock(children().mutex);
  const auto at = children().launched.find(context);
  if (at == children().launched.end()) return;
  let_be(at->second);
  children().launched.erase(at);
}

void await_launcher(uint64_t context) {
  constexpr int kPatience = 2000;  // milliseconds
  int life = -1;
  {
    const Lock lock(children().mutex);
    if (const auto at = children().launched.find(context); at != children().launched.end())
      life = ::dup(at->second.life.fd());
  }
  const Socket own(life);
  pollfd one{life, POLLIN, 0};
  if (life >= 0) ::poll(&one, 1, kPatience);
}

void let_children_be() {
  const Lock lock(children().mutex);
  for (const auto& [context, launched] : children().launched) let_be(launched);
  children().launched.clear();
}

Error comm_spawn(const char* command, char* argv[], int maxprocs, Info* info, int root, Comm& comm, MPI_Comm* intercomm,
                 int array_of_errcodes[]) {
  Commands commands = std::vector<Command>();
  if (comm.rank() == root) {
    Result<Command> only = command_of(command, argv == MPI_ARGV_NULL ? nullptr : argv, maxprocs, info);
    if (only)
      commands->push_back(*std::move(only));
    else
      commands = std::move(only).error();
  }
  return spawn(std::move(commands), asked_text(1, &maxprocs), Function::Comm_spawn, root, comm, intercomm,
               array_of_errcodes);
}

Error comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[], const int array_of_maxprocs[],
                          const MPI_Info array_of_info[], int root, Comm& comm, MPI_Comm* intercomm,
                          int array_of_errcodes[]) {
  Commands commands = std::vector<Command>();
  if (comm.rank() == root && count < 1)
    commands = failure(MPI_ERR_COUNT, "{} is no number of commands (argument count)", count);
  if (comm.rank() == root && (!array_of_commands || !array_of_maxprocs))
    commands = failure(MPI_ERR_ARG, "a list of {} command{} is NULL", count, count == 1 ? "" : "s");
  for (int i = 0; comm.rank() == root && commands && i < count; ++i) {
    const Info* info = array_of_info && array_of_info[i] != MPI_INFO_NULL ? resolve<Info>(array_of_info[i]) : nullptr;
    if (array_of_info && array_of_info[i] != MPI_INFO_NULL && !info) {
      commands = failure(MPI_ERR_INFO, "entry {} is no info (argument array_of_info)", i);
      break;
    }
    char** const argv = array_of_argv == MPI_ARGVS_NULL ? nullptr : array_of_argv[i];
    Result<Command> next = command_of(array_of_commands[i], argv, array_of_maxprocs[i], info);
    if (next)
      commands->push_back(*std::move(next));
    else
      commands = std::move(next).error();
  }
  const std::string asked = comm.rank() == root ? asked_text(count, array_of_maxprocs) : "";
  return spawn(std::move(commands), asked, Function::Comm_spawn_multiple, root, comm, intercomm, array_of_errcodes);
}

}  // namespace tutti::mpi::processes
