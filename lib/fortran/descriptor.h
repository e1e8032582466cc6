/* SPDX-License-Identifier: BSD-3-Clause */
/* How a buffer of mpi_f08 comes: by the compiler's descriptor of it. That is C's (ISO_Fortran_binding.h) where the
 * procedures can be bind(C). gfortran changes the caller's own descriptor when it makes one of C for a component of an
 * array, a%x, and takes polymorphic objects for others; without bind(C) it hands over its own kind of descriptor, and
 * of a component a copy, which is gone when the procedure returns. probe.sh finds out which of both is right. */
#ifndef TUTTI_FORTRAN_DESCRIPTOR_H
#define TUTTI_FORTRAN_DESCRIPTOR_H

#include <stddef.h>

#include "unlikely.h"

enum { kMaxRank = 15 };

/* What the rest of the library knows of an array, whoever has described it. */
struct array {
  char* base;
  size_t elem_len;
  int rank;
  struct dimension {
    ptrdiff_t extent, stride; /* the stride in bytes */
  } dim[kMaxRank];
};

enum described {
  kWell,
  kFormer, /* by an object that was compiled when the modules wanted C's descriptors */
  kUntold, /* the descriptor does not tell how long an element is, or how far the next one */
};

/* What the elements are, where their length is known: that of objects of other types compilers do not always tell, nor
 * that of characters, where probe.sh finds out whether they do. */
enum number { kNoNumber, kInteger, kReal, kOtherNumber, kCharacters };

#ifdef TUTTI_FORTRAN_OWN_DESCRIPTORS

/* gfortran's since GCC 9, which libgfortran.h has. */
typedef struct {
  char* base_addr;
  size_t offset;
  size_t elem_len;
  int version;
  signed char rank, type;
  short attribute;
  ptrdiff_t span; /* bytes from one element to the next where the stride is 1; of arrays alone, and not always set */
  struct {
    ptrdiff_t stride, lower_bound, upper_bound;
  } dim[kMaxRank];
} descriptor;

enum { kComplexType = 4, kDerivedType = 5, kCharacterType = 6 }; /* below them integers, logicals and reals */

/* C's descriptor has its version, rank and type where this one has the length of an element. */
static inline int is_former(const descriptor* d) {
  return d->elem_len >> 40 != 0;
}
/* Variables come with a lower bound of 1, and copies with one of 0. */
static inline int is_copy(const descriptor* d) {
#ifdef TUTTI_FORTRAN_COPIES_ARE_TOLD
  return d->rank != 0 && d->dim[0].lower_bound == 0;
#else
  (void)d;
  return 0;
#endif
}
/* Where variables come with the lower bounds that they were declared with (gfortran 11), those that begin at 0 look like
 * copies. That matters to sends that do not block. */
static inline int may_be_copy(const descriptor* d) {
#ifdef TUTTI_FORTRAN_COPIES_ARE_TOLD
  (void)d;
  return 0;
#else
  for (int i = 0; i < d->rank; i++)
    if (d->dim[i].lower_bound != 0) return 0;
  return d->rank != 0;
#endif
}

/* Whether its address is all that there is to know of the buffer: it has no gaps, and is none of the rare ones that
 * array_of() looks at. */
static inline int is_plain(const descriptor* d) {
  ptrdiff_t expected = 1;
  if (d->rank == 0) return !is_former(d);
  if (UNLIKELY(is_former(d) | is_copy(d) | ((size_t)d->span != d->elem_len))) return 0;
  for (int i = 0; i < d->rank; i++) {
    const ptrdiff_t extent = d->dim[i].upper_bound - d->dim[i].lower_bound + 1;
    if (extent <= 0) return 1; /* nothing is in it, or it is of assumed size, which has no gaps */
    if (d->dim[i].stride != expected && extent != 1) return 0;
    expected *= extent;
  }
  return 1;
}

/* Whether the span may be that of a pointer to components, which are shorter than it. */
static inline int may_be_span(const descriptor* d) {
  enum { kLongType = 1 << 24 };
  const size_t whole = d->type == kComplexType ? d->elem_len / 2 : d->elem_len;
  const ptrdiff_t aligned = d->type <= kComplexType && whole > 0 && whole <= 8 ? (ptrdiff_t)whole : 1;
  return d->span > (ptrdiff_t)d->elem_len && d->span <= kLongType && d->span % aligned == 0;
}

/* 0: it is not known. */
static inline ptrdiff_t span_of(const descriptor* d) {
  if (d->type > kCharacterType) return d->span > 0 ? d->span : 0; /* polymorphic: its length is in the span alone */
  if ((size_t)d->span == d->elem_len) return d->span;
#ifdef TUTTI_FORTRAN_SPANS_MAY_BE_UNSET
  /* Of arrays that were allocated by assigning RESHAPE, MATMUL or the like, it is whatever has been there. */
  if (!may_be_span(d)) return (ptrdiff_t)d->elem_len;
  return 0;
#else
  /* A pointer to a component of derived type, which is shorter than its span, looks like elements of an extended type,
   * which are longer than told. */
  if (d->type == kDerivedType) return d->span ? 0 : (ptrdiff_t)d->elem_len;
  return may_be_span(d) ? d->span : (ptrdiff_t)d->elem_len;
#endif
}

static inline enum described array_of(const descriptor* d, struct array* a) {
  *a = (struct array){d->base_addr, d->elem_len, 0, {{0, 0}}};
  if (is_former(d)) return kFormer;
  if (d->rank == 0 || !d->base_addr) return kWell; /* nothing else is set of what is not there */
  a->rank = d->rank;
  const ptrdiff_t span = span_of(d);
  enum described how = span == 0 ? kUntold : kWell; /* the extents are told in any case */
  if (d->type > kCharacterType) a->elem_len = (size_t)span;
  ptrdiff_t expected = 1;
  for (int i = 0; i < d->rank; i++) {
    a->dim[i].extent = d->dim[i].upper_bound - d->dim[i].lower_bound + 1;
    a->dim[i].stride = d->dim[i].stride * span;
#ifdef TUTTI_FORTRAN_SPANS_ARE_SHORT /* of polymorphic characters, which then are like single ones */
    if (d->type > kCharacterType && span == 1 && d->dim[i].stride != expected && a->dim[i].extent > 1) how = kUntold;
#endif
    expected *= a->dim[i].extent;
  }
  return how;
}

static inline enum number number_of(const descriptor* d) {
  static const enum number numbers[] = {kNoNumber, kInteger, kOtherNumber, kReal, kOtherNumber}; /* 2: logicals */
#ifdef TUTTI_FORTRAN_CHARACTERS_ARE_TOLD
  if (d->type == kCharacterType && (size_t)d->span == d->elem_len) return kCharacters;
#endif
  return d->type >= 0 && d->type <= kComplexType ? numbers[(int)d->type] : kNoNumber;
}

static inline size_t element_length(const descriptor* d) {
  return is_former(d) ? d->offset : d->elem_len; /* which is where C's has the length */
}

#else

#include <ISO_Fortran_binding.h>

typedef CFI_cdesc_t descriptor;

static inline int is_former(const descriptor* d) {
  (void)d;
  return 0;
}
static inline int is_copy(const descriptor* d) {
  (void)d;
  return 0;
}
static inline int may_be_copy(const descriptor* d) {
  (void)d;
  return 0;
}

/* The compiler calls something else polymorphic, as probe.sh has found. */
static inline int is_untold(const descriptor* d) {
#ifdef TUTTI_FORTRAN_OTHERS_ARE_WRONG
  return d->type == CFI_type_other;
#else
  (void)d;
  return 0;
#endif
}

static inline int is_plain(const descriptor* d) {
  ptrdiff_t expected = (ptrdiff_t)d->elem_len;
  if (UNLIKELY(is_untold(d))) return 0;
  for (int i = 0; i < d->rank; i++) {
    if (d->dim[i].extent <= 0) return 1;
    if (d->dim[i].sm != expected && d->dim[i].extent != 1) return 0;
    expected *= d->dim[i].extent;
  }
  return 1;
}

static inline enum described array_of(const descriptor* d, struct array* a) {
  *a = (struct array){(char*)d->base_addr, d->elem_len, d->rank, {{0, 0}}};
  for (int i = 0; i < d->rank; i++) a->dim[i] = (struct dimension){d->dim[i].extent, d->dim[i].sm};
  return is_untold(d) ? kUntold : kWell;
}

static inline enum number number_of(const descriptor* d) {
  if (d->type == CFI_type_float || d->type == CFI_type_double || d->type == CFI_type_long_double) return kReal;
  if (d->type == CFI_type_int8_t || d->type == CFI_type_int16_t || d->type == CFI_type_int32_t ||
      d->type == CFI_type_int64_t || d->type == CFI_type_int)
    return kInteger;
#ifdef TUTTI_FORTRAN_CHARACTERS_ARE_TOLD
  if (d->type == CFI_type_char) return kCharacters;
#endif
  return d->type == CFI_type_float_Complex || d->type == CFI_type_double_Complex ? kOtherNumber : kNoNumber;
}

static inline size_t element_length(const descriptor* d) {
  return d->elem_len;
}

#endif

static inline int is_empty(const struct array* a) {
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i].extent <= 0) return 1;
  return 0;
}

static inline int has_gaps(const struct array* a) {
  ptrdiff_t expected = (ptrdiff_t)a->elem_len;
  if (is_empty(a)) return 0;
  for (int i = 0; i < a->rank; i++) {
    if (a->dim[i].stride != expected && a->dim[i].extent != 1) return 1;
    expected *= a->dim[i].extent;
  }
  return 0;
}

#endif
