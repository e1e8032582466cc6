// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators whose groups have processes of several jobs (the standard, sections 7.6.2 and 11.10): between the
// worlds of two jobs, between halves with processes of both, and between a group of two jobs and a third one, some of
// whose processes have never met. This job spawns two others, `first` and `second`, of two ranks each.
#include "check.hpp"

namespace {

int rank_in(MPI_Comm comm) {
  int rank = -1;
  OK(MPI_Comm_rank(comm, &rank));
  return rank;
}
int size_of(MPI_Comm comm) {
  int size = -1;
  OK(MPI_Comm_size(comm, &size));
  return size;
}

// Messages between all, collectives between the groups, and over both of them; then the groups part.
void use(MPI_Comm inter, int mine, int others) {
  const int rank = rank_in(inter);
  int remote = -1;
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK_EQ(size_of(inter), mine);
  CHECK_EQ(remote, others);
  for (const int count : {1, 1000, 100'000}) {
    std::vector<std::vector<int>> out(static_cast<size_t>(others)), in(out.size());
    std::vector<MPI_Request> requests;
    for (int r = 0; r < others; ++r) {
      auto &to = out[static_cast<size_t>(r)], &from = in[static_cast<size_t>(r)];
      to.resize(static_cast<size_t>(count));
      from.assign(to.size(), -1);
      for (int i = 0; i < count; ++i) to[static_cast<size_t>(i)] = rank * 1000 + r + i;
      requests.resize(requests.size() + 2);
      OK(MPI_Irecv(from.data(), count, MPI_INT, r, 5, inter, &requests[requests.size() - 2]));
      OK(MPI_Isend(to.data(), count, MPI_INT, r, 5, inter, &requests[requests.size() - 1]));
    }
    OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (int r = 0; r < others; ++r)
      for (int i = 0; i < count; ++i) CHECK_EQ(in[static_cast<size_t>(r)][static_cast<size_t>(i)], r * 1000 + rank + i);
  }
  int one = 1, sum = 0;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK_EQ(sum, others);
  std::vector<int> all(static_cast<size_t>(others), -1);
  OK(MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, inter));
  for (int r = 0; r < others; ++r) CHECK_EQ(all[static_cast<size_t>(r)], r);
  MPI_Comm merged;
  OK(MPI_Intercomm_merge(inter, 0, &merged));
  CHECK_EQ(size_of(merged), mine + others);
  int place = rank_in(merged), places = 0;
  OK(MPI_Allreduce(&place, &places, 1, MPI_INT, MPI_SUM, merged));
  CHECK_EQ(places, (mine + others) * (mine + others - 1) / 2);
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_disconnect(&inter));
}

MPI_Comm between(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag) {
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPI_Intercomm_create(local, leader, peer, remote_leader, tag, &made));
  return made;
}

// `both` holds the ranks of one job before those of the other.
void two_jobs(MPI_Comm both, int first, int second) {
  const int rank = rank_in(both);
  const bool in_first = rank < first;
  // The worlds, with other leaders than their first ranks where there are more.
  const int leader = in_first ? first - 1 : second - 1;
  use(between(MPI_COMM_WORLD, leader, both, in_first ? first + second - 1 : first - 1, 1), in_first ? first : second,
      in_first ? second : first);
  // Halves, each with processes of both jobs.
  MPI_Comm half;
  OK(MPI_Comm_split(both, rank % 2, rank, &half));
  const int mine = size_of(half), others = first + second - mine;
  use(between(half, 0, both, 1 - rank % 2, 2), mine, others);
  OK(MPI_Comm_free(&half));
}

MPI_Comm spawned(char* program, const char* name) {
  std::string word = name;
  char* argv[] = {word.data(), nullptr};
  MPI_Comm inter;
  OK(MPI_Comm_spawn(program, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
  return inter;
}

MPI_Comm merged(MPI_Comm inter, bool high) {
  MPI_Comm all;
  OK(MPI_Intercomm_merge(inter, high, &all));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int parents = program.size();
  MPI_Comm parent;
  OK(MPI_Comm_get_parent(&parent));
  if (parent == MPI_COMM_NULL) {
    MPI_Comm first = spawned(argv[0], "first"), second = spawned(argv[0], "second");
    MPI_Comm with_first = merged(first, false), with_second = merged(second, false);
    two_jobs(with_first, parents, 2);
    // This job and the second one, and the first one, which the second has never met. This job's rank 0 leads.
    use(between(with_second, 0, with_first, parents, 4), parents + 2, 2);
    OK(MPI_Comm_free(&with_first));
    OK(MPI_Comm_free(&with_second));
    OK(MPI_Comm_disconnect(&first));
    OK(MPI_Comm_disconnect(&second));
    return 0;
  }
  int others = 0;
  OK(MPI_Comm_remote_size(parent, &others));
  MPI_Comm with_parents = merged(parent, true);
  if (std::string(argv[1]) == "first") {
    two_jobs(with_parents, others, 2);
    use(between(MPI_COMM_WORLD, 0, with_parents, 0, 4), 2, others + 2);
  } else {
    use(between(with_parents, 0, MPI_COMM_NULL, 0, 4), others + 2, 2);
  }
  OK(MPI_Comm_free(&with_parents));
  OK(MPI_Comm_disconnect(&parent));
}
