// SPDX-License-Identifier: BSD-3-Clause
// The command `tutti`; called mpirun or mpiexec it is `tutti run`.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/log.hpp"
#include "base/nearest.hpp"
#include "launcher/limits.hpp"
#include "launcher/run.hpp"
#include "launcher/why.hpp"

namespace {

constexpr const char* kHelp =
    "Usage: tutti run [options] program [arguments]   start a parallel program (mpirun, mpiexec)\n"
    "       tutti info [--config | --api | --version] what is installed, set, and not implemented\n"
    "       tutti why [--json] [--record A B | --dump A] [job]\n"
    "                                                 what the ranks of a running job are doing\n"
    "       tutti help                                this text\n";

// A standard stream that is closed would give its number to a file of ours.
void open_missing_streams() {
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) ::_exit(1);
}

int command(const std::string& name, const std::vector<std::string>& arguments) {
  using namespace tutti;
  if (name == "mpirun" || name == "mpiexec") return launcher::run_command(name, arguments);
  const std::string word = arguments.empty() ? "help" : arguments[0];
  const std::vector<std::string> rest(arguments.empty() ? arguments.end() : arguments.begin() + 1,
                                      arguments.end());
  if (word == "run") return launcher::run_command("tutti run", rest);
  if (word == "info") return launcher::info_command(rest);
  if (word == "why") return launcher::why_command(rest);
  if (word == "--version" || word == "-V") return launcher::info_command({"--version"});
  if (word == "help" || word == "--help" || word == "-h") {
    std::fputs(kHelp, stdout);
    return arguments.empty() ? 2 : 0;
  }
  constexpr std::string_view known[] = {"run", "info", "why", "help"};
  say(Level::error, "there is no command 'tutti {}'{}", word, did_you_mean(word, known));
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  open_missing_streams();
  tutti::launcher::raise_file_limit();
  const std::string path = argc > 0 ? argv[0] : "tutti";
  const int code = command(path.substr(path.rfind('/') + 1),
                           std::vector<std::string>(argv + (argc > 0), argv + argc));
  std::fflush(nullptr);
  // Threads of libraries and blocked writers are left to the end of the process.
  ::_exit(code);
}
