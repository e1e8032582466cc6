/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI calls instead of a function of Fortran, and which calls that. */
#include "callbacks.h"

#include <mpi-ext.h>
#include <pthread.h>
#include <stdatomic.h>

/* --- pools: the n-th C function of one calls the n-th function of Fortran that was given to it */

#define FOR_8(with, n) with(n##0) with(n##1) with(n##2) with(n##3) with(n##4) with(n##5) with(n##6) with(n##7)
#define FOR_64(with, n) \
  FOR_8(with, n##0)     \
  FOR_8(with, n##1)     \
  FOR_8(with, n##2) FOR_8(with, n##3) FOR_8(with, n##4) FOR_8(with, n##5) FOR_8(with, n##6) FOR_8(with, n##7)
#define FOR_256(with) FOR_64(with, 0) FOR_64(with, 01) FOR_64(with, 02) FOR_64(with, 03) /* in octal */

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

/* The place of a function in a pool of `size`; -1 if it is new and there is none. */
static int place_in(_Atomic(fortran_function*)* pool, int size, fortran_function* function) {
  int place = 0;
  pthread_mutex_lock(&pools_lock);
  while (place < size && pool[place] && pool[place] != function) place++;
  if (place == size)
    place = -1;
  else
    pool[place] = function;
  pthread_mutex_unlock(&pools_lock);
  return place;
}

static _Atomic(fortran_function*) ops[256], ops_c[64];
static _Atomic(fortran_function*) comm_handlers[64], file_handlers[64], win_handlers[64], session_handlers[64];

static void call_op(int n, void* in, void* inout, const int* count, MPI_Datatype type) {
  const MPI_Fint datatype = datatype_out(type);
  ((fortran_op*)ops[n])(in, inout, count, &datatype);
}
static void call_op_c(int n, void* in, void* inout, const MPI_Count* count, MPI_Datatype type) {
  const MPI_Fint datatype = datatype_out(type);
  ((fortran_op_c*)ops_c[n])(in, inout, count, &datatype);
}
#define OP(n)                                                                 \
  static void op_##n(void* in, void* inout, int* count, MPI_Datatype* type) { \
    call_op(n, in, inout, count, *type);                                      \
  }
#define OP_C(n)                                                                       \
  static void op_c_##n(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) { \
    call_op_c(n, in, inout, count, *type);                                            \
  }
FOR_256(OP)
FOR_64(OP_C, 0)
#define NAME_OP(n) op_##n,
#define NAME_OP_C(n) op_c_##n,
static MPI_User_function* const op_pool[] = {FOR_256(NAME_OP)};
static MPI_User_function_c* const op_c_pool[] = {FOR_64(NAME_OP_C, 0)};

MPI_User_function* op_for(fortran_op* function) {
  const int place = place_in(ops, 256, (fortran_function*)function);
  return place < 0 ? NULL : op_pool[place];
}
MPI_User_function_c* op_c_for(fortran_op_c* function) {
  const int place = place_in(ops_c, 64, (fortran_function*)function);
  return place < 0 ? NULL : op_c_pool[place];
}

// clang-format off
#define ERRHANDLERS(object, type)                                                         \
  static void call_##object##_handler(int n, MPI_##type *handle, int *error) {            \
    MPI_Fint number = object##_out(*handle);                                              \
    ((fortran_errhandler *)object##_handlers[n])(&number, error);                         \
  }
// clang-format on
#define COMM_HANDLER(n)                                        \
  static void comm_handler_##n(MPI_Comm* h, int* error, ...) { \
    call_comm_handler(n, h, error);                            \
  }
#define FILE_HANDLER(n)                                        \
  static void file_handler_##n(MPI_File* h, int* error, ...) { \
    call_file_handler(n, h, error);                            \
  }
#define WIN_HANDLER(n)                                       \
  static void win_handler_##n(MPI_Win* h, int* error, ...) { \
    call_win_handler(n, h, error);                           \
  }
#define SESSION_HANDLER(n)                                           \
  static void session_handler_##n(MPI_Session* h, int* error, ...) { \
    call_session_handler(n, h, error);                               \
  }
ERRHANDLERS(comm, Comm)
ERRHANDLERS(file, File)
ERRHANDLERS(win, Win)
ERRHANDLERS(session, Session)
FOR_64(COMM_HANDLER, 0)
FOR_64(FILE_HANDLER, 0)
FOR_64(WIN_HANDLER, 0)
FOR_64(SESSION_HANDLER, 0)
#define NAME_COMM(n) comm_handler_##n,
#define NAME_FILE(n) file_handler_##n,
#define NAME_WIN(n) win_handler_##n,
#define NAME_SESSION(n) session_handler_##n,
#define HANDLER_FOR(object, type, NAME)                                                     \
  static MPI_##type##_errhandler_function* const object##_pool[] = {FOR_64(NAME, 0)};       \
  MPI_##type##_errhandler_function* object##_errhandler_for(fortran_errhandler* function) { \
    const int place = place_in(object##_handlers, 64, (fortran_function*)function);         \
    return place < 0 ? NULL : object##_pool[place];                                         \
  }
HANDLER_FOR(comm, Comm, NAME_COMM)
HANDLER_FOR(file, File, NAME_FILE)
HANDLER_FOR(win, Win, NAME_WIN)
HANDLER_FOR(session, Session, NAME_SESSION)

int no_more_callbacks(void) {
  static int code;
  pthread_mutex_lock(&pools_lock);
  if (!code && PMPI_Add_error_code(MPI_ERR_OTHER, &code) == MPI_SUCCESS)
    PMPI_Add_error_string(code,
                          "the program has given MPI more different functions than Fortran can pass: 256 for "
                          "operations, 64 for those of large count and for the error handlers of each kind of object");
  pthread_mutex_unlock(&pools_lock);
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, code ? code : MPI_ERR_OTHER);
  return code ? code : MPI_ERR_OTHER;
}

/* --- records */

struct functions* functions_of(fortran_function* first, fortran_function* second, fortran_function* third,
                               MPI_Aint extra, int narrow) {
  static struct functions* all;
  struct functions* one;
  pthread_mutex_lock(&pools_lock);
  for (one = all; one; one = one->older)
    if (one->first == first && one->second == second && one->third == third && one->extra == extra &&
        one->narrow == narrow)
      break;
  if (!one && (one = (struct functions*)malloc(sizeof *one))) {
    *one = (struct functions){first, second, third, extra, narrow, all};
    all = one;
  }
  pthread_mutex_unlock(&pools_lock);
  return one;
}

/* --- attributes. Those of communicators, datatypes and windows differ by the type of the object alone. */

typedef void wide_copy(const MPI_Fint* object, const MPI_Fint* keyval, const MPI_Aint* extra, const MPI_Aint* in,
                       MPI_Aint* out, MPI_Fint* flag, MPI_Fint* ierror);
typedef void narrow_copy(const MPI_Fint* object, const MPI_Fint* keyval, const MPI_Fint* extra, const MPI_Fint* in,
                         MPI_Fint* out, MPI_Fint* flag, MPI_Fint* ierror);
typedef void wide_delete(const MPI_Fint* object, const MPI_Fint* keyval, const MPI_Aint* value, const MPI_Aint* extra,
                         MPI_Fint* ierror);
typedef void narrow_delete(const MPI_Fint* object, const MPI_Fint* keyval, const MPI_Fint* value, const MPI_Fint* extra,
                           MPI_Fint* ierror);

static int copy_attribute(MPI_Fint object, int keyval, const struct functions* f, void* in, void** out, int* flag) {
  MPI_Fint error = MPI_SUCCESS, is_copied = TUTTI_FORTRAN_FALSE;
  MPI_Aint value = attribute_unbox(in), copied = value;
  if (f->narrow) {
    const MPI_Fint extra = (MPI_Fint)f->extra, from = (MPI_Fint)value;
    MPI_Fint to = from;
    ((narrow_copy*)f->first)(&object, &keyval, &extra, &from, &to, &is_copied, &error);
    copied = to;
  } else {
    ((wide_copy*)f->first)(&object, &keyval, &f->extra, &value, &copied, &is_copied, &error);
  }
  *flag = logical_in(is_copied);
  if (*flag && error == MPI_SUCCESS) *out = attribute_box(copied);
  return error;
}

static int delete_attribute(MPI_Fint object, int keyval, const struct functions* f, void* attribute) {
  MPI_Fint error = MPI_SUCCESS;
  const MPI_Aint value = attribute_unbox(attribute);
  if (f->narrow) {
    const MPI_Fint extra = (MPI_Fint)f->extra, narrow = (MPI_Fint)value;
    ((narrow_delete*)f->second)(&object, &keyval, &narrow, &extra, &error);
  } else {
    ((wide_delete*)f->second)(&object, &keyval, &value, &f->extra, &error);
  }
  return error;
}

#define SAME(function, predefined) ((function) == (fortran_function*)(predefined))
#define KEYVAL(object, type, OBJECT, convert)                                                                  \
  static int object##_copy(MPI_##type handle, int keyval, void* extra, void* in, void* out, int* flag) {       \
    return copy_attribute(convert(handle), keyval, (const struct functions*)extra, in, (void**)out, flag);     \
  }                                                                                                            \
  static int object##_delete(MPI_##type handle, int keyval, void* value, void* extra) {                        \
    return delete_attribute(convert(handle), keyval, (const struct functions*)extra, value);                   \
  }                                                                                                            \
  VISIBLE void mpi_##object##_dup_fn_f08_(void) __attribute__((alias("mpi_" #object "_dup_fn_")));             \
  VISIBLE void mpi_##object##_null_copy_fn_f08_(void) __attribute__((alias("mpi_" #object "_null_copy_fn_"))); \
  VISIBLE void mpi_##object##_null_delete_fn_f08_(void) __attribute__((alias("mpi_" #object "_null_delete_fn_")));
KEYVAL(comm, Comm, COMM, comm_out)
KEYVAL(type, Datatype, TYPE, datatype_out)
KEYVAL(win, Win, WIN, win_out)

MPI_Comm_copy_attr_function* comm_copy_for(fortran_function* f) {
  if (SAME(f, mpi_comm_null_copy_fn_) || SAME(f, mpi_null_copy_fn_)) return MPI_COMM_NULL_COPY_FN;
  return SAME(f, mpi_comm_dup_fn_) || SAME(f, mpi_dup_fn_) ? MPI_COMM_DUP_FN : comm_copy;
}
MPI_Comm_delete_attr_function* comm_delete_for(fortran_function* f) {
  return SAME(f, mpi_comm_null_delete_fn_) || SAME(f, mpi_null_delete_fn_) ? MPI_COMM_NULL_DELETE_FN : comm_delete;
}
MPI_Type_copy_attr_function* type_copy_for(fortran_function* f) {
  if (SAME(f, mpi_type_null_copy_fn_)) return MPI_TYPE_NULL_COPY_FN;
  return SAME(f, mpi_type_dup_fn_) ? MPI_TYPE_DUP_FN : type_copy;
}
MPI_Type_delete_attr_function* type_delete_for(fortran_function* f) {
  return SAME(f, mpi_type_null_delete_fn_) ? MPI_TYPE_NULL_DELETE_FN : type_delete;
}
MPI_Win_copy_attr_function* win_copy_for(fortran_function* f) {
  if (SAME(f, mpi_win_null_copy_fn_)) return MPI_WIN_NULL_COPY_FN;
  return SAME(f, mpi_win_dup_fn_) ? MPI_WIN_DUP_FN : win_copy;
}
MPI_Win_delete_attr_function* win_delete_for(fortran_function* f) {
  return SAME(f, mpi_win_null_delete_fn_) ? MPI_WIN_NULL_DELETE_FN : win_delete;
}

#define COPY(name, value_type, copied)                           \
  PREDEFINED_COPY(name, value_type) {                            \
    (void)object, (void)keyval, (void)extra;                     \
    if (copied) *out = *in;                                      \
    *flag = (copied) ? TUTTI_FORTRAN_TRUE : TUTTI_FORTRAN_FALSE; \
    *ierror = MPI_SUCCESS;                                       \
  }
#define DELETE(name, value_type)                          \
  PREDEFINED_DELETE(name, value_type) {                   \
    (void)object, (void)keyval, (void)value, (void)extra; \
    *ierror = MPI_SUCCESS;                                \
  }
COPY(mpi_comm_dup_fn_, MPI_Aint, 1)
COPY(mpi_comm_null_copy_fn_, MPI_Aint, 0)
DELETE(mpi_comm_null_delete_fn_, MPI_Aint)
COPY(mpi_type_dup_fn_, MPI_Aint, 1)
COPY(mpi_type_null_copy_fn_, MPI_Aint, 0)
DELETE(mpi_type_null_delete_fn_, MPI_Aint)
COPY(mpi_win_dup_fn_, MPI_Aint, 1)
COPY(mpi_win_null_copy_fn_, MPI_Aint, 0)
DELETE(mpi_win_null_delete_fn_, MPI_Aint)
COPY(mpi_dup_fn_, MPI_Fint, 1)
COPY(mpi_null_copy_fn_, MPI_Fint, 0)
DELETE(mpi_null_delete_fn_, MPI_Fint)

/* The keys of MPI point to an int in C, but for the base and the size of a window. */
MPI_Aint comm_attribute_out(int keyval, void* attribute) {
  const int is_predefined = (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) || keyval == MPIX_FT;
  return is_predefined ? (MPI_Aint) * (const int*)attribute : attribute_unbox(attribute);
}
MPI_Aint win_attribute_out(int keyval, void* attribute) {
  switch (keyval) {
    case MPI_WIN_BASE:
      return (MPI_Aint)attribute;
    case MPI_WIN_SIZE:
      return *(const MPI_Aint*)attribute;
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
      return *(const int*)attribute;
    default:
      return attribute_unbox(attribute);
  }
}

/* --- generalized requests: the record belongs to the request and goes with it */

int grequest_query(void* extra_state, MPI_Status* status) {
  struct functions* f = (struct functions*)extra_state;
  MPI_Fint error = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, MPI_Status*, MPI_Fint*))f->first)(&f->extra, status, &error);
  return error;
}
int grequest_free(void* extra_state) {
  struct functions* f = (struct functions*)extra_state;
  MPI_Fint error = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, MPI_Fint*))f->second)(&f->extra, &error);
  free(f);
  return error;
}
int grequest_cancel(void* extra_state, int complete) {
  struct functions* f = (struct functions*)extra_state;
  MPI_Fint error = MPI_SUCCESS, is_complete = complete ? TUTTI_FORTRAN_TRUE : TUTTI_FORTRAN_FALSE;
  ((void (*)(MPI_Aint*, MPI_Fint*, MPI_Fint*))f->third)(&f->extra, &is_complete, &error);
  return error;
}

/* --- data representations */

typedef void conversion(void* user, const MPI_Fint* datatype, const MPI_Fint* count, void* file,
                        const MPI_Offset* position, MPI_Aint* extra, MPI_Fint* ierror);
typedef void conversion_c(void* user, const MPI_Fint* datatype, const MPI_Count* count, void* file,
                          const MPI_Offset* position, MPI_Aint* extra, MPI_Fint* ierror);

#define CONVERT(name, interface, count_type, which)                                                                \
  static int name(void* user, MPI_Datatype type, count_type count, void* file, MPI_Offset position, void* extra) { \
    struct functions* f = (struct functions*)extra;                                                                \
    const MPI_Fint datatype = datatype_out(type);                                                                  \
    MPI_Fint error = MPI_SUCCESS;                                                                                  \
    ((interface*)f->which)(user, &datatype, &count, file, &position, &f->extra, &error);                           \
    return error;                                                                                                  \
  }
CONVERT(read_conversion, conversion, int, first)
CONVERT(write_conversion, conversion, int, second)
CONVERT(read_conversion_c, conversion_c, MPI_Count, first)
CONVERT(write_conversion_c, conversion_c, MPI_Count, second)

MPI_Datarep_conversion_function* conversion_for(fortran_function* function, int is_read) {
  if (SAME(function, mpi_conversion_fn_null_)) return MPI_CONVERSION_FN_NULL;
  return is_read ? read_conversion : write_conversion;
}
MPI_Datarep_conversion_function_c* conversion_c_for(fortran_function* function, int is_read) {
  if (SAME(function, mpi_conversion_fn_null_c_)) return MPI_CONVERSION_FN_NULL_C;
  return is_read ? read_conversion_c : write_conversion_c;
}
int datarep_extent(MPI_Datatype type, MPI_Aint* extent, void* extra_state) {
  struct functions* f = (struct functions*)extra_state;
  const MPI_Fint datatype = datatype_out(type);
  MPI_Fint error = MPI_SUCCESS;
  ((void (*)(const MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint*))f->third)(&datatype, extent, &f->extra, &error);
  return error;
}

void mpi_conversion_fn_null_(void* user, const MPI_Fint* datatype, const MPI_Fint* count, void* file,
                             const MPI_Offset* position, const MPI_Aint* extra, MPI_Fint* ierror) {
  (void)user, (void)datatype, (void)count, (void)file, (void)position, (void)extra;
  *ierror = MPI_ERR_CONVERSION; /* it stands for "no conversion", and nobody calls it */
}
void mpi_conversion_fn_null_c_(void* user, const MPI_Fint* datatype, const MPI_Count* count, void* file,
                               const MPI_Offset* position, const MPI_Aint* extra, MPI_Fint* ierror) {
  (void)user, (void)datatype, (void)count, (void)file, (void)position, (void)extra;
  *ierror = MPI_ERR_CONVERSION;
}
