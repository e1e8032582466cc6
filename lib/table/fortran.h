/* A status as Fortran has it: an array of MPI_F_STATUS_SIZE integers, or a structure of mpi_f08 */
typedef struct MPI_F08_status {
  MPI_Fint MPI_SOURCE;
  MPI_Fint MPI_TAG;
  MPI_Fint MPI_ERROR;
  MPI_Fint MPI_internal[5];
} MPI_F08_status;

/* What Fortran passes for "no status" is an address in a Fortran library, which a program without Fortran has not. */
#if defined(__GNUC__)
extern MPI_Fint MPI_ABI_fortran_special[] __asm__("tutti_fortran_special_") __attribute__((weak));
#define MPI_F_STATUS_IGNORE (MPI_ABI_fortran_special ? MPI_ABI_fortran_special + 6 : (MPI_Fint*)0)
#define MPI_F_STATUSES_IGNORE (MPI_ABI_fortran_special ? MPI_ABI_fortran_special + 14 : (MPI_Fint*)0)
#else
#define MPI_F_STATUS_IGNORE ((MPI_Fint*)0)
#define MPI_F_STATUSES_IGNORE ((MPI_Fint*)0)
#endif
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status*)MPI_F_STATUS_IGNORE)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status*)MPI_F_STATUSES_IGNORE)
