/* SPDX-License-Identifier: BSD-3-Clause */
/* The half of mixed.f90 that is in C. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

void mpi_comm_size_(const MPI_Fint* comm, MPI_Fint* size, MPI_Fint* ierror);
void mpi_recv_(void* buf, const MPI_Fint* count, const MPI_Fint* type, const MPI_Fint* source, const MPI_Fint* tag,
               const MPI_Fint* comm, MPI_Fint* status, MPI_Fint* ierror);

int c_sees_comm(MPI_Fint comm, int ranks) {
  int size = 0;
  return MPI_Comm_size(MPI_Comm_f2c(comm), &size) == MPI_SUCCESS && size == ranks &&
         MPI_Comm_c2f(MPI_Comm_f2c(comm)) == comm;
}

int c_sees_attribute(MPI_Fint comm, int key, intptr_t value) {
  MPI_Aint* attribute = NULL;
  int flag = 0;
  MPI_Comm_get_attr(MPI_Comm_f2c(comm), key, &attribute, &flag);
  return flag && *attribute == value;
}

intptr_t c_sets_attribute(MPI_Fint comm, int key) {
  static int place;
  MPI_Comm_set_attr(MPI_Comm_f2c(comm), key, &place);
  return (intptr_t)&place;
}

/* What MPI_Init of Fortran has told the library. */
int c_knows_logicals(int is, int is_not) {
  int known_is = -7, known_is_not = -7, set = 0, flag = 0, length = 8;
  char size[8] = "";
  MPI_Info info = MPI_INFO_NULL;
  if (MPI_Abi_get_fortran_booleans((int)sizeof(int), &known_is, &known_is_not, &set) != MPI_SUCCESS) return 0;
  if (MPI_Abi_get_fortran_info(&info) != MPI_SUCCESS || info == MPI_INFO_NULL) return 0;
  MPI_Info_get_string(info, "mpi_integer_size", &length, size, &flag);
  MPI_Info_free(&info);
  return set && known_is == is && known_is_not == is_not && flag && size[0] == '4';
}

int c_makes_key(void) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  return key;
}

MPI_Fint c_makes_type(void) {
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  return MPI_Type_c2f(type);
}

static void exclusive_or(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)inout)[i] ^= ((const int*)in)[i];
}

MPI_Fint c_makes_op(void) {
  MPI_Op op;
  MPI_Op_create(exclusive_or, 1, &op);
  return MPI_Op_c2f(op);
}

int c_receives(MPI_Fint comm, MPI_Fint* f_status, MPI_Fint* f08_status) {
  int data[4];
  MPI_Status status;
  if (MPI_Recv(data, 4, MPI_INT, MPI_ANY_SOURCE, 9, MPI_Comm_f2c(comm), &status) != MPI_SUCCESS) return 0;
  return MPI_Status_c2f(&status, f_status) == MPI_SUCCESS &&
         MPI_Status_c2f08(&status, (MPI_F08_status*)f08_status) == MPI_SUCCESS;
}

int c_sees_status(const MPI_Fint* f_status, int source, int tag, int count) {
  MPI_Status status;
  int n = -1;
  if (MPI_Status_f2c(f_status, &status) != MPI_SUCCESS) return 0;
  MPI_Get_count(&status, MPI_INT, &n);
  return status.MPI_SOURCE == source && status.MPI_TAG == tag && n == count;
}

int c_calls_fortran(MPI_Fint comm) {
  MPI_Fint size = 0, error = -1, data = 0, to = 0, tag = 4, count = 1, type = MPI_Type_c2f(MPI_INT);
  mpi_comm_size_(&comm, &size, &error);
  if (error != MPI_SUCCESS) return -1;
  int rank;
  MPI_Comm_rank(MPI_Comm_f2c(comm), &rank);
  to = rank;
  MPI_Request request;
  MPI_Isend(&rank, 1, MPI_INT, to, tag, MPI_Comm_f2c(comm), &request);
  mpi_recv_(&data, &count, &type, &to, &tag, &comm, MPI_F_STATUS_IGNORE, &error);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return error == MPI_SUCCESS && data == rank ? size : -2;
}

/* What Fortran calls MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE, of either interface, is the same in C, and no status. */
int c_knows_no_status(const void* any_ignore, const void* any_ignore_all) {
  const MPI_Fint *ignore = (const MPI_Fint*)any_ignore, *ignore_all = (const MPI_Fint*)any_ignore_all;
  const MPI_F08_status* ignore_f08 = (const MPI_F08_status*)any_ignore;
  const MPI_F08_status* ignore_all_f08 = (const MPI_F08_status*)any_ignore_all;
  MPI_Status status;
  MPI_Fint f[MPI_F_STATUS_SIZE];
  MPI_F08_status f08;
  return ignore == MPI_F_STATUS_IGNORE && ignore_all == MPI_F_STATUSES_IGNORE && ignore_f08 == MPI_F08_STATUS_IGNORE &&
         ignore_all_f08 == MPI_F08_STATUSES_IGNORE && MPI_Status_f2c(ignore, &status) == MPI_ERR_ARG &&
         MPI_Status_f2c(ignore_all, &status) == MPI_ERR_ARG && MPI_Status_f082c(ignore_f08, &status) == MPI_ERR_ARG &&
         MPI_Status_f082f(ignore_all_f08, f) == MPI_ERR_ARG && MPI_Status_f2f08(ignore, &f08) == MPI_ERR_ARG &&
         MPI_Status_c2f(MPI_STATUS_IGNORE, f) == MPI_ERR_ARG;
}

/* All six ways between the three forms of a status, and back to where it began. */
int c_converts_statuses(MPI_Fint comm) {
  int data[3] = {1, 2, 3}, got[4], rank, n = -1, cancelled = -1;
  MPI_Status first, last;
  MPI_Fint f[MPI_F_STATUS_SIZE], f_again[MPI_F_STATUS_SIZE];
  MPI_F08_status f08, f08_again;
  MPI_Comm_rank(MPI_Comm_f2c(comm), &rank);
  MPI_Sendrecv(data, 3, MPI_INT, rank, 31, got, 4, MPI_INT, rank, 31, MPI_Comm_f2c(comm), &first);
  if (MPI_Status_c2f(&first, f) || MPI_Status_f2f08(f, &f08) || MPI_Status_f082c(&f08, &last)) return 0;
  if (MPI_Status_c2f08(&last, &f08_again) || MPI_Status_f082f(&f08_again, f_again) || MPI_Status_f2c(f_again, &last))
    return 0;
  MPI_Get_count(&last, MPI_INT, &n);
  MPI_Test_cancelled(&last, &cancelled);
  return n == 3 && !cancelled && last.MPI_SOURCE == rank && last.MPI_TAG == 31 && f[MPI_F_SOURCE] == rank &&
         f[MPI_F_TAG] == 31 && f08.MPI_TAG == 31 && f[MPI_F_ERROR] == f08.MPI_ERROR;
}

/* An operation of Fortran's and an error handler of Fortran's, used from C. */
int c_uses_functions(MPI_Fint op, MPI_Fint errhandler, int ranks) {
  int one = 3, all = -1, code, class;
  MPI_Comm comm;
  MPI_Errhandler own = MPI_Errhandler_f2c(errhandler);
  if (MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_Op_f2c(op), MPI_COMM_WORLD) != MPI_SUCCESS || all != 3 * ranks)
    return 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, own);
  code = MPI_Send(&one, 1, MPI_INT, ranks, 0, comm);
  MPI_Error_class(code, &class);
  MPI_Comm_free(&comm);
  return class == MPI_ERR_RANK;
}
