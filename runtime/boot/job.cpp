// SPDX-License-Identifier: BSD-3-Clause
#include "boot/job.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "base/log.hpp"

namespace tutti::boot {
namespace {

// Variables by which launchers without PMIx tell a process that it is one of several.
struct Hint {
  const char* variable;
  const char* launcher;
  const char* remedy;
};
constexpr Hint kHints[] = {
    {"SLURM_STEP_NUM_TASKS", "srun", "start it with srun --mpi=pmix"},
    {"PMI_SIZE", "a PMI-1 launcher (MPICH's mpiexec, or srun --mpi=pmi2)",
     "start it with Tutti's mpirun, or with srun --mpi=pmix"},
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun", "start it with Tutti's mpirun"},
    {"MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun", "start it with Tutti's mpirun"},
};

std::optional<Error> one_of_several() {
  for (const Hint& hint : kHints) {
    const char* value = std::getenv(hint.variable);
    if (!value || std::atoi(value) <= 1) continue;
    return failure(MPI_ERR_OTHER,
                   "the environment says that {} started {} processes ({}={}), but there is no PMIx "
                   "server through which they could find each other; {}. To run it as a job of one "
                   "process, unset {}",
                   hint.launcher, value, hint.variable, value, hint.remedy, hint.variable);
  }
  return std::nullopt;
}

class Singleton final : public Job {
 public:
  Singleton() {
    view_.id = fmt::format("singleton-{}", getpid());
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    view_.host = name;
    view_.universe_size = 1;
  }
  Error publish(const std::string& address) override {
    address_ = address;
    return {};
  }
  Error fence() override { return {}; }
  Result<std::string> address_of(int) override { return address_; }
  std::vector<int> nodes() override { return {0}; }
  void leave() override {}
  [[noreturn]] void abort(int code, const std::string& message) override {
    say(Level::error, "{}", message);
    _exit(code);
  }

 private:
  std::string address_;
};

}  // namespace

Result<std::unique_ptr<Job>> Job::join() {
  if (pmix_offered()) return join_pmix();
  if (std::optional<Error> refusal = one_of_several()) return *std::move(refusal);
  return std::unique_ptr<Job>(std::make_unique<Singleton>());
}

}  // namespace tutti::boot
