/* SPDX-License-Identifier: BSD-3-Clause */
/* The datatype that has the same gaps as a section of an array. Those that come over and over are kept. */
#ifndef TUTTI_FORTRAN_SECTION_TYPE_H
#define TUTTI_FORTRAN_SECTION_TYPE_H

#include "conversion.h"
#include "descriptor.h"

struct section_type;

enum section_type_is {
  kTypeMade, /* or an error of MPI's kept it from being made */
  kTooFew,   /* the section has fewer elements than count and datatype say */
  kNoType,   /* no datatype can have all the gaps */
};

/* Of `count` elements of `type` in the section, or of blocks of so many; replaces both by what is to be given to
 * MPI until section_type_end(), also by an operation that outlives that. */
HIDDEN extern enum section_type_is section_type(const struct array* of, MPI_Count* count, MPI_Datatype* type,
                                                int is_blocks, struct section_type** made, int* error);
HIDDEN extern void section_type_end(struct section_type* made);

#endif
