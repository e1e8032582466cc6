/* SPDX-License-Identifier: BSD-3-Clause */
/* Every procedure begins with ENTER(): it tells the library of C which line of Fortran calls. */
#ifndef TUTTI_FORTRAN_CALLER_H
#define TUTTI_FORTRAN_CALLER_H

#define ENTER() (void)0

#endif
