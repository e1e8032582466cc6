// SPDX-License-Identifier: BSD-3-Clause
// What the start of a job costs where it is large: the launcher's own code on made-up maps of 64 ranks a
// node. For each number of ranks: bytes of the launch message and the processor time of making and reading
// it, the time of describing the job to PMIx, and what PMIx_Init then costs a rank, which is a process of
// its own. Fails where a job of 10^5 ranks or fewer costs a rank more than 1 MB.
#include <pmix.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "launcher/data/wire.hpp"
#include "launcher/pmix/pmix_server.hpp"

namespace tutti::launcher {
namespace {

constexpr int kRanksPerNode = 64;
constexpr long kMostKilobytes = 1024;
constexpr int kRanksOfLimit = 100000;

double processor_ms() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(use.ru_utime) + ms(use.ru_stime);
}

template <class Work>
double cost_of(Work work) {
  const double before = processor_ms();
  work();
  return processor_ms() - before;
}

long private_kilobytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  long sum = 0;
  for (std::string word; rollup >> word;)
    if (word == "Private_Dirty:") {
      long value = 0;
      rollup >> value;
      sum += value;
    }
  return sum;
}

// What programs ask about the job, this rank and the ranks beside it.
bool knows_what_it_asks(const pmix_proc_t& me, uint32_t size) {
  pmix_proc_t job = me;
  job.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &value) != PMIX_SUCCESS || value->data.uint32 != size)
    return std::fprintf(stderr, "PMIx does not say how many ranks there are\n"), false;
  PMIX_VALUE_RELEASE(value);
  for (const char* key : {PMIX_APPNUM, PMIX_LOCAL_RANK, PMIX_NODE_RANK, PMIX_HOSTNAME, PMIX_GLOBAL_RANK}) {
    if (PMIx_Get(&me, key, nullptr, 0, &value) != PMIX_SUCCESS)
      return std::fprintf(stderr, "PMIx does not say %s\n", key), false;
    PMIX_VALUE_RELEASE(value);
  }
  return true;
}

int be_rank(uint32_t size) {
  pmix_proc_t me;
  double cost = 0;
  pmix_status_t status = PMIX_ERROR;
  const long before = private_kilobytes();
  cost = cost_of([&] { status = PMIx_Init(&me, nullptr, 0); });
  const long more = private_kilobytes() - before;
  if (status != PMIX_SUCCESS) return std::fprintf(stderr, "PMIx_Init: %s\n", PMIx_Error_string(status)), 1;
  if (!knows_what_it_asks(me, size)) return 1;
  std::printf("%.2f %ld\n", cost, more);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

NodeTask made_up(int ranks, bool by_node) {
  NodeTask task;
  task.map.id = "scale";
  task.key = "0123456789abcdef";
  task.pmix_ranks = kRanksPerNode;  // as many as the setting has by default
  task.map.apps = {{{"./a.out"}, "/home/user", {}}};
  const int nodes = (ranks + kRanksPerNode - 1) / kRanksPerNode;
  for (int n = 0; n < nodes; ++n) task.map.nodes.push_back(fmt::format("node{:05}", n + 1));
  task.map.slots.assign(static_cast<size_t>(nodes), kRanksPerNode);
  task.map.rank_cores.assign(static_cast<size_t>(nodes), 1);
  task.allocation = task.map.nodes;
  task.allocation_slots = task.map.slots;
  std::vector<RankPlace> places;
  for (int r = 0; r < ranks; ++r)
    places.push_back(by_node ? RankPlace{r % nodes, 0, r / nodes} : RankPlace{r / kRanksPerNode, 0, r % kRanksPerNode});
  task.map.ranks = places;
  for (int i = 0; i < 60; ++i) task.environment.push_back(fmt::format("VARIABLE_{}={:060}", i, i));
  return task;
}

struct RankCost {
  double ms = -1;
  long kilobytes = -1;
};

RankCost start_rank(PmixServer& server, const char* self, int size) {
  Result<std::vector<std::string>> variables = server.variables_of(0);
  RankCost cost;
  if (!variables) return std::fprintf(stderr, "%s\n", variables.error().message().c_str()), cost;
  int ends[2];
  if (::pipe(ends) != 0) return cost;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    for (std::string& pair : *variables) ::putenv(pair.data());
    ::execl(self, self, "--rank", std::to_string(size).c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  char text[128] = {};
  if (::read(ends[0], text, sizeof text - 1) > 0) std::sscanf(text, "%lf %ld", &cost.ms, &cost.kilobytes);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return cost;
}

int measure(int ranks, bool by_node, const char* self, const std::string& folder) {
  const NodeTask task = made_up(ranks, by_node);
  std::string bytes;
  NodeTask got;
  const double packing = cost_of([&] { bytes = wire::pack(task); });
  bool whole = false;
  const double reading = cost_of([&] { whole = wire::unpack(bytes, got) && is_consistent(got); });
  Result<Topology> topology = Topology::of_this_machine();
  if (!whole || !topology) return 1;
  auto server = PmixServer::start(folder, got.map.nodes[0], *topology);
  if (!server) return std::fprintf(stderr, "%s\n", server.error().message().c_str()), 1;
  Topology::Binding binding;
  binding.processors.resize(static_cast<size_t>(got.map.ranks.count_on(0)));
  Error wrong;
  const double describing = cost_of([&] { wrong = (*server)->register_job(got, binding); });
  if (wrong) return std::fprintf(stderr, "%s\n", wrong.message().c_str()), 1;
  const RankCost rank = start_rank(**server, self, ranks);
  std::printf("%8d %6zu %-5s %10zu %8.2f %8.2f %10.2f %10.2f %8ld\n", ranks, got.map.nodes.size(),
              by_node ? "node" : "slot", bytes.size(), packing, reading, describing, rank.ms, rank.kilobytes);
  const bool dear = rank.kilobytes < 0 || (ranks <= kRanksOfLimit && rank.kilobytes > kMostKilobytes);
  std::fflush(stdout);
  ::_exit(dear ? 1 : 0);  // PMIx's thread is left to the end of the process
}

}  // namespace
}  // namespace tutti::launcher

int main(int argc, char** argv) {
  using namespace tutti::launcher;
  if (argc == 3 && std::strcmp(argv[1], "--rank") == 0) return be_rank(static_cast<uint32_t>(std::atoi(argv[2])));
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {1000, 10000, 100000, 1000000};
  std::string folder = (std::filesystem::temp_directory_path() / "tutti-scale-XXXXXX").string();
  if (!::mkdtemp(folder.data())) return std::perror("mkdtemp"), 1;
  std::printf("job: a launch message, what PMIx is told on a node, and PMIx_Init; processor time in ms\n");
  std::printf("%8s %6s %-5s %10s %8s %8s %10s %10s %8s\n", "ranks", "nodes", "by", "bytes", "pack", "unpack",
              "describe", "PMIx_Init", "kB/rank");
  std::fflush(stdout);
  int result = 0;
  for (const int ranks : sizes)
    for (const bool by_node : {false, true}) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(ranks > 0 ? measure(ranks, by_node, argv[0], folder) : 2);
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status != 0) result = 1;
    }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}
