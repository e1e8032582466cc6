// SPDX-License-Identifier: BSD-3-Clause
// What opening a file costs, in counts that no clock changes, however many ranks open it. The same collective calls; no
// message where their ranks share memory, and elsewhere those of trees. Of shared memory the page of the shared pointer at
// most, and none for the window of the file, which is memory of its owner's; and of the heap the same for each file that is
// open. Counts what is taken for windows in the library's place: the program's posix_fallocate() comes before that of the C
// library. For runs in which nobody looks on at files (--check=strict, sanitizers).
#include <malloc.h>
#include <unistd.h>

#include "file/scratch.hpp"
#include "rma/messages.hpp"
#include "rma/taken.hpp"

namespace {

constexpr long kPage = 4096;
constexpr int kFiles = 8;

// Bytes that this process has mapped and shares with whoever has them, too.
long shared() {
  std::ifstream maps("/proc/self/maps");
  long bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;
    char access[8] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, access) == 3 && access[3] == 's')
      bytes += static_cast<long>(end - begin);
  }
  return bytes;
}

class Collectives {
 public:
  Collectives() {
    int level, index = -1, count = 0;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    OK(MPI_T_pvar_session_create(&session_));
    OK(MPI_T_pvar_get_index("collectives.started", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session_, index, nullptr, &started_, &count));
    OK(MPI_T_pvar_start(session_, started_));
  }
  ~Collectives() {
    MPI_T_pvar_handle_free(session_, &started_);
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
  }
  Collectives(const Collectives&) = delete;
  long started() const {
    unsigned long count = 0;
    OK(MPI_T_pvar_read(session_, started_, &count));
    return static_cast<long>(count);
  }

 private:
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle started_ = MPI_T_PVAR_HANDLE_NULL;
};

long heap() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<long>(now.uordblks + now.hblkhd);
}

struct Cost {
  long collectives, messages, shared, taken, heap;  // of one file
};

// Collective over `comm`, as MPI_File_open is. Of some files that are open at once, behind others that leave what is kept.
Cost cost(const std::string& path, MPI_Comm comm, const Messages& messages, const Collectives& collectives) {
  constexpr int kMode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_File files[kFiles];
  for (int k = 0; k < 2; ++k) {
    files[0] = opened(path, kMode, comm);
    OK(MPI_File_close(&files[0]));
  }
  OK(MPI_Barrier(comm));
  const long before[] = {shared(), taken, heap()}, started = collectives.started();
  const std::vector<long> sent = messages.by([&] {
    for (MPI_File& file : files) file = opened(path, kMode, comm);
  });
  Cost c{collectives.started() - started, 0, shared() - before[0], taken - before[1], heap() - before[2]};
  for (const long count : sent) c.messages += count;
  for (long* each : {&c.collectives, &c.messages, &c.shared, &c.taken, &c.heap}) *each = (*each + kFiles - 1) / kFiles;
  for (MPI_File& file : files) OK(MPI_File_close(&file));
  return c;
}

// Of a tree, and one more, which ranks take whose number is no power of two.
long rounds_of(int ranks) {
  long rounds = 1;
  for (int reach = 1; reach < ranks; reach *= 2) ++rounds;
  return rounds;
}

void at_most(long count, long most, int ranks, const char* what) {
  if (count <= most) return;
  std::fprintf(stderr, "%d ranks: %s: %ld for each file, and %ld are the most\n", ranks, what, count, most);
  CHECK(count <= most);
}

}  // namespace

// The argument, if there is one: the ranks share no memory.
int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  constexpr long kCollectives = 4, kMostOfHeap = 24 << 10;
  const int me = mpi.rank(), size = mpi.size();
  const bool apart = argc > 1;
  const Messages messages;
  const Collectives collectives;
  Scratch scratch;
  const std::string path = scratch.file("opened");
  for (int ranks = 2; ranks <= size; ++ranks) {
    MPI_Comm some;
    OK(MPI_Comm_split(MPI_COMM_WORLD, me < ranks ? 0 : MPI_UNDEFINED, 0, &some));
    if (some == MPI_COMM_NULL) continue;
    const Cost c = cost(path, some, messages, collectives);
    CHECK_EQ_IN(c.collectives, kCollectives, "%d ranks", ranks);
    at_most(c.messages, apart ? kCollectives * rounds_of(ranks) : 0, ranks, "messages");
    at_most(c.shared, apart ? 0 : kPage, ranks, "shared");
    CHECK_EQ_IN(c.taken, 0L, "%d ranks", ranks);
    at_most(c.heap, kMostOfHeap, ranks, "heap");
    OK(MPI_Comm_free(&some));
  }
}
