// SPDX-License-Identifier: BSD-3-Clause
// Windows to which memory is attached: absolute addresses, several pieces, attached and detached
// while the window is in use, also by others; addresses from MPI_Aint_add. NOT_OPENMPI: 4.1 ends in
// MPI_Compare_and_swap at attached memory.
#include "check.hpp"

namespace {

void pieces(const check::Program& mpi, MPI_Win win) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  for (int round = 0; round < 4; ++round) {
    const int length = round % 2 ? 30'000 : 6;
    std::vector<std::vector<int>> mine(3, std::vector<int>(static_cast<size_t>(length), -1));
    MPI_Aint places[3], theirs[3];
    for (size_t k = 0; k < 3; ++k) {
      OK(MPI_Win_attach(win, mine[k].data(), static_cast<MPI_Aint>(sizeof(int)) * length));
      OK(MPI_Get_address(mine[k].data(), &places[k]));
    }
    OK(MPI_Sendrecv(places, 3, MPI_AINT, before, 0, theirs, 3, MPI_AINT, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win));
    std::vector<int> out(static_cast<size_t>(length)), back(static_cast<size_t>(length), -2), old(1, -2);
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < length; ++i) out[static_cast<size_t>(i)] = static_cast<int>(check::mix(me, round * 3 + k, i));
      OK(MPI_Put(out.data(), length, MPI_INT, next, theirs[k], length, MPI_INT, win));
      OK(MPI_Win_flush_local(next, win));
    }
    const int five = 5;
    OK(MPI_Fetch_and_op(&five, old.data(), MPI_INT, next, MPI_Aint_add(theirs[2], 4), MPI_SUM, win));
    OK(MPI_Win_flush(next, win));
    OK(MPI_Get(back.data(), length, MPI_INT, next, theirs[1], length, MPI_INT, win));
    OK(MPI_Win_unlock(next, win));
    CHECK_EQ(old[0], -1);
    CHECK(back == out);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
    for (size_t k = 0; k < 2; ++k)
      for (int i = 0; i < length; ++i)
        CHECK_EQ_IN(mine[k][static_cast<size_t>(i)],
                    static_cast<int>(check::mix(before, round * 3 + static_cast<int>(k), i)), "round %d at %d", round,
                    i);
    CHECK_EQ(mine[2][1], 4);
    OK(MPI_Win_unlock(me, win));
    for (size_t k = 3; k-- > 0;) OK(MPI_Win_detach(win, mine[k].data()));
  }
}

// A list in rank 0's memory that all ranks add to: each element is attached by whom it belongs to.
struct Element {
  int rank;
  int next_rank;
  MPI_Aint next;
};

void list(const check::Program& mpi, MPI_Win win, int each) {
  const int me = mpi.rank(), size = mpi.size();
  std::vector<Element> mine(static_cast<size_t>(each));
  int64_t head = 0;  // of whom and where: the number of an element, from 1, and the rank
  if (me == 0) OK(MPI_Win_attach(win, &head, sizeof head));
  OK(MPI_Win_attach(win, mine.data(), static_cast<MPI_Aint>(sizeof(Element) * mine.size())));
  std::vector<MPI_Aint> bases(static_cast<size_t>(size));
  MPI_Aint base, head_at = 0;
  OK(MPI_Get_address(mine.data(), &base));
  OK(MPI_Allgather(&base, 1, MPI_AINT, bases.data(), 1, MPI_AINT, MPI_COMM_WORLD));
  if (me == 0) OK(MPI_Get_address(&head, &head_at));
  OK(MPI_Bcast(&head_at, 1, MPI_AINT, 0, MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < each; ++i) {
    Element& element = mine[static_cast<size_t>(i)];
    element.rank = me;
    int64_t seen = 0, expected;
    const int64_t own = static_cast<int64_t>(me) << 32 | (i + 1);
    do {
      expected = seen;
      element.next_rank = expected ? static_cast<int>(expected >> 32) : -1;
      element.next = expected & 0xffffffff;
      OK(MPI_Win_sync(win));
      OK(MPI_Compare_and_swap(&own, &expected, &seen, MPI_INT64_T, 0, head_at, win));
      OK(MPI_Win_flush(0, win));
    } while (seen != expected);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  std::vector<int> found(static_cast<size_t>(size), 0);
  int64_t at = -1;
  OK(MPI_Fetch_and_op(nullptr, &at, MPI_INT64_T, 0, head_at, MPI_NO_OP, win));
  OK(MPI_Win_flush(0, win));
  while (at > 0) {
    const int rank = static_cast<int>(at >> 32);
    Element element;
    const MPI_Aint displacement = ((at & 0xffffffff) - 1) * static_cast<MPI_Aint>(sizeof(Element));
    OK(MPI_Get(&element, sizeof element, MPI_BYTE, rank, MPI_Aint_add(bases[static_cast<size_t>(rank)], displacement),
               sizeof element, MPI_BYTE, win));
    OK(MPI_Win_flush(rank, win));
    CHECK_EQ(element.rank, rank);
    ++found[static_cast<size_t>(rank)];
    at = element.next_rank < 0 ? 0 : static_cast<int64_t>(element.next_rank) << 32 | element.next;
  }
  for (const int count : found) CHECK_EQ(count, each);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_detach(win, mine.data()));
  if (me == 0) OK(MPI_Win_detach(win, &head));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  MPI_Win win;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  pieces(mpi, win);
  list(mpi, win, 20);
  OK(MPI_Win_free(&win));
}
