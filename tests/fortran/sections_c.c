/* SPDX-License-Identifier: BSD-3-Clause */
/* C completes a request of Fortran's, and has memory of which the next page may not be read. */
#include <mpi.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

void* c_last_integer_of_a_page(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* const two = (char*)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (two == MAP_FAILED || mprotect(two + page, page, PROT_NONE) != 0) return NULL;
  return two + page - sizeof(MPI_Fint);
}

void c_waits(MPI_Fint* request) {
  MPI_Request own = MPI_Request_f2c(*request);
  MPI_Wait(&own, MPI_STATUS_IGNORE);
  *request = MPI_Request_c2f(own);
}
