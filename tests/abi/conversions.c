/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles and statuses to Fortran and back, by functions that stand in mpi.h alone: directly, through
 * pointers, and by the names for tools. Compiled as C and as C++; also by removed.sh in old dialects. */
#include <mpi.h>
#include <stdio.h>

static int bad = 0, done = 0;
#define EXPECT(truth, what) (++done, (truth) ? (void)0 : (void)(++bad, printf("wrong: %s\n", what)))

/* A handle that exists, the null handle, and a second one that must have another number. */
#define THERE_AND_BACK(name, type, first, second, null)                               \
  do {                                                                                \
    MPI_Fint (*out)(type) = name##_c2f;                                               \
    type (*back)(MPI_Fint) = name##_f2c;                                              \
    EXPECT(name##_f2c(name##_c2f(first)) == (first), #name " there and back");        \
    EXPECT(P##name##_f2c(P##name##_c2f(first)) == (first), "P" #name);                \
    EXPECT(back(out(first)) == (first), #name " through pointers");                   \
    EXPECT(name##_f2c(name##_c2f(null)) == (null), #name " of the null handle");      \
    EXPECT(out(first) != out(second) && out(first) != out(null), #name " is unique"); \
    EXPECT(out(first) == name##_toint(first), #name "_c2f gives what _toint gives");  \
    EXPECT(back(0x7ffffff0) == (type)0, #name " of a number that is nobody's");       \
    EXPECT(back(-7) == (type)0 && out((type)0) == 0, #name " that is not valid");     \
  } while (0)

static void before_init(void) {
  EXPECT(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "a communicator before MPI_Init");
  EXPECT(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE, "a type before MPI_Init");
}

static void handles(void) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Errhandler errhandler = MPI_ERRORS_RETURN;
  MPI_Group group;
  MPI_Info info;
  MPI_Message message = MPI_MESSAGE_NO_PROC;
  MPI_Request request, receive, wrong;
  MPI_Win win;
  int sent = 5, got = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Info_create(&info);
  MPI_Win_create(&got, sizeof got, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Irecv(&got, 1, MPI_INT, 0, 0, comm, &receive);
  MPI_Isend(&sent, 1, MPI_INT, 0, 0, comm, &request);

  THERE_AND_BACK(MPI_Comm, MPI_Comm, comm, MPI_COMM_WORLD, MPI_COMM_NULL);
  THERE_AND_BACK(MPI_Type, MPI_Datatype, type, MPI_INT, MPI_DATATYPE_NULL);
  THERE_AND_BACK(MPI_Group, MPI_Group, group, MPI_GROUP_EMPTY, MPI_GROUP_NULL);
  THERE_AND_BACK(MPI_Op, MPI_Op, MPI_SUM, MPI_MAX, MPI_OP_NULL);
  THERE_AND_BACK(MPI_Errhandler, MPI_Errhandler, errhandler, MPI_ERRORS_ARE_FATAL, MPI_ERRHANDLER_NULL);
  THERE_AND_BACK(MPI_Info, MPI_Info, info, MPI_INFO_ENV, MPI_INFO_NULL);
  THERE_AND_BACK(MPI_Request, MPI_Request, request, receive, MPI_REQUEST_NULL);
  THERE_AND_BACK(MPI_Win, MPI_Win, win, MPI_WIN_NULL, MPI_WIN_NULL);
  EXPECT(MPI_Message_f2c(MPI_Message_c2f(message)) == MPI_MESSAGE_NO_PROC, "MPI_MESSAGE_NO_PROC");
  EXPECT(PMPI_Message_f2c(PMPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL, "MPI_MESSAGE_NULL");
  EXPECT(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL, "MPI_SESSION_NULL");
  EXPECT(PMPI_Session_f2c(PMPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL, "MPI_SESSION_NULL for tools");
  EXPECT(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL, "MPI_FILE_NULL");
  EXPECT(PMPI_File_f2c(PMPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL, "MPI_FILE_NULL for tools");

  /* A handle that is not valid is not the null one, for which nothing would be waited. */
  wrong = MPI_Request_f2c(12345);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT(MPI_Wait(&wrong, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST, "a request that was never made");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);

  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  EXPECT(got == 5, "the message");
  MPI_Win_free(&win);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

/* What a program can see of a status must survive, also what only functions tell. */
static void expect_status(const MPI_Status* status, const char* what) {
  int count = -1, cancelled = -1;
  MPI_Get_count(status, MPI_INT, &count);
  MPI_Test_cancelled(status, &cancelled);
  EXPECT(status->MPI_SOURCE == 0 && status->MPI_TAG == 17 && status->MPI_ERROR == 99 && count == 3 && cancelled == 0,
         what);
}

static void statuses(void) {
  int sent[3] = {1, 2, 3}, got[4], code;
  MPI_Status status, back;
  MPI_Fint in_array[MPI_F_STATUS_SIZE], again[MPI_F_STATUS_SIZE] = {0};
  MPI_F08_status in_structure;
  int (*to_fortran)(const MPI_Status*, MPI_Fint*) = MPI_Status_c2f;
  int (*from_fortran)(const MPI_Fint*, MPI_Status*) = MPI_Status_f2c;
  MPI_Sendrecv(sent, 3, MPI_INT, 0, 17, got, 4, MPI_INT, 0, 17, MPI_COMM_WORLD, &status);
  status.MPI_ERROR = 99;
  code = to_fortran(&status, in_array);
  EXPECT(code == MPI_SUCCESS && in_array[MPI_F_SOURCE] == 0 && in_array[MPI_F_TAG] == 17 && in_array[MPI_F_ERROR] == 99,
         "MPI_Status_c2f");
  code = from_fortran(in_array, &back);
  EXPECT(code == MPI_SUCCESS, "MPI_Status_f2c");
  expect_status(&back, "c to f to c");

  MPI_Status_c2f08(&status, &in_structure);
  EXPECT(in_structure.MPI_SOURCE == 0 && in_structure.MPI_TAG == 17 && in_structure.MPI_ERROR == 99,
         "MPI_Status_c2f08");
  MPI_Status_set_elements(&back, MPI_INT, 0);
  MPI_Status_f082c(&in_structure, &back);
  expect_status(&back, "c to f08 to c");
  MPI_Status_f082f(&in_structure, again);
  MPI_Status_f2c(again, &back);
  expect_status(&back, "c to f08 to f to c");
  in_structure.MPI_TAG = 0;
  MPI_Status_f2f08(in_array, &in_structure);
  PMPI_Status_f082c(&in_structure, &back);
  expect_status(&back, "c to f to f08 to c");

  EXPECT(MPI_Status_c2f(MPI_STATUS_IGNORE, in_array) == MPI_ERR_ARG, "no status to convert");
  EXPECT(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back) == MPI_ERR_ARG, "no status of Fortran's to convert");
}

int main(int argc, char** argv) {
  before_init();
  MPI_Init(&argc, &argv);
  handles();
  statuses();
  MPI_Finalize();
  printf("%d checks, %d wrong\n", done, bad);
  return bad != 0;
}
