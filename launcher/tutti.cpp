// SPDX-License-Identifier: BSD-3-Clause
// The command `tutti`; called mpirun or mpiexec it is `tutti run`.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/log.hpp"
#include "base/nearest.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/fortran.hpp"
#include "launcher/ask/why.hpp"
#include "launcher/node/limits.hpp"
#include "launcher/profile_command.hpp"
#include "launcher/run.hpp"
#include "launcher/tune/tune.hpp"

namespace {

constexpr const char* kHelp =
    "Usage: tutti run [options] program [arguments]   start a parallel program (mpirun, mpiexec)\n"
    "       tutti info [--config | --api | --version] what is installed, set, and not implemented\n"
    "       tutti why [--json] [--record A B | --dump A] [--user NAME] [job]\n"
    "                                                 what the ranks of a running job are doing\n"
    "       tutti top [--once] [--json] [--interval SECONDS] [job]\n"
    "                                                 the same, live in the terminal\n"
    "       tutti fortran [--fc=COMMAND] [--cc=COMMAND] [--to=FOLDER | --system]\n"
    "                                                 build the modules of MPI for a Fortran compiler\n"
    "       tutti jobs [--json | --names]             your running jobs on this machine\n"
    "       tutti doctor [--json] [--host NAMES]      whether this machine and the nodes of the\n"
    "                                                 allocation have what jobs need\n"
    "       tutti profile FILE [--compare OTHER] [-o NEW.html]\n"
    "                                                 where the time of a job went, and what is slower\n"
    "       tutti plan COLLECTIVE --ranks N [options] what a collective call would do, step by step,\n"
    "                                                 and how long it takes by a model\n"
    "       tutti tune [-o FILE] [--print]            which choices are faster on this machine than those\n"
    "                                                 that are shipped, as settings\n"
    "       tutti report [-o FILE] [--job JOB] [-- command]\n"
    "                                                 what a report of a fault needs, without names\n"
    "       tutti version                             the version\n"
    "       tutti help [command]                      this text, or that of a command\n";

// A standard stream that is closed would give its number to a file of ours.
void open_missing_streams() {
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) ::_exit(1);
}

int command(const std::string& name, const std::vector<std::string>& arguments) {
  using namespace tutti;
  if (launcher::is_mpirun(name)) return launcher::run_command(name, arguments);
  const std::string word = arguments.empty() ? "help" : arguments[0];
  const std::vector<std::string> rest(arguments.empty() ? arguments.end() : arguments.begin() + 1, arguments.end());
  if (word == "run") return launcher::run_command("tutti run", rest);
  if (word == "info") return launcher::info_command(rest);
  if (word == "why") return launcher::why_command(rest);
  if (word == "top") return launcher::top_command(rest);
  if (word == "fortran") return launcher::fortran_command(rest);
  if (word == "jobs") return launcher::jobs_command(rest);
  if (word == "doctor") return launcher::doctor_command(rest);
  if (word == "profile") return launcher::profile_command(rest);
  if (word == "plan") return launcher::plan_command(rest);
  if (word == "tune") return launcher::tune_command(rest);
  if (word == "report") return launcher::report_command(rest);
  const bool version = word == "version" || word == "--version" || word == "-V";
  constexpr std::string_view known[] = {"run",     "info", "why",  "top",    "fortran", "jobs",   "doctor",
                                        "profile", "plan", "tune", "report", "help",    "version"};
  if (version || word == "help" || word == "--help" || word == "-h") {
    // Of these each has a text of its own.
    if (word == "help" && rest.size() == 1 && std::ranges::count(known, rest[0]) && rest[0] != "help" &&
        rest[0] != "version")
      return command(name, {rest[0], "--help"});
    if (!rest.empty()) {
      say(Level::error, "tutti {} takes nothing more, and not '{}'", word, rest[0]);
      return 2;
    }
    if (version) return launcher::info_command({"--version"});
    std::fputs(kHelp, stdout);
    return arguments.empty() ? 2 : 0;
  }
  const std::string meant = did_you_mean(word, known);
  say(Level::error, "there is no command 'tutti {}'{}", word,
      meant.empty()
          ? "; there are run, info, why, top, fortran, jobs, doctor, profile, plan, tune, report, help and version"
          : meant);
  return 2;
}

// What the format library and the threads of the language throw.
int command_or_sentence(const std::string& name, const std::vector<std::string>& arguments) {
  try {
    return command(name, arguments);
  } catch (const std::exception& e) {
    // That standard output cannot be written is said below.
    if (!std::ferror(stdout)) tutti::say(tutti::Level::error, "{}", e.what());
    return 1;
  }
}

// What a command printed may still be in memory, and find no room on the disk. Some file systems
// say so only when the file is closed.
int all_is_written(int code) {
  errno = 0;
  bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (written)
    if (const int copy = ::dup(STDOUT_FILENO); copy >= 0) written = ::close(copy) == 0;
  if (written) return code;
  tutti::say(tutti::Level::error, "cannot write standard output: {}",
             errno ? std::strerror(errno) : "an error that was met before");
  return code ? code : 1;
}

}  // namespace

int main(int argc, char** argv) {
  open_missing_streams();
  tutti::launcher::hear_signals();
  tutti::launcher::end_where_memory_does();
  tutti::launcher::raise_file_limit();
  // Larger than what a command prints: an error of writing is then met at the end, where it is told.
  static char kept[256 << 10];
  if (!::isatty(STDOUT_FILENO)) std::setvbuf(stdout, kept, _IOFBF, sizeof kept);
  const std::string path = argc > 0 ? argv[0] : "tutti";
  const int code = all_is_written(
      command_or_sentence(path.substr(path.rfind('/') + 1), std::vector<std::string>(argv + (argc > 0), argv + argc)));
  // Threads of libraries and blocked writers are left to the end of the process.
  ::_exit(code);
}
