// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type by parts of the machine. Each rank binds itself to one of two processors, or to all it has, so
// that what it must share with whom is known; without two processors there is less to know.
#include <sched.h>

#include "check.hpp"

namespace {

std::vector<int> processors() {
  std::vector<int> all;
  cpu_set_t set;
  CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) all.push_back(cpu);
  return all;
}

void bind_to(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : processors) CPU_SET(cpu, &set);
  CHECK_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

std::string value_of(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL] = "";
  int flag = 0, room = sizeof value;
  OK(MPI_Info_get_string(info, key, &room, value, &flag));
  return flag ? value : "";
}

MPI_Comm split(MPI_Comm comm, int type, const char* resource, int key = 0) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  if (resource) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_hw_resource_type", resource));
  }
  OK(MPI_Comm_split_type(comm, type, key, info, &made));
  if (resource) OK(MPI_Info_free(&info));
  return made;
}

// The members' ranks in MPI_COMM_WORLD, in their order; empty for none. Frees it.
std::vector<int> members(MPI_Comm* comm, int rank) {
  if (*comm == MPI_COMM_NULL) return {};
  int size = 0;
  OK(MPI_Comm_size(*comm, &size));
  std::vector<int> all(static_cast<size_t>(size));
  OK(MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, *comm));
  OK(MPI_Comm_free(comm));
  return all;
}

class Resources {
 public:
  explicit Resources(const check::Program& program) : rank_(program.rank()), size_(program.size()) {
    MPI_Comm node = split(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, nullptr);
    here_ = members(&node, rank_);
    // The launcher may have bound each rank to another processor: the lowest and the highest of all of them.
    const std::vector<int> given = processors();
    int pair[2] = {given.front(), given.back()};
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Allreduce(MPI_IN_PLACE, &pair[0], 1, MPI_INT, MPI_MIN, node));
    OK(MPI_Allreduce(MPI_IN_PLACE, &pair[1], 1, MPI_INT, MPI_MAX, node));
    OK(MPI_Comm_free(&node));
    first_ = pair[0];
    last_ = pair[1];
  }

  void bound() {
    bind_to({mine(rank_)});
    std::vector<int> same;
    for (const int other : here_)
      if (mine(other) == mine(rank_)) same.push_back(other);
    expect(MPI_COMM_TYPE_HW_GUIDED, "hwloc://PU", same);
    expect(MPI_COMM_TYPE_RESOURCE_GUIDED, "pu", same);
    expect(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Machine", here_);
    expect(MPI_COMM_TYPE_HW_GUIDED, "mpi_shared_memory", here_);
    // Of what this process says to have one of there is a communicator, and of nothing else; of larger ones a larger one.
    MPI_Info info;
    OK(MPI_Get_hw_resource_info(&info));
    for (const char* name : {"Machine", "Package", "NUMANode", "L3Cache", "L2Cache", "L1Cache", "Core", "PU"}) {
      const std::string type = std::string("hwloc://") + name;
      const std::string there = value_of(info, type.c_str());
      CHECK(there == "true" || (there.empty() && type.ends_with("Cache")));
      MPI_Comm made = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, type.c_str());
      const std::vector<int> found = members(&made, rank_);
      if (there.empty()) CHECK(found.empty());
      if (there.empty()) continue;
      CHECK(found.size() >= same.size() && found.size() <= here_.size());
      for (const int other : same) CHECK(std::find(found.begin(), found.end(), other) != found.end());
    }
    OK(MPI_Info_free(&info));
    unguided(same);
  }

  // By the largest part that does not hold all ranks: by nodes where there are several, else here by processors.
  void unguided(const std::vector<int>& same) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    MPI_Comm made = MPI_COMM_NULL;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &made));
    const bool one_node = static_cast<int>(here_.size()) == size_;
    const std::vector<int>& wanted = one_node ? same : here_;
    const bool divides = static_cast<int>(wanted.size()) < size_;
    const std::vector<int> found = members(&made, rank_);
    CHECK(found == (divides ? wanted : std::vector<int>()));
    const std::string type = value_of(info, "mpi_hw_resource_type");
    CHECK_EQ(type.empty(), !divides);
    if (divides && !one_node) CHECK_EQ(type, "hwloc://Machine");
    if (divides && one_node) {
      made = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, type.c_str());
      CHECK(members(&made, rank_) == found);
    }
    OK(MPI_Info_free(&info));
    // Dividing what was divided comes to an end.
    std::vector<MPI_Comm> levels{MPI_COMM_WORLD};
    while (levels.back() != MPI_COMM_NULL) {
      CHECK(levels.size() < 10);
      levels.push_back(split(levels.back(), MPI_COMM_TYPE_HW_UNGUIDED, nullptr));
    }
    levels.pop_back();
    for (size_t i = 1; i < levels.size(); ++i) OK(MPI_Comm_free(&levels[i]));
  }

  // The first rank of each node is bound to one processor, the others to two, if there are two.
  void some_bound() {
    const bool is_bound = rank_ == here_.front();
    bind_to(is_bound ? std::vector<int>{first_} : std::vector<int>{first_, last_});
    const std::vector<int> alone = is_bound ? std::vector<int>{rank_} : std::vector<int>();
    expect(MPI_COMM_TYPE_HW_GUIDED, "hwloc://PU", first_ == last_ ? here_ : alone);
  }

  void nothing() {
    bind_to({mine(rank_)});
    expect(MPI_COMM_TYPE_HW_GUIDED, nullptr, {});
    expect(MPI_COMM_TYPE_RESOURCE_GUIDED, nullptr, {});
    expect(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Board", {});
    expect(MPI_COMM_TYPE_HW_GUIDED, "", {});
    // A rank that takes no part is in no communicator of the others'.
    std::vector<int> others = here_;
    others.erase(std::remove(others.begin(), others.end(), 0), others.end());
    MPI_Comm made = split(MPI_COMM_WORLD, rank_ == 0 ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_HW_GUIDED}, "Machine");
    CHECK(members(&made, rank_) == (rank_ == 0 ? std::vector<int>() : others));
    // Without rank 0 the others are a part of the whole already where they share a machine.
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, rank_ == 0 ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_HW_UNGUIDED}, 0, info,
                           &made));
    CHECK(members(&made, rank_) == (rank_ == 0 ? std::vector<int>() : others));
    CHECK_EQ(value_of(info, "mpi_hw_resource_type"), rank_ == 0 ? "" : "hwloc://Machine");
    OK(MPI_Info_free(&info));
  }

  // Both sides of an intercommunicator: the ranks of either group that share a processor.
  void two_groups() {
    if (size_ < 3) return;
    bind_to({mine(rank_)});
    MPI_Comm half, both, made;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank_ / 2 % 2, rank_, &half));
    const int leader = rank_ / 2 % 2 ? 0 : 2;
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 1, &both));
    std::vector<int> wanted;
    int mine_here = 0;
    for (const int other : here_)
      if (mine(other) == mine(rank_)) {
        if (other / 2 % 2 != rank_ / 2 % 2)
          wanted.push_back(other);
        else
          ++mine_here;
      }
    made = split(both, MPI_COMM_TYPE_HW_GUIDED, "hwloc://PU");
    CHECK_EQ(made == MPI_COMM_NULL, wanted.empty());
    if (made != MPI_COMM_NULL) {
      int local = 0, remote = 0;
      OK(MPI_Comm_size(made, &local));
      OK(MPI_Comm_remote_size(made, &remote));
      CHECK_EQ(local, mine_here);
      CHECK_EQ(remote, static_cast<int>(wanted.size()));
      std::vector<int> told(wanted.size());
      OK(MPI_Allgather(&rank_, 1, MPI_INT, told.data(), 1, MPI_INT, made));
      CHECK(told == wanted);
      OK(MPI_Comm_free(&made));
    }
    OK(MPI_Comm_free(&both));
    OK(MPI_Comm_free(&half));
  }

 private:
  int mine(int rank) const { return rank % 2 ? last_ : first_; }

  void expect(int type, const char* resource, const std::vector<int>& wanted) {
    MPI_Comm made = split(MPI_COMM_WORLD, type, resource);
    CHECK(members(&made, rank_) == wanted);
    // In the order of the key.
    made = split(MPI_COMM_WORLD, type, resource, -rank_);
    const std::vector<int> found = members(&made, rank_);
    CHECK(std::equal(found.begin(), found.end(), wanted.rbegin(), wanted.rend()));
  }

  const int rank_, size_;
  std::vector<int> here_;  // the ranks of this node, ascending
  int first_ = 0, last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  Resources resources(program);
  resources.bound();
  resources.some_bound();
  resources.nothing();
  resources.two_groups();
  return 0;
}
