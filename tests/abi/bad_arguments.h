/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of the program that bad_arguments.py makes: a job of one rank, in which errors are
 * returned, and which must be as good as new after all of them. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int done, wrong;
static union {
  char bytes[4096];
  void* aligned;
} memory;
static void* space = &memory;
static MPI_Info info = MPI_INFO_NULL;
static MPI_Datatype type = MPI_DATATYPE_NULL; /* never committed */
static MPI_Comm comm = MPI_COMM_NULL;
static MPI_Win win = MPI_WIN_NULL;
static MPI_File file = MPI_FILE_NULL;
static MPI_Session session = MPI_SESSION_NULL;
static MPI_Comm ring = MPI_COMM_NULL; /* whose one rank is its own neighbour on both sides */
static const int one_ints[] = {1, 1}, no_ints[] = {0, 0};
static const MPI_Count one_counts[] = {1, 1}, no_counts[] = {0, 0};
static const MPI_Aint one_aints[] = {1, 1}, no_aints[] = {0, 0};
static MPI_Datatype ints[2];
static MPI_Request no_request = MPI_REQUEST_NULL;
static MPI_Message no_proc = MPI_MESSAGE_NO_PROC;
static void *foreign_op = MPI_SUM, *foreign_comm = MPI_COMM_WORLD; /* where other kinds are wanted */
static MPI_Message null_message = MPI_MESSAGE_NULL;
MPI_Comm null_MPI_Comm = MPI_COMM_NULL;
MPI_Datatype null_MPI_Datatype = MPI_DATATYPE_NULL;
MPI_Op null_MPI_Op = MPI_OP_NULL;
MPI_Group null_MPI_Group = MPI_GROUP_NULL;
MPI_Errhandler null_MPI_Errhandler = MPI_ERRHANDLER_NULL;
MPI_Win null_MPI_Win = MPI_WIN_NULL;
MPI_File null_MPI_File = MPI_FILE_NULL;
MPI_Session null_MPI_Session = MPI_SESSION_NULL;
MPI_Info null_MPI_Info = MPI_INFO_NULL;

static void expect(int code, int expected, const char* call, const char* function, const char* argument) {
  char text[MPI_MAX_ERROR_STRING];
  int got = -1, length;
  ++done;
  MPI_Error_class(code, &got);
  if (got != expected) {
    ++wrong;
    printf("wrong: %s\n  returned class %d, expected %d\n", call, got, expected);
    return;
  }
  /* The sentence must name the function, and the argument where one is to blame. */
  MPI_Error_string(code, text, &length);
  if (strncmp(function, "MPI_Error_", 10) && (!strstr(text, function) || !strstr(text, argument))) {
    ++wrong;
    printf("wrong: %s\n  does not name %s %s in its message: %s\n", call, function, argument, text);
  }
}
#define EXPECT(call, class_, function, argument) expect((call), (class_), #call, (function), (argument))

static void call_all(void);

int main(int argc, char** argv) {
  int one = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) ++wrong;
  MPI_Info_create(&info);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &one, 0, &ring);
  ints[0] = ints[1] = MPI_INT;
  MPI_Win_create(space, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  if (MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS) ++wrong;
  call_all();
  if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS || sum != 1) {
    ++wrong;
    printf("wrong: no reduction works afterwards\n");
  }
  MPI_File_close(&file);
  if (MPI_Session_finalize(&session) != MPI_SUCCESS) ++wrong;
  MPI_Win_free(&win);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&ring);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
  if (MPI_Finalize() != MPI_SUCCESS) ++wrong;
  printf("%d bad calls, %d wrong answers\n", done, wrong);
  return wrong != 0 || done < 1000;
}
