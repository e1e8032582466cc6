/* SPDX-License-Identifier: BSD-3-Clause */
/* Every procedure begins with ENTER(): while it runs, the library of C tells of the line of Fortran that called it
 * and not of this library. Another library of MPI's ABI has no such function, and is told nothing. */
#ifndef TUTTI_FORTRAN_CALLER_H
#define TUTTI_FORTRAN_CALLER_H

#include "conversion.h"

extern const void** tutti_caller(void) __attribute__((weak));

struct caller {
  const void **place, *outer; /* outer: a procedure may run in a callback of another one */
};

#ifdef __GLIBC__
#define FOUND_AT_ONCE __attribute__((tls_model("initial-exec")))
#else /* others load no such library into a process that runs already */
#define FOUND_AT_ONCE
#endif

static inline struct caller caller_enter(const void* address) {
  static _Thread_local const void* nowhere;
  static _Thread_local FOUND_AT_ONCE const void** place;
  if (UNLIKELY(!place)) place = tutti_caller ? tutti_caller() : &nowhere;
  const struct caller c = {place, *place};
  *place = address;
  return c;
}
static inline void caller_leave(const struct caller* c) {
  *c->place = c->outer;
}

#define ENTER() \
  __attribute__((cleanup(caller_leave), unused)) const struct caller caller_ = caller_enter(__builtin_return_address(0))

#endif
