// SPDX-License-Identifier: BSD-3-Clause
#include "boot/admission.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace tutti::boot {
namespace {

constexpr char kOwnWays[] = "PMIX_MCA_psec";

std::string numbers_of_this_process() {
  return fmt::format("{}:{}", ::geteuid(), ::getegid());
}

}  // namespace

std::string other_numbers_of_launcher() {
  const char* const told = std::getenv("TUTTI_OWNER");
  return told && std::getenv("TUTTI_JOB") && told != numbers_of_this_process() ? told : "";
}

NoClaim::NoClaim() {
  const char* const offered = std::getenv("PMIX_SECURITY_MODE");
  std::istringstream list(offered ? offered : "");
  for (std::string one; std::getline(list, one, ',');) offered_ = offered_ || one == "none";
  if (!offered_) return;
  ::setenv("PMIX_SECURITY_MODE", "none", 1);
  // PMIx has no way to claim nothing unless it is told of it; but what this process starts is not to be told.
  set_ = !std::getenv(kOwnWays) && ::setenv(kOwnWays, "none", 1) == 0;
}

NoClaim::~NoClaim() {
  if (set_) ::unsetenv(kOwnWays);
}

Error not_let_in(const std::string& launcher) {
  return failure(
      MPI_ERR_OTHER,
      "this process is user and group {}, and its launcher {}: the PMIx server of this node lets in processes of "
      "the launcher's user alone. A container may keep the user's numbers (podman run --userns=keep-id, "
      "unshare --map-current-user), or mpirun is started where the ranks run, or as their user",
      numbers_of_this_process(), launcher);
}

}  // namespace tutti::boot
