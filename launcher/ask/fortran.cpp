// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/fortran.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/config.hpp"
#include "base/log.hpp"

namespace tutti::launcher {

int fortran_command(const std::vector<std::string>& arguments) {
  const std::filesystem::path root = installation_root();
  const std::string script = root / "share/tutti/fortran/build.sh";
  if (::access(script.c_str(), R_OK) != 0) {
    say(Level::error,
        "{} is not there ({}): the sources of the Fortran library are installed with mpi.h and the compiler wrappers "
        "(package tutti-dev)",
        script, std::strerror(errno));
    return 1;
  }
  const std::string wrapper = root / "bin/mpicc";  // which knows where headers and libraries are
  std::vector<const char*> words = {"sh", script.c_str(), wrapper.c_str()};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  ::execvp("sh", const_cast<char**>(words.data()));
  say(Level::error, "cannot run sh {}: {}", script, std::strerror(errno));
  return 1;
}

}  // namespace tutti::launcher
