// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn (the standard, section 11.8): the root starts a launcher of its own, whose ranks connect to a port of
// the root's in MPI_Init. So a job that was spawned is one like others, and a program without a launcher can spawn.
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "functions.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/process/api_process.hpp"
#include "mpi/process/connection.hpp"
#include "mpi/process/launch.hpp"
#include "mpi/process/parent.hpp"
#include "mpi/process/port.hpp"

namespace tutti::mpi {
namespace {

std::mutex children_mutex;
std::map<uint64_t, Launched>& children() {  // by the communicator's context
  static auto& all = *new std::map<uint64_t, Launched>;
  return all;
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
  return command;
}

int processes_of(const Commands& commands) {
  if (!commands) return 0;
  return std::accumulate(commands->begin(), commands->end(), 0,
                         [](int sum, const Command& command) { return sum + command.ranks; });
}

Result<Socket> launch(const Commands& commands, Port& port, Launched& launched) {
  if (!commands) return failure(commands.error().mpi_class(), "{}", commands.error().message());
  // In an allocation of Slurm's its own words say where the job may run.
  const char* nodes = std::getenv("SLURM_JOB_ID") ? nullptr : std::getenv("TUTTI_ALLOCATION");
  Result<std::vector<std::string>> arguments = launcher_arguments(*commands, nodes ? nodes : "");
  if (!arguments) return std::move(arguments).error();
  Result<Launched> started = start_launcher(*arguments, port.name());
  if (!started) return std::move(started).error();
  launched = *std::move(started);
  Result<Socket> socket = port.accept(launched.life.fd());
  if (!socket || *socket) return socket;
  const std::string words = last_words(launched);
  ::waitpid(launched.pid, nullptr, 0);
  launched = {};
  return failure(MPI_ERR_SPAWN, "the processes could not be started: {}",
                 words.empty() ? "they ended before they called MPI_Init" : words);
}

// What all spawn calls are once the arguments are read, which mean something at the root alone.
Error spawn(const Commands& commands, Function function, int root, Comm& comm, MPI_Comm* intercomm, int* errcodes) {
  *intercomm = MPI_COMM_NULL;
  if (root < 0 || root >= comm.size())
    return failure(MPI_ERR_ROOT, "root {} is no rank of the communicator of {} (argument root)", root, comm.size());
  Result<std::vector<std::string>> counts = gather_texts(comm, std::to_string(processes_of(commands)), function);
  if (!counts) return std::move(counts).error();
  const int count = std::atoi((*counts)[static_cast<size_t>(root)].c_str());

  std::shared_ptr<Port> port;
  Launched launched;
  Result<Ref<Comm>> made = join_groups(comm, root, true, function, [&]() -> Result<Socket> {
    Result<std::shared_ptr<Port>> opened = Port::open();
    if (!opened) return std::move(opened).error();
    port = *std::move(opened);
    return launch(commands, *port, launched);
  });
  Error problem;
  if (made) {
    if (launched.life) {
      tell(launched, kConnected);
      const std::lock_guard lock(children_mutex);
      children()[(*made)->context()] = std::move(launched);
    }
    (*made)->handle = handle_of(**made);
    (*made)->retain();  // the handle's
    *intercomm = inventory::hand_out(**made);
  } else {
    problem = std::move(made).error();
    if (problem.mpi_class() == MPI_ERR_PORT) problem = failure(MPI_ERR_SPAWN, "{}", problem.message());
  }
  const int code = problem ? problem.mpi_class() : MPI_SUCCESS;
  if (errcodes != MPI_ERRCODES_IGNORE) std::fill_n(errcodes, count, code);
  return problem;
}

}  // namespace

void let_children_be(uint64_t context) {
  const std::lock_guard lock(children_mutex);
  const auto at = children().find(context);
  if (at == children().end()) return;
  let_be(at->second);
  children().erase(at);
}

void let_children_be() {
  const std::lock_guard lock(children_mutex);
  for (const auto& [context, launched] : children()) let_be(launched);
  children().clear();
}

Error comm_spawn(const char* command, char* argv[], int maxprocs, Info* info, int root, Comm& comm,
                 MPI_Comm* intercomm, int array_of_errcodes[]) {
  Commands commands = std::vector<Command>();
  if (comm.rank() == root) {
    Result<Command> only = command_of(command, argv == MPI_ARGV_NULL ? nullptr : argv, maxprocs, info);
    if (only)
      commands->push_back(*std::move(only));
    else
      commands = std::move(only).error();
  }
  return spawn(commands, Function::Comm_spawn, root, comm, intercomm, array_of_errcodes);
}

Error comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[], const int array_of_maxprocs[],
                          const MPI_Info array_of_info[], int root, Comm& comm, MPI_Comm* intercomm,
                          int array_of_errcodes[]) {
  Commands commands = std::vector<Command>();
  if (comm.rank() == root && count < 1) commands = failure(MPI_ERR_COUNT, "{} is no number of commands (argument count)", count);
  if (comm.rank() == root && (!array_of_commands || !array_of_maxprocs))
    commands = failure(MPI_ERR_ARG, "a list of {} commands is NULL", count);
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
  return spawn(commands, Function::Comm_spawn_multiple, root, comm, intercomm, array_of_errcodes);
}

}  // namespace tutti::mpi
