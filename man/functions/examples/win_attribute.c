/* SPDX-License-Identifier: BSD-3-Clause */
/* A library counts the epochs of a window, and keeps the count with it. */
#include <mpi.h>
#include <stdio.h>

static int key = MPI_KEYVAL_INVALID;

static void fence(MPI_Win win) {
  int *epochs, there;
  MPI_Win_fence(0, win);
  MPI_Win_get_attr(win, key, &epochs, &there);
  if (there) ++*epochs;
}

int main(void) {
  int *mine, epochs = 0;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key,
                        NULL);
  MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &mine, &win);
  MPI_Win_set_attr(win, key, &epochs);
  fence(win), fence(win), fence(win);
  printf("%d fences\n", epochs);
  MPI_Win_delete_attr(win, key);
  MPI_Win_free(&win);
  MPI_Win_free_keyval(&key);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   3 fences
   3 fences */
