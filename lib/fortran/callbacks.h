/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of Fortran that MPI calls. C hands them an extra state, which tells of the function, for attributes,
 * generalized requests and data representations; for operations and error handlers it does not, so each such
 * function of the program gets a C function of its own out of a pool. */
#ifndef TUTTI_FORTRAN_CALLBACKS_H
#define TUTTI_FORTRAN_CALLBACKS_H

#include "conversion.h"

typedef void fortran_function(void); /* of any interface */

typedef void fortran_op(void* in, void* inout, const MPI_Fint* count, const MPI_Fint* datatype);
typedef void fortran_op_c(void* in, void* inout, const MPI_Count* count, const MPI_Fint* datatype);
typedef void fortran_errhandler(MPI_Fint* handle, MPI_Fint* error);

/* NULL if all functions of the pool are taken. One function of the program takes one, however often it is used. */
HIDDEN extern MPI_User_function* op_for(fortran_op* function);
HIDDEN extern MPI_User_function_c* op_c_for(fortran_op_c* function);
HIDDEN extern MPI_Comm_errhandler_function* comm_errhandler_for(fortran_errhandler* function);
HIDDEN extern MPI_File_errhandler_function* file_errhandler_for(fortran_errhandler* function);
HIDDEN extern MPI_Win_errhandler_function* win_errhandler_for(fortran_errhandler* function);
HIDDEN extern MPI_Session_errhandler_function* session_errhandler_for(fortran_errhandler* function);

/* Raises that a pool is exhausted. */
HIDDEN extern int no_more_callbacks(void);

/* The functions of a keyval, or of a data representation, and its extra state. Equal ones are the same record,
 * and none is ever freed: MPI may call a function of a keyval long after the keyval was freed. */
struct functions {
  fortran_function *first, *second, *third;
  MPI_Aint extra;
  int narrow; /* attributes are INTEGER, as before MPI 2 */
  struct functions* older;
};
HIDDEN extern struct functions* functions_of(fortran_function* first, fortran_function* second, fortran_function* third,
                                             MPI_Aint extra, int narrow);

/* The C function to create a keyval with: a trampoline, or what the predefined function is in C. */
HIDDEN extern MPI_Comm_copy_attr_function* comm_copy_for(fortran_function* function);
HIDDEN extern MPI_Comm_delete_attr_function* comm_delete_for(fortran_function* function);
HIDDEN extern MPI_Type_copy_attr_function* type_copy_for(fortran_function* function);
HIDDEN extern MPI_Type_delete_attr_function* type_delete_for(fortran_function* function);
HIDDEN extern MPI_Win_copy_attr_function* win_copy_for(fortran_function* function);
HIDDEN extern MPI_Win_delete_attr_function* win_delete_for(fortran_function* function);
/* Fortran's value of an attribute: what a predefined key's address points to. */
HIDDEN extern MPI_Aint comm_attribute_out(int keyval, void* attribute);
HIDDEN extern MPI_Aint win_attribute_out(int keyval, void* attribute);

HIDDEN extern int grequest_query(void* extra_state, MPI_Status* status);
HIDDEN extern int grequest_free(void* extra_state);
HIDDEN extern int grequest_cancel(void* extra_state, int complete);

HIDDEN extern MPI_Datarep_conversion_function* conversion_for(fortran_function* function, int is_read);
HIDDEN extern MPI_Datarep_conversion_function_c* conversion_c_for(fortran_function* function, int is_read);
HIDDEN extern int datarep_extent(MPI_Datatype datatype, MPI_Aint* extent, void* extra_state);

/* The predefined functions, as Fortran sees them. */
#define PREDEFINED_COPY(name, value_type)                                                                          \
  VISIBLE void name(const MPI_Fint* object, const MPI_Fint* keyval, const value_type* extra, const value_type* in, \
                    value_type* out, MPI_Fint* flag, MPI_Fint* ierror)
#define PREDEFINED_DELETE(name, value_type)                                                                           \
  VISIBLE void name(const MPI_Fint* object, const MPI_Fint* keyval, const value_type* value, const value_type* extra, \
                    MPI_Fint* ierror)
PREDEFINED_COPY(mpi_comm_dup_fn_, MPI_Aint);
PREDEFINED_COPY(mpi_comm_null_copy_fn_, MPI_Aint);
PREDEFINED_DELETE(mpi_comm_null_delete_fn_, MPI_Aint);
PREDEFINED_COPY(mpi_type_dup_fn_, MPI_Aint);
PREDEFINED_COPY(mpi_type_null_copy_fn_, MPI_Aint);
PREDEFINED_DELETE(mpi_type_null_delete_fn_, MPI_Aint);
PREDEFINED_COPY(mpi_win_dup_fn_, MPI_Aint);
PREDEFINED_COPY(mpi_win_null_copy_fn_, MPI_Aint);
PREDEFINED_DELETE(mpi_win_null_delete_fn_, MPI_Aint);
PREDEFINED_COPY(mpi_dup_fn_, MPI_Fint);
PREDEFINED_COPY(mpi_null_copy_fn_, MPI_Fint);
PREDEFINED_DELETE(mpi_null_delete_fn_, MPI_Fint);
VISIBLE void mpi_conversion_fn_null_(void* user, const MPI_Fint* datatype, const MPI_Fint* count, void* file,
                                     const MPI_Offset* position, const MPI_Aint* extra, MPI_Fint* ierror);
VISIBLE void mpi_conversion_fn_null_c_(void* user, const MPI_Fint* datatype, const MPI_Count* count, void* file,
                                       const MPI_Offset* position, const MPI_Aint* extra, MPI_Fint* ierror);

#endif
