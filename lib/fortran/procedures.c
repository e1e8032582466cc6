/* SPDX-License-Identifier: BSD-3-Clause */
/* The procedures of Fortran, under the names that compilers give them: lower case and an underscore. Each calls
 * the C function of its own prefix, so that a tool that replaces MPI_Send sees those of Fortran, too. */
#include <mpi-ext.h>
#include <string.h>
#include <tutti.h>

#include "callbacks.h"
#include "caller.h"
#include "section.h"

/* Tells the library of C what Fortran's logicals look like and how long its numbers are, unless it knows. */
static void tell_of_fortran(void) {
  int size = (int)sizeof(MPI_Fint), is_set = 0;
  MPI_Fint true_value = TUTTI_FORTRAN_TRUE, false_value = TUTTI_FORTRAN_FALSE;
  MPI_Fint known_true, known_false;
  if (PMPI_Abi_get_fortran_booleans(size, &known_true, &known_false, &is_set) == MPI_SUCCESS && !is_set)
    PMPI_Abi_set_fortran_booleans(size, &true_value, &false_value);
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Abi_get_fortran_info(&info) != MPI_SUCCESS) return;
  if (info != MPI_INFO_NULL) { /* somebody has told */
    PMPI_Info_free(&info);
    return;
  }
  if (PMPI_Info_create(&info) != MPI_SUCCESS) return;
  static const char* const sizes[][2] = {
      {"mpi_logical_size", "4"}, {"mpi_integer_size", "4"}, {"mpi_real_size", "4"}, {"mpi_double_precision_size", "8"}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) PMPI_Info_set(info, sizes[i][0], sizes[i][1]);
#ifdef TUTTI_FORTRAN_NO_REAL10 /* probe.sh has found out */
  PMPI_Info_set(info, "tutti_real10_supported", "false");
#else
  PMPI_Info_set(info, "tutti_real10_supported", "true");
#endif
  PMPI_Abi_set_fortran_info(info);
  PMPI_Info_free(&info);
}

/* A new communicator that C gives later; Fortran's variable for it. */
struct shrinking {
  MPI_Comm made;
  MPI_Fint* newcomm;
};
static void shrinking_watched(void* state, int what, int partition) {
  struct shrinking* const s = (struct shrinking*)state;
  (void)partition;
  if (what == kEnds) *s->newcomm = comm_out(s->made);
  if (what == kGoes) free(s);
}

#define COLD static __attribute__((cold, noinline))
#define SECTIONS_COME_FIRST
#define C(name) MPI_##name
#define F(name) mpi_##name##_
#define TS(name) mpi_##name##_f08ts_
#define F08(name) mpi_##name##_f08_
#define NAME_OF(name) "mpi_" #name "_"
#include "procedures.inc"
#include "special.inc"
#undef C
#undef F
#undef F08
#undef NAME_OF
#define C(name) MPIX_##name
#define F(name) mpix_##name##_
#define F08(name) mpix_##name##_f08_
#define NAME_OF(name) "mpix_" #name "_"
#include "extensions.inc"
#include "special_ext.inc"
#undef C
#undef F
#undef TS
#undef SECTIONS_COME_FIRST
#undef F08
#undef NAME_OF

#define C(name) PMPI_##name
#define F(name) pmpi_##name##_
#define TS(name) pmpi_##name##_f08ts_
#define F08(name) pmpi_##name##_f08_
#define NAME_OF(name) "pmpi_" #name "_"
#include "procedures.inc"
#include "special.inc"
#undef C
#undef F
#undef F08
#undef NAME_OF
#define C(name) PMPIX_##name
#define F(name) pmpix_##name##_
#define F08(name) pmpix_##name##_f08_
#define NAME_OF(name) "pmpix_" #name "_"
#include "extensions.inc"
#include "special_ext.inc"

/* Regions of a program, as tutti.h has them for C: call tutti_region_begin('assembly'). Blanks behind a name are none of it. */
void tutti_region_begin_(const char* name, size_t name_length) {
  char text[64];
  while (name_length > 0 && name[name_length - 1] == ' ') name_length--;
  if (name_length >= sizeof text) name_length = sizeof text - 1;
  memcpy(text, name, name_length);
  text[name_length] = 0;
  tutti_region_begin(text);
}
void tutti_region_end_(void) {
  tutti_region_end();
}
