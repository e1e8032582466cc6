// SPDX-License-Identifier: BSD-3-Clause
// Which way operations on windows go, among ranks of one node. The argument says what is expected: "shared", where they are
// loads and stores in memory that the ranks share; "apart", where they are messages (rma.direct=off, --check=strict); or
// "delayed", where they are loads and stores that --stress keeps back. What MPI_Win_shared_query says, what is sent, that
// hints change neither that nor results, and that the window that a file has maps nothing.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "check.hpp"
#include "file/scratch.hpp"
#include "rma/hints.hpp"
#include "rma/messages.hpp"

namespace {

int me, size;
bool shared;  // loads and stores

struct Allocated {
  explicit Allocated(int length, MPI_Info info = MPI_INFO_NULL) {
    OK(MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(long)) * length, sizeof(long), info, MPI_COMM_WORLD, &memory,
                        &win));
    std::fill(memory, memory + length, 0L);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  ~Allocated() { MPI_Win_free(&win); }
  Allocated(const Allocated&) = delete;
  long* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
};

struct Query {
  MPI_Aint bytes = -1;
  int unit = -1;
  long* base = nullptr;
  Query(MPI_Win win, int rank) { OK(MPI_Win_shared_query(win, rank, &bytes, &unit, &base)); }
};

// Of an allocated window, where the standard has it since 4.1; and of a created one, whose memory is shared with nobody.
void queries() {
  const Allocated w(1 + me);
  long own = 0;
  MPI_Win created;
  OK(MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created));
  for (int r = 0; r < size; ++r) {
    const Query allocated(w.win, r), of_created(created, r);
    const bool here = shared || r == me;
    CHECK_EQ(allocated.bytes, here ? static_cast<MPI_Aint>(sizeof(long)) * (1 + r) : 0);
    CHECK_EQ(allocated.unit, static_cast<int>(sizeof(long)));
    CHECK((allocated.base != nullptr) == here);
    if (r == me) CHECK(allocated.base == w.memory);
    CHECK_EQ(of_created.bytes, r == me ? static_cast<MPI_Aint>(sizeof own) : 0);
    CHECK((of_created.base != nullptr) == (r == me));
  }
  OK(MPI_Win_free(&created));
}

MPI_Info info_of(std::initializer_list<std::pair<const char*, const char*>> hints) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  for (const auto& [key, value] : hints) OK(MPI_Info_set(info, key, value));
  return info;
}

// A put of rank 0 at the last rank, and an update, with their flushes, go as is expected: in messages, or in none at all.
void goes_as_expected(const Messages& messages, MPI_Win win) {
  const long one = 1;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (me == 0) {
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    const std::vector<long> sent = messages.by([&] {
      OK(MPI_Put(&one, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, win));
      OK(MPI_Win_flush(size - 1, win));
      OK(MPI_Accumulate(&one, 1, MPI_LONG, size - 1, 1, 1, MPI_LONG, MPI_SUM, win));
      OK(MPI_Win_flush(size - 1, win));
    });
    CHECK((sent[static_cast<size_t>(size - 1)] == 0) == shared);
    OK(MPI_Win_unlock_all(win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// All add to all, many times; each element is what it has to be.
void sums(MPI_Win win, const long* memory) {
  constexpr int kTimes = 25;
  const long one = 1;
  long before = -1;
  std::vector<long> fetched(static_cast<size_t>(kTimes * size));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  before = memory[2];
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < kTimes; ++i) {
    for (int r = 0; r < size; ++r) {
      if (i % 2 == 0)
        OK(MPI_Accumulate(&one, 1, MPI_LONG, r, 2, 1, MPI_LONG, MPI_SUM, win));
      else
        OK(MPI_Get_accumulate(&one, 1, MPI_LONG, &fetched[static_cast<size_t>(i * size + r)], 1, MPI_LONG, r, 2, 1,
                              MPI_LONG, MPI_SUM, win));
    }
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  CHECK_EQ(memory[2], before + kTimes * size);
  OK(MPI_Win_unlock(me, win));
}

void hints(const Messages& messages) {
  MPI_Info given = info_of({{"mpi_accumulate_granularity", "8"},
                            {"accumulate_ops", "same_op"},
                            {"same_disp_unit", "true"},
                            {"mpi_minimum_memory_alignment", "256"}});
  const Allocated plain(4), hinted(4, given);
  OK(MPI_Info_free(&given));
  CHECK_EQ(hint_of(plain.win, "mpi_accumulate_granularity"), std::string("0"));
  CHECK_EQ(hint_of(hinted.win, "mpi_accumulate_granularity"), std::string("8"));
  CHECK_EQ(hint_of(hinted.win, "accumulate_ops"), std::string("same_op"));
  CHECK_EQ(hint_of(hinted.win, "same_disp_unit"), std::string("true"));
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(hinted.memory) % 256, 0u);
  for (const Allocated* w : {&plain, &hinted}) {
    goes_as_expected(messages, w->win);
    sums(w->win, w->memory);
    // Later hints are told back, and change nothing else.
    MPI_Info later = info_of({{"accumulate_ordering", "none"}, {"mpi_accumulate_granularity", "16"}});
    OK(MPI_Win_set_info(w->win, later));
    OK(MPI_Info_free(&later));
    CHECK_EQ(hint_of(w->win, "mpi_accumulate_granularity"), std::string("16"));
    goes_as_expected(messages, w->win);
    const Query last(w->win, size - 1);
    CHECK((last.base != nullptr) == (shared || me == size - 1));
    sums(w->win, w->memory);
  }
}

// Mappings of memory that a window's ranks share.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) found += line.find(".win.") != line.npos;
  return found;
}

void of_files() {
  Scratch scratch;
  const int before = mappings();
  {
    const Allocated w(1);
    CHECK_EQ(mappings() - before, shared ? 1 : 0);
  }
  MPI_File file = opened(scratch.file("unmapped"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_EQ(mappings(), before);
  const int number = 7;
  OK(MPI_File_write_shared(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQ(mappings(), before);
  OK(MPI_File_close(&file));
}

// What is put is not there, and what is got neither, before the call that completes them.
void delays() {
  const Allocated w(2);
  const Query last(w.win, size - 1);
  CHECK(last.base != nullptr);
  OK(MPI_Win_lock_all(0, w.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (me == 0) {
    const long seven = 7;
    volatile long got = -1;
    OK(MPI_Put(&seven, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, w.win));
    OK(MPI_Get(const_cast<long*>(&got), 1, MPI_LONG, size - 1, 1, 1, MPI_LONG, w.win));
    CHECK_EQ(*static_cast<volatile long*>(last.base), 0L);
    CHECK_EQ(got, -1L);
    OK(MPI_Win_flush(size - 1, w.win));
    CHECK_EQ(*static_cast<volatile long*>(last.base), 7L);
    CHECK_EQ(got, 0L);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_unlock_all(w.win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  me = mpi.rank();
  size = mpi.size();
  const std::string expected = argc > 1 ? argv[1] : "";
  CHECK(expected == "shared" || expected == "apart" || expected == "delayed");
  shared = expected != "apart";
  if (expected == "delayed") {
    delays();
    return 0;
  }
  const Messages messages;
  queries();
  hints(messages);
  of_files();
}
