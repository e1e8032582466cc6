/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers as mpi_f08 hands them over: by descriptor (ISO_Fortran_binding.h), which may be of a section with
 * gaps. A buffer without gaps is its address. For another one a datatype is made that has the gaps, and which
 * MPI keeps as long as an operation needs it; where a datatype cannot do (reductions, several blocks that do
 * not lie alike), a blocking call works on a copy and any other is refused with a sentence. */
#ifndef TUTTI_FORTRAN_SECTION_H
#define TUTTI_FORTRAN_SECTION_H

#include <ISO_Fortran_binding.h>

#include "conversion.h"

enum section_use {
  kOnce,    /* count elements of the datatype, and the count counts nothing else */
  kBlocks,  /* the count, or several, count elements of blocks that follow each other */
  kCopy,    /* no datatype of ours will do: an operation is applied, or there are several datatypes */
  kAddress, /* where it begins is all that matters */
  kPlain,   /* memory without a datatype: may not have gaps */
};
enum section_flow { kIn = 1, kOut = 2, kInOut = 3, kLater = 4 /* or: the call returns before it is done */ };

struct section {
  void *address;
  const CFI_cdesc_t *of; /* which copy() shall go back to, if any */
  int is_copy, is_type, flow;
  MPI_Datatype type;
};

HIDDEN extern int section_make(struct section *section, const CFI_cdesc_t *of, MPI_Count *count, MPI_Datatype *type,
                               enum section_use use, int flow, MPI_Comm on);
HIDDEN extern void section_end(struct section *section);

static inline int has_gaps(const CFI_cdesc_t *d) {
  CFI_index_t expected = (CFI_index_t)d->elem_len;
  for (int i = 0; i < d->rank; i++) {
    if (d->dim[i].extent <= 0) return 0; /* nothing is in it, or it is of assumed size, which has no gaps */
    if (d->dim[i].sm != expected && d->dim[i].extent != 1) return 1;
    expected *= d->dim[i].extent;
  }
  return 0;
}

static inline int section_begin(struct section *section, const CFI_cdesc_t *of, MPI_Count *count, MPI_Datatype *type,
                                enum section_use use, int flow, MPI_Comm on) {
  section->address = address_in(of->base_addr);
  section->is_copy = section->is_type = 0;
  return UNLIKELY(has_gaps(of)) ? section_make(section, of, count, type, use, flow, on) : MPI_SUCCESS;
}
#define SECTION_END(section) \
  if (UNLIKELY((section).is_copy | (section).is_type)) section_end(&(section))

#endif
