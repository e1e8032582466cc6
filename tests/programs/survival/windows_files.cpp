// SPDX-License-Identifier: BSD-3-Clause
// Windows and files of which a member has failed: their synchronisation and their collective calls end, with
// MPIX_ERR_PROC_FAILED where they need that one, and so do MPI_Win_free and MPI_File_close. Run with
// mpirun --on-failure=continue, on two ranks or more; the last one dies.
#include <unistd.h>

#include "check.hpp"
#include "dying.hpp"

namespace {

int rank, size;

int victim() {
  return size - 1;
}

MPI_Win window(int** memory, int length) {
  MPI_Win made = MPI_WIN_NULL;
  OK(MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(int)) * length, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, memory,
                      &made));
  OK(MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN));
  return made;
}

void fails_or_not(int code) {
  if (code != MPI_SUCCESS) CHECK_EQ(check::error_class(code), MPIX_ERR_PROC_FAILED);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check::world_rank = rank;
  constexpr int kLong = 1 << 20;
  int* memory[7];
  MPI_Win wins[7];
  for (int i = 0; i < 7; ++i) wins[i] = window(&memory[i], kLong);
  int* own = nullptr;
  MPI_Win shared = MPI_WIN_NULL;
  MPI_Comm node;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &own, &shared));
  OK(MPI_Win_set_errhandler(shared, MPI_ERRORS_RETURN));
  OK(MPI_Win_fence(0, wins[0]));
  MPI_Group group, alone;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  const int last = victim();
  OK(MPI_Group_incl(group, 1, &last, &alone));
  const std::string path = "survival." + std::to_string(::getppid());
  MPI_File file = MPI_FILE_NULL;
  OK(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  if (rank == victim()) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[1]));  // and holds it
  dying::fails(MPI_COMM_WORLD, victim());
  std::vector<int> data(kLong, rank);

  OK(MPI_Put(data.data(), kLong, MPI_INT, 0, 0, kLong, MPI_INT, wins[0]));
  FAILS(MPI_Win_fence(0, wins[0]), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Win_fence(0, wins[0]), MPIX_ERR_PROC_FAILED);

  // Whoever comes first may still have it.
  if (rank == 0) {
    int code = MPI_SUCCESS;
    while (code == MPI_SUCCESS) {
      code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[1]);
      if (code == MPI_SUCCESS) fails_or_not(MPI_Win_unlock(0, wins[1]));
    }
    CHECK_EQ(check::error_class(code), MPIX_ERR_PROC_FAILED);
  }
  fails_or_not(MPI_Win_lock(MPI_LOCK_SHARED, victim(), 0, wins[2]));
  FAILS(MPI_Win_lock_all(0, wins[3]), MPIX_ERR_PROC_FAILED);
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, wins[4]));
  MPI_Request request;
  OK(MPI_Rget(data.data(), 1, MPI_INT, victim(), 0, 1, MPI_INT, wins[4], &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  OK(MPI_Rget(data.data(), kLong, MPI_INT, victim(), 0, kLong, MPI_INT, wins[4], &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  OK(MPI_Put(data.data(), kLong, MPI_INT, victim(), 0, kLong, MPI_INT, wins[4]));
  OK(MPI_Accumulate(data.data(), kLong, MPI_INT, victim(), 0, kLong, MPI_INT, MPI_SUM, wins[4]));
  FAILS(MPI_Win_flush(victim(), wins[4]), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Win_flush_local_all(wins[4]), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Win_unlock_all(wins[4]), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Win_start(alone, 0, wins[5]), MPIX_ERR_PROC_FAILED);
  fails_or_not(MPI_Win_complete(wins[5]));
  OK(MPI_Win_post(alone, 0, wins[6]));
  FAILS(MPI_Win_wait(wins[6]), MPIX_ERR_PROC_FAILED);
  fails_or_not(MPI_Win_fence(0, shared));  // the victim may be on another node
  MPI_Win none = MPI_WIN_NULL;
  FAILS(MPI_Win_create(data.data(), 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none), MPIX_ERR_PROC_FAILED);
  for (int i = 0; i < 7; ++i)
    if (i != 2) OK(MPI_Win_free(&wins[i]));
  OK(MPI_Win_free(&shared));

  OK(MPI_File_write_at(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  FAILS(MPI_File_write_at_all(file, 4 * kLong * rank, data.data(), kLong, MPI_INT, MPI_STATUS_IGNORE),
        MPIX_ERR_PROC_FAILED);
  FAILS(MPI_File_read_at_all(file, 0, data.data(), 1, MPI_INT, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  if (MPI_File_iwrite_at_all(file, 0, data.data(), 1, MPI_INT, &request) == MPI_SUCCESS)
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_File_set_size(file, 100), MPIX_ERR_PROC_FAILED);
  fails_or_not(MPI_File_sync(file));
  fails_or_not(MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&alone));
  OK(MPI_Comm_free(&node));
  MPI_Comm made;
  OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &made));
  MPI_Win works = MPI_WIN_NULL;
  OK(MPI_Win_allocate(4, 1, MPI_INFO_NULL, made, &own, &works));
  OK(MPI_Win_fence(0, works));
  OK(MPI_Win_free(&works));
  OK(MPI_Comm_free(&made));
  OK(MPI_Finalize());
  if (rank == 0) std::puts("ok");
}
