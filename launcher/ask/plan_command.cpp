// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/config.hpp"
#include "base/log.hpp"
#include "launcher/ask/commands.hpp"

namespace tutti::launcher {

int plan_command(const std::vector<std::string>& arguments) {
  const std::string program = (installation_root() / "libexec/tutti/tutti-plan").string();
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  say(Level::error, "{} cannot be run: {}; it is part of the installation", program, std::strerror(errno));
  return 1;
}

}  // namespace tutti::launcher
