// SPDX-License-Identifier: BSD-3-Clause
// What guaranteed progress and waiting cost. A rank that computes with nothing pending, or with a
// receive pending for which nothing comes, is never interrupted: no other thread of its process
// runs at all. A rank that waits in MPI for a message uses no measurable time after a second.
// Counted by the kernel: context switches and times of each thread.
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "check.hpp"

namespace {

// By the thread's number and name.
std::map<std::string, long> switches_of_other_threads() {
  std::map<std::string, long> found;
  DIR* tasks = opendir("/proc/self/task");
  CHECK(tasks != nullptr);
  while (const dirent* task = readdir(tasks)) {
    const long id = std::atol(task->d_name);
    if (id <= 0 || id == syscall(SYS_gettid)) continue;
    std::ifstream status("/proc/self/task/" + std::to_string(id) + "/status");
    std::string name;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:")) name = std::to_string(id) + " (" + line.substr(6) + ")";
      if (line.find("voluntary_ctxt_switches") != std::string::npos)
        found[name] += std::atol(line.substr(line.find(':') + 1).c_str());
    }
  }
  closedir(tasks);
  return found;
}

// Of the whole process, in clock ticks: fields 14 and 15 (utime, stime) of /proc/self/stat.
long ticks_used() {
  std::ifstream stat("/proc/self/stat");
  std::string line;
  std::getline(stat, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::vector<std::string> field(13);
  for (std::string& each : field) fields >> each;
  return std::atol(field[11].c_str()) + std::atol(field[12].c_str());
}

void nobody_interrupts(const char* what) {
  // The others come here too, and the progress thread finds nothing to do.
  auto before = switches_of_other_threads();
  const double began = check::seconds();
  for (int i = 0, alike = 0; i < 8 && alike < 3; ++i) {
    usleep(200000);
    const auto earlier = std::exchange(before, switches_of_other_threads());
    alike = earlier == before ? alike + 1 : 0;
  }
  volatile double sink = 1;
  for (const double end = check::seconds() + 1; check::seconds() < end;)
    for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001;
  const auto after = switches_of_other_threads();
  // No message before the others are through as well.
  while (check::seconds() < began + 4) usleep(10000);
  for (const auto& [thread, switches] : after) {
    const auto at = before.find(thread);
    CHECK(at != before.end());
    if (switches != at->second)
      check::fail(__FILE__, __LINE__,
                  "thread " + thread + " ran " + std::to_string(switches - at->second) +
                      " times in a second of computation " + what);
  }
}

// Measures the second second of `wait`, which takes longer than two.
void uses_nothing(const char* what, const std::function<void()>& wait) {
  long used = -1;
  std::thread observer([&] {
    usleep(1000000);
    const long before = ticks_used();
    usleep(1000000);
    used = ticks_used() - before;
  });
  const double began = check::seconds();
  wait();
  CHECK(check::seconds() - began > 2);
  observer.join();
  if (used > 1)
    check::fail(__FILE__, __LINE__,
                std::to_string(used) + " clock ticks in a second of waiting " + what);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int next = (world.rank() + 1) % world.size(),
            before = (world.rank() + world.size() - 1) % world.size();
  int value = 0;
  MPI_Request request;

  nobody_interrupts("after MPI_Init");
  for (int i = 0; i < 1000; ++i)
    OK(MPI_Sendrecv(&i, 1, MPI_INT, next, 1, &value, 1, MPI_INT, before, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  nobody_interrupts("after messages");
  OK(MPI_Irecv(&value, 1, MPI_INT, before, 2, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  nobody_interrupts("with a receive pending");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&value, 1, MPI_INT, next, 2, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  // Everyone waits for rank 0, which comes late.
  const auto late = [&] { usleep(2500000); };
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 0) {
    late();
    for (int i = 1; i < world.size(); ++i) OK(MPI_Send(&value, 1, MPI_INT, i, 3, MPI_COMM_WORLD));
  } else {
    uses_nothing("in MPI_Recv", [&] {
      OK(MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    });
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 0) late();
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  if (world.rank() == 0)
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  else
    uses_nothing("in MPI_Wait", [&] { OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); });
  if (world.rank() == 0) late();
  if (world.rank() == 0)
    OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
  else
    uses_nothing("in MPI_Bcast", [&] { OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD)); });
}
