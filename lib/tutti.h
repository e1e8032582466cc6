/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of a program, by which `mpirun --profile` tells where the time goes:

     tutti_region_begin("assembly");
     ...
     tutti_region_end();

   A region is of the thread that begins it, and they nest. Without --profile they do nothing, and with another MPI, too: they
   are calls of MPI_Pcontrol (the standard, section 15.2.4), whose levels mean what a tool makes of them. Errors: none. */
#ifndef TUTTI_H
#define TUTTI_H

#include <mpi.h>

#define TUTTI_PCONTROL_REGION_BEGIN 0x7475001 /* const char *name */
#define TUTTI_PCONTROL_REGION_END 0x7475002

static inline void tutti_region_begin(const char* name) {
  (void)MPI_Pcontrol(TUTTI_PCONTROL_REGION_BEGIN, name);
}
static inline void tutti_region_end(void) {
  (void)MPI_Pcontrol(TUTTI_PCONTROL_REGION_END);
}

#endif
