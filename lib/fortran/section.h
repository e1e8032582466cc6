/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers as mpi_f08 hands them over: by descriptor (descriptor.h), which may be of a section with
 * gaps. A buffer without gaps is its address. For another one a datatype is made that has the gaps, and which
 * MPI keeps as long as an operation needs it. Where a datatype cannot do (reductions, several blocks that do
 * not lie alike, derived datatypes with gaps of their own), the call works on a copy: a blocking one for as long as
 * it runs, another one for as long as its request is there, or until a call says that it is complete: the one that
 * synchronises a window, or the second half of a split access. A partition is copied when MPI_Pready hands it over, and
 * when MPI_Parrived says that it has come. The library of MPI has to tell of that (Tutti's does); above another one such
 * a buffer is refused with a sentence. Of a compiler's own copy, which is gone when the call returns, another one is sent,
 * and what receives into it is refused. */
#ifndef TUTTI_FORTRAN_SECTION_H
#define TUTTI_FORTRAN_SECTION_H

#include "conversion.h"
#include "descriptor.h"

enum section_use {
  kOnce,    /* count elements of the datatype, and the count counts nothing else */
  kBlocks,  /* the count, or several, count elements of blocks that follow each other */
  kReduced, /* no datatype of ours will do, for an operation is applied; count and datatype tell how many elements */
  kCopy,    /* no datatype of ours will do: there are several datatypes, or an operation is applied to blocks */
  kAddress, /* one element is meant, or where it begins */
  kIgnored, /* no element is: on this rank the argument means nothing */
  kPlain,   /* memory without a datatype: may not have gaps */
};
enum section_flow {
  kIn = 1,
  kOut = 2,
  kInOut = 3,
  kLater = 4,   /* or: the call returns before it is done, */
  kRequest = 8, /* and its request tells when it is, */
  kWindow = 16, /* or the window that it is an operation on, */
  kSplit = 32,  /* or the second half of the access to a file; */
  kAgain = 64,  /* and the request may start more than once */
};

/* lib/for_fortran.cpp; another library of the ABI has no such function. */
enum watched { kStarts, kEnds, kGoes, kReady, kArrived };
typedef void watch_function(void* state, int what, int partition);
extern int tutti_watch_request(MPI_Request request, watch_function* watcher, void* state) __attribute__((weak));

struct kept_copy;    /* the copy, and where it came from */
struct section_type; /* section_type.h */

struct section {
  void* address;
  struct kept_copy* copy;    /* NULL: none */
  struct section_type* type; /* NULL: none */
  int is_refused;            /* the call must not be made, even where an error handler leaves MPI_SUCCESS */
};

/* By which function, and on what, a refusal is raised. */
struct raised_on {
  const char* function;
  enum { kOnComm, kOnFile, kOnWin } what;
  void* handle;
};

HIDDEN extern int section_make(struct section* section, const descriptor* by, MPI_Count* count, MPI_Datatype* type,
                               enum section_use use, int flow, struct raised_on on);
HIDDEN extern void section_end(struct section* section);
/* There are `partitions` of `count` elements each in the buffer: behind section_begin(), with the call's own arguments. */
HIDDEN extern int section_partitions(struct section* section, int partitions, MPI_Count count, MPI_Datatype type,
                                     struct raised_on on);
/* The copy belongs to the request from now on, which may start (and copy) again if it is persistent. */
HIDDEN extern void section_keep(struct section* section, MPI_Request request, int is_persistent);
/* Or to the window, until what has been started at `rank` is complete there, or to the file, until the access ends. */
HIDDEN extern void section_keep_for_window(struct section* section, MPI_Win win, int rank);
HIDDEN extern void section_keep_for_split(struct section* section, MPI_File file, const descriptor* of);

/* lib/for_fortran.cpp: not NULL with --check=strict, under which arrays are compared with what calls say of them. */
extern const void* const* const tutti_strict __attribute__((weak));
static inline int is_judged(void) {
  return &tutti_strict && *tutti_strict;
}

static inline int section_begin(struct section* section, const descriptor* of, MPI_Count* count, MPI_Datatype* type,
                                enum section_use use, int flow, struct raised_on on) {
  section->address = address_in(of->base_addr);
  section->copy = NULL;
  section->type = NULL;
  section->is_refused = 0;
  const int may_be_gone = (flow & kLater) && !(flow & kOut) && may_be_copy(of);
  return UNLIKELY(!is_plain(of) || may_be_gone || is_judged()) ? section_make(section, of, count, type, use, flow, on)
                                                               : MPI_SUCCESS;
}
#define SECTION_PARTITIONS(section, partitions, count, type, on) \
  UNLIKELY((section).copy != NULL) ? section_partitions(&(section), partitions, count, type, on) : MPI_SUCCESS
#define SECTION_KEEP(section, request, is_persistent) \
  if (UNLIKELY((section).copy != NULL)) section_keep(&(section), request, is_persistent)
#define SECTION_KEEP_FOR_WINDOW(section, win, rank) \
  if (UNLIKELY((section).copy != NULL)) section_keep_for_window(&(section), win, rank)
#define SECTION_KEEP_FOR_SPLIT(section, file, of) \
  if (UNLIKELY((section).copy != NULL)) section_keep_for_split(&(section), file, of)
#define SECTION_END(section) \
  if (UNLIKELY(((section).copy != NULL) | ((section).type != NULL))) section_end(&(section))

#endif
