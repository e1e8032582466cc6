/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_FORTRAN_UNLIKELY_H
#define TUTTI_FORTRAN_UNLIKELY_H

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#endif
