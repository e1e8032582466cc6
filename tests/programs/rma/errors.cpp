// SPDX-License-Identifier: BSD-3-Clause
// What is refused on windows, with which error class and in which words; and that the window and
// its memory are as before. TUTTI_ONLY: the words are Tutti's, and others do not look at epochs and
// displacements.
#include "check.hpp"

namespace {

int* memory = nullptr;
MPI_Win win = MPI_WIN_NULL;

void refused(const char* file, int line, const char* call, int code, int wanted, const char* words) {
  const std::string text = check::error_text(code);
  if (check::error_class(code) != wanted || text.find(words) == std::string::npos)
    check::fail(file, line, std::string(call) + " gave \"" + text + "\", expected the words \"" + words + "\"");
}
#define REFUSED(call, wanted, words) refused(__FILE__, __LINE__, #call, call, wanted, words)

int put(int rank, MPI_Aint at, int count = 1, MPI_Datatype type = MPI_INT) {
  static int data[64];
  return MPI_Put(data, count, type, rank, at, count, type, win);
}

void of_comm(MPI_Comm*, int*, ...) {}
void forgive(MPI_Win*, int* code, ...) {
  *code = MPI_SUCCESS;
}
void of_win(MPI_Win*, int*, ...) {}

void constructors() {
  MPI_Win made = MPI_WIN_NULL;
  void* base = nullptr;
  const auto fails = [&](int code, int wanted, const char* words) {
    refused(__FILE__, __LINE__, "a constructor", code, wanted, words);
  };
  int one = 1;
  const MPI_Comm self = MPI_COMM_SELF;
  fails(MPI_Win_create(&one, -1, 1, MPI_INFO_NULL, self, &made), MPI_ERR_SIZE, "-1 is no size");
  fails(MPI_Win_create(&one, 4, 0, MPI_INFO_NULL, self, &made), MPI_ERR_DISP, "0 is no unit of displacements");
  fails(MPI_Win_create(nullptr, 4, 1, MPI_INFO_NULL, self, &made), MPI_ERR_ARG, "the address is NULL, yet 4 bytes");
  fails(MPI_Win_create(&one, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &made), MPI_ERR_COMM, "the communicator is null");
  fails(MPI_Win_create(&one, 4, 1, MPI_INFO_NULL, self, nullptr), MPI_ERR_ARG, "the address is NULL (argument win)");
  fails(MPI_Win_allocate(-4, 1, MPI_INFO_NULL, self, &base, &made), MPI_ERR_SIZE, "-4 is no size");
  fails(MPI_Win_allocate(4, -1, MPI_INFO_NULL, self, &base, &made), MPI_ERR_DISP, "-1 is no unit");
  fails(MPI_Win_allocate_shared(-4, 1, MPI_INFO_NULL, self, &base, &made), MPI_ERR_SIZE, "-4 is no size");
  fails(MPI_Win_allocate_shared(4, 0, MPI_INFO_NULL, self, &base, &made), MPI_ERR_DISP, "0 is no unit");
  fails(MPI_Win_allocate_shared(MPI_Aint{1} << 60, 1, MPI_INFO_NULL, self, &base, &made), MPI_ERR_NO_MEM,
        "/dev/shm has no");
  CHECK(made == MPI_WIN_NULL);
}

void handles() {
  MPI_Win null = MPI_WIN_NULL;
  int flag;
  REFUSED(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN, "the window is null (argument win)");
  REFUSED(MPI_Win_free(&null), MPI_ERR_WIN, "the window is null (argument win)");
  REFUSED(MPI_Win_test(MPI_WIN_NULL, &flag), MPI_ERR_WIN, "the window is null");
  REFUSED(MPI_Put(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN, "the window is null");
  REFUSED(MPI_Win_fence(0, reinterpret_cast<MPI_Win>(MPI_COMM_WORLD)), MPI_ERR_WIN, "is no window");
  MPI_Errhandler handler;
  OK(MPI_Comm_create_errhandler(of_comm, &handler));
  REFUSED(MPI_Win_set_errhandler(win, handler), MPI_ERR_ERRHANDLER,
          "was made for communicators by MPI_Comm_create_errhandler");
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Win_create_errhandler(of_win, &handler));
  REFUSED(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler), MPI_ERR_ERRHANDLER, "was made for windows");
  OK(MPI_Errhandler_free(&handler));
  // The call returns what the handler leaves.
  OK(MPI_Win_create_errhandler(forgive, &handler));
  MPI_Errhandler before;
  OK(MPI_Win_get_errhandler(win, &before));
  OK(MPI_Win_set_errhandler(win, handler));
  OK(MPI_Win_unlock(0, win));
  OK(MPI_Win_set_errhandler(win, before));
  OK(MPI_Errhandler_free(&before));
  OK(MPI_Errhandler_free(&handler));
}

void epochs(int me, int size) {
  int flag, one = 1, seen;
  MPI_Request request;
  REFUSED(put(me, 0), MPI_ERR_RMA_SYNC, "no access epoch is open for rank");
  REFUSED(MPI_Fetch_and_op(&one, &seen, MPI_INT, me, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC, "no access epoch");
  REFUSED(MPI_Win_complete(win), MPI_ERR_RMA_SYNC, "MPI_Win_start comes first");
  REFUSED(MPI_Win_wait(win), MPI_ERR_RMA_SYNC, "MPI_Win_post comes first");
  REFUSED(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC, "MPI_Win_post comes first");
  REFUSED(MPI_Win_unlock(me, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock comes first");
  REFUSED(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all has not locked");
  REFUSED(MPI_Win_flush(me, win), MPI_ERR_RMA_SYNC, "is not locked by this one");
  REFUSED(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC, "there is no lock on the window");
  REFUSED(MPI_Win_flush_local(me, win), MPI_ERR_RMA_SYNC, "is not locked by this one");
  REFUSED(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC, "there is no lock on the window");

  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), MPI_ERR_RMA_SYNC, "locked by this one already");
  REFUSED(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "call MPI_Win_unlock first");
  REFUSED(MPI_Win_start(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC, "call MPI_Win_unlock first");
  REFUSED(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "call MPI_Win_unlock first");
  REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "MPI_Win_lock is open");
  REFUSED(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "has not locked");
  if (size > 1) REFUSED(put((me + 1) % size, 0), MPI_ERR_RMA_SYNC, "no access epoch");
  OK(MPI_Win_unlock(me, win));

  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), MPI_ERR_RMA_SYNC, "call MPI_Win_unlock_all first");
  REFUSED(MPI_Win_unlock(me, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all ends");
  REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all is open");
  OK(MPI_Win_unlock_all(win));

  OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
  REFUSED(MPI_Win_post(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC, "call MPI_Win_wait first");
  REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "MPI_Win_post is open");
  REFUSED(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "call MPI_Win_wait first");
  OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
  REFUSED(MPI_Win_start(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC, "call MPI_Win_complete first");
  REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), MPI_ERR_RMA_SYNC, "call MPI_Win_complete first");
  REFUSED(put(me, 0), MPI_ERR_RMA_SYNC, "is not in the group that MPI_Win_start was given");
  REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "MPI_Win_start is open");
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));

  OK(MPI_Win_fence(0, win));
  REFUSED(MPI_Rput(&one, 1, MPI_INT, me, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC, "want a lock on rank");
  OK(put(me, 0));
  REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "operations since the last MPI_Win_fence");
  REFUSED(MPI_Win_fence(MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT, "yet there were operations");
  REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), MPI_ERR_RMA_SYNC, "call it once more first");
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  REFUSED(put(me, 0), MPI_ERR_RMA_SYNC, "no access epoch is open");
}

// What was refused has not happened: no other epoch waits for its end, nor does MPI_Win_free.
void refused_behind_a_fence(int me) {
  MPI_Win own;
  char *base, one = 1, other = 1;
  double number = 1;
  OK(MPI_Win_allocate(16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &own));
  OK(MPI_Win_set_errhandler(own, MPI_ERRORS_RETURN));
  OK(MPI_Win_fence(0, own));
  const auto all_refused = [&] {
    REFUSED(MPI_Put(&one, 1, MPI_BYTE, me, 16, 1, MPI_BYTE, own), MPI_ERR_RMA_RANGE, "are not in the memory");
    REFUSED(MPI_Put(&one, 1, MPI_BYTE, me, 0, 1, MPI_INT, own), MPI_ERR_TYPE, "less than");
    REFUSED(MPI_Put(MPI_IN_PLACE, 1, MPI_BYTE, me, 0, 1, MPI_BYTE, own), MPI_ERR_BUFFER, "MPI_IN_PLACE is no memory");
    REFUSED(MPI_Get(&one, 1, MPI_BYTE, me, -1, 1, MPI_BYTE, own), MPI_ERR_DISP, "is negative");
    REFUSED(MPI_Accumulate(&one, 1, MPI_BYTE, me, 0, 1, MPI_BYTE, MPI_NO_OP, own), MPI_ERR_OP, "MPI_NO_OP");
    REFUSED(MPI_Get_accumulate(&one, 1, MPI_BYTE, &other, 1, MPI_BYTE, me, 0, 1, MPI_BYTE, MPI_SUM, own), MPI_ERR_OP,
            "is not defined");
    REFUSED(MPI_Fetch_and_op(&one, &other, MPI_BYTE, me, 0, MPI_SUM, own), MPI_ERR_OP, "is not defined");
    REFUSED(MPI_Compare_and_swap(&number, &number, &number, MPI_DOUBLE, me, 0, own), MPI_ERR_TYPE,
            "cannot be compared");
  };
  all_refused();
  OK(MPI_Put(&one, 0, MPI_BYTE, me, 0, 0, MPI_BYTE, own));  // nor has one of nothing
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, own));
  OK(MPI_Win_unlock(me, own));
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, own));
  all_refused();
  OK(MPI_Put(&one, 1, MPI_BYTE, me, 0, 1, MPI_BYTE, own));
  REFUSED(MPI_Win_free(&own), MPI_ERR_RMA_SYNC, "operations since the last MPI_Win_fence");
  OK(MPI_Win_fence(0, own));
  all_refused();
  OK(MPI_Win_free(&own));
}

void arguments(int me, int size) {
  OK(MPI_Win_fence(0, win));
  int one = 1, two = 2, seen;
  REFUSED(put(size, 0), MPI_ERR_RANK, "is not in a window of");
  REFUSED(put(-5, 0), MPI_ERR_RANK, "rank -5");
  REFUSED(put(me, -1), MPI_ERR_DISP, "displacement -1 is negative");
  REFUSED(put(me, 10), MPI_ERR_RMA_RANGE, "bytes 40 to 43 are not in the memory of rank");
  REFUSED(put(me, 8, 3), MPI_ERR_RMA_RANGE,
          "whose size is 40 bytes: displacement 8 in units of 4 bytes, 3 elements of MPI_INT");
  REFUSED(put(me, 0, -1), MPI_ERR_COUNT, "-1 is negative");
  REFUSED(MPI_Put(nullptr, 1, MPI_INT, me, 0, 1, MPI_INT, win), MPI_ERR_BUFFER, "the buffer is NULL");
  REFUSED(put(me, 0, 1, MPI_DATATYPE_NULL), MPI_ERR_TYPE, "the datatype is null");
  REFUSED(MPI_Put(&one, 1, MPI_INT, me, 0, 1, MPI_SHORT, win), MPI_ERR_TRUNCATE,
          "the origin has 4 bytes, more than the 2");
  REFUSED(MPI_Get(&one, 1, MPI_SHORT, me, 0, 1, MPI_INT, win), MPI_ERR_TYPE, "the origin has 2 bytes, less than the 4");
  REFUSED(MPI_Accumulate(&one, 1, MPI_INT, me, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP,
          "MPI_NO_OP is for calls that fetch");
  REFUSED(MPI_Accumulate(&one, 1, MPI_INT, me, 0, 1, MPI_INT, MPI_MINLOC, win), MPI_ERR_OP,
          "MPI_MINLOC is not defined on MPI_INT");
  REFUSED(MPI_Accumulate(&one, 1, MPI_INT, me, 0, 4, MPI_BYTE, MPI_REPLACE, win), MPI_ERR_TYPE,
          "one predefined datatype on both sides");
  REFUSED(MPI_Accumulate(&one, 1, MPI_INT, me, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP, "the operation is null");
  MPI_Op own;
  OK(MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &own));
  REFUSED(MPI_Accumulate(&one, 1, MPI_INT, me, 0, 1, MPI_INT, own, win), MPI_ERR_OP, "cannot be used on windows");
  OK(MPI_Op_free(&own));
  const int lengths[] = {1, 1};
  const MPI_Aint at[] = {0, 4};
  const MPI_Datatype parts[] = {MPI_INT, MPI_FLOAT};
  MPI_Datatype mixed;
  OK(MPI_Type_create_struct(2, lengths, at, parts, &mixed));
  int data[2] = {};
  REFUSED(MPI_Put(data, 1, mixed, me, 0, 1, mixed, win), MPI_ERR_TYPE, "is not committed");
  OK(MPI_Type_commit(&mixed));
  REFUSED(MPI_Accumulate(data, 1, mixed, me, 0, 1, mixed, MPI_REPLACE, win), MPI_ERR_TYPE,
          "made of different predefined datatypes");
  REFUSED(MPI_Fetch_and_op(data, data, mixed, me, 0, MPI_REPLACE, win), MPI_ERR_TYPE, "is no predefined datatype");
  OK(MPI_Type_free(&mixed));
  const double real = 1;
  double result;
  REFUSED(MPI_Compare_and_swap(&real, &real, &result, MPI_DOUBLE, me, 0, win), MPI_ERR_TYPE,
          "cannot be compared and swapped");
  REFUSED(MPI_Compare_and_swap(&one, nullptr, &seen, MPI_INT, me, 0, win), MPI_ERR_BUFFER, "argument compare_addr");
  REFUSED(MPI_Compare_and_swap(&one, &two, &seen, MPI_INT, me, 10, win), MPI_ERR_RMA_RANGE, "bytes 40 to 43");
  REFUSED(MPI_Fetch_and_op(nullptr, &seen, MPI_INT, me, 0, MPI_SUM, win), MPI_ERR_BUFFER, "argument origin_addr");
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));

  REFUSED(MPI_Win_lock(7, me, 0, win), MPI_ERR_LOCKTYPE, "7 is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED");
  REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK, "is not in a window of");
  REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win), MPI_ERR_RANK, "MPI_PROC_NULL");
  REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, me, MPI_MODE_NOSTORE, win), MPI_ERR_ASSERT, "is no assertion for this call");
  REFUSED(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT, "is no assertion");
  REFUSED(MPI_Win_post(MPI_GROUP_EMPTY, MPI_MODE_NOSUCCEED, win), MPI_ERR_ASSERT, "is no assertion");
  REFUSED(MPI_Win_start(MPI_GROUP_EMPTY, 1, win), MPI_ERR_ASSERT, "is no assertion");
  REFUSED(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP, "the group is null");
  int key = MPI_WIN_BASE;
  REFUSED(MPI_Win_set_attr(win, key, &one), MPI_ERR_KEYVAL, "predefined");
  REFUSED(MPI_Win_free_keyval(&key), MPI_ERR_KEYVAL, "predefined");
  REFUSED(MPI_Win_attach(win, &one, 4), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
  REFUSED(MPI_Win_detach(win, &one), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
}

// One rank has no memory for its part: no rank gets a window, and all go on.
void no_memory(int rank, int size) {
  MPI_Info apart;
  OK(MPI_Info_create(&apart));
  OK(MPI_Info_set(apart, "mpi_minimum_memory_alignment", "65536"));  // which memory of the node's does not have
  const MPI_Aint bytes = rank == size - 1 ? MPI_Aint{1} << 60 : 64;
  const char* const said = rank == size - 1 ? "there is no memory for 1152921504606846976 bytes" : "bytes of rank";
  void* base;
  MPI_Win made;
  for (MPI_Info info : {MPI_INFO_NULL, apart})
    REFUSED(MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &made), MPI_ERR_NO_MEM, said);
  OK(MPI_Win_allocate(64, 1, apart, MPI_COMM_WORLD, &base, &made));
  OK(MPI_Win_free(&made));
  OK(MPI_Info_free(&apart));
}

// The group of a window on fewer processes; a process outside of it.
void foreign_group(int size) {
  if (size < 2) return;
  MPI_Win own;
  OK(MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &own));
  OK(MPI_Win_set_errhandler(own, MPI_ERRORS_RETURN));
  MPI_Group all;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  REFUSED(MPI_Win_post(all, 0, own), MPI_ERR_GROUP, "is not in the window's");
  REFUSED(MPI_Win_start(all, 0, own), MPI_ERR_GROUP, "is not in the window's");
  OK(MPI_Group_free(&all));
  OK(MPI_Win_free(&own));
}

// What only the target knows comes back to the call that completes the operation.
void attached(int me, int size) {
  MPI_Win dynamic;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
  OK(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
  std::vector<int> mine(50'000, 3), data(50'000, 4);
  OK(MPI_Win_attach(dynamic, mine.data(), 200'000));
  REFUSED(MPI_Win_attach(dynamic, mine.data() + 10, 4), MPI_ERR_RMA_ATTACH, "overlap what is attached");
  REFUSED(MPI_Win_detach(dynamic, mine.data() + 10), MPI_ERR_RMA_ATTACH, "nothing was attached at");
  REFUSED(MPI_Win_attach(dynamic, nullptr, 4), MPI_ERR_RMA_ATTACH, "the address is NULL");
  REFUSED(MPI_Win_attach(dynamic, data.data(), -4), MPI_ERR_SIZE, "-4 is no size");
  MPI_Aint base;
  int unit;
  REFUSED(MPI_Win_shared_query(dynamic, 0, &base, &unit, &base), MPI_ERR_RMA_FLAVOR, "no memory of its own to share");
  std::vector<MPI_Aint> bases(static_cast<size_t>(size));
  OK(MPI_Get_address(mine.data(), &base));
  OK(MPI_Allgather(&base, 1, MPI_AINT, bases.data(), 1, MPI_AINT, MPI_COMM_WORLD));
  const int next = (me + 1) % size;
  const MPI_Aint behind = MPI_Aint_add(bases[static_cast<size_t>(next)], 199'996);
  for (const int count : {2, 50'000}) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, dynamic));
    OK(MPI_Put(data.data(), count, MPI_INT, next, behind, count, MPI_INT, dynamic));
    REFUSED(MPI_Win_flush(next, dynamic), MPI_ERR_RMA_RANGE, "has attached no memory at address");
    OK(MPI_Get(data.data(), count, MPI_INT, next, behind, count, MPI_INT, dynamic));
    REFUSED(MPI_Win_flush(next, dynamic), MPI_ERR_RMA_RANGE, "has attached no memory at address");
    OK(MPI_Accumulate(data.data(), count, MPI_INT, next, behind, count, MPI_INT, MPI_SUM, dynamic));
    REFUSED(MPI_Win_flush(next, dynamic), MPI_ERR_RMA_RANGE, "has attached no memory at address");
    MPI_Request request;
    std::vector<int> old(static_cast<size_t>(count));
    OK(MPI_Rget_accumulate(data.data(), count, MPI_INT, old.data(), count, MPI_INT, next, behind, count, MPI_INT,
                           MPI_SUM, dynamic, &request));
    REFUSED(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE, "has attached no memory at address");
    OK(MPI_Rget(data.data(), count, MPI_INT, next, behind, count, MPI_INT, dynamic, &request));
    REFUSED(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE, "has attached no memory at address");
    OK(MPI_Compare_and_swap(&me, &me, &unit, MPI_INT, next, 64, dynamic));
    REFUSED(MPI_Win_unlock(next, dynamic), MPI_ERR_RMA_RANGE, "has attached no memory at address");
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (const int v : mine) CHECK_EQ(v, 3);
  for (const int v : data) CHECK_EQ(v, 4);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, dynamic));  // all is well behind it
  OK(MPI_Put(data.data(), 50'000, MPI_INT, next, bases[static_cast<size_t>(next)], 50'000, MPI_INT, dynamic));
  OK(MPI_Win_unlock(next, dynamic));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, dynamic));
  for (const int v : mine) CHECK_EQ(v, 4);
  OK(MPI_Win_unlock(me, dynamic));
  OK(MPI_Win_detach(dynamic, mine.data()));
  OK(MPI_Win_free(&dynamic));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  constructors();
  OK(MPI_Win_allocate(40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  std::fill(memory, memory + 10, 0);
  handles();
  epochs(mpi.rank(), mpi.size());
  arguments(mpi.rank(), mpi.size());
  for (int i = 0; i < 10; ++i) CHECK_EQ(memory[i], 0);
  OK(MPI_Win_free(&win));
  refused_behind_a_fence(mpi.rank());
  no_memory(mpi.rank(), mpi.size());
  foreign_group(mpi.size());
  attached(mpi.rank(), mpi.size());
}
