/* SPDX-License-Identifier: BSD-3-Clause */
/* How an argument of Fortran becomes one of C, and back: handles, addresses that stand for something else,
 * statuses, logicals and strings. Everything here is for the procedures that lib/fortran.py makes and for those
 * beside this file; it calls the public functions of MPI alone, so that it works above any library of the ABI. */
#ifndef TUTTI_FORTRAN_CONVERSION_H
#define TUTTI_FORTRAN_CONVERSION_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unlikely.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define VISIBLE __attribute__((visibility("default")))

/* The values of the compiler's default LOGICAL, whose size is that of an INTEGER. */
#ifndef TUTTI_FORTRAN_TRUE
#define TUTTI_FORTRAN_TRUE 1
#define TUTTI_FORTRAN_FALSE 0
#endif

/* --- addresses that stand for something else (section 19.1.5 and 2.5.4)
 * They are variables of this common block in all three interfaces. The linker puts the block into the program
 * if the program mentions it, so the library must ask for its address, and must not know it beforehand. */
struct special {
  MPI_Fint bottom, in_place, buffer_automatic, unweighted, weights_empty, errcodes_ignore;
  MPI_Fint status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];
};
struct special_text {
  char argv_null, argvs_null;
};
extern VISIBLE struct special tutti_fortran_special_;
extern VISIBLE struct special_text tutti_fortran_special_text_;

HIDDEN extern void* special_address(const void* address);

static inline void* address_in(const void* address) {
  const uintptr_t offset = (uintptr_t)address - (uintptr_t)&tutti_fortran_special_;
  return UNLIKELY(offset < sizeof tutti_fortran_special_) ? special_address(address) : (void*)address;
}
/* The other way: where MPI_BUFFER_AUTOMATIC is what was attached, a call that detaches it gives its address in Fortran, that
 * of c_loc(MPI_BUFFER_AUTOMATIC) (section 3.6). */
static inline void detached_out(void* address) {
  void** const detached = (void**)address;
  if (*detached == MPI_BUFFER_AUTOMATIC) *detached = &tutti_fortran_special_.buffer_automatic;
}
static inline int is_in_place(const void* address) {
  return address == &tutti_fortran_special_.in_place;
}
/* NULL is what C hands to a Fortran procedure as MPI_F_STATUS_IGNORE. */
static inline MPI_Status* status_in(const void* status) {
  return (MPI_Status*)address_in(status);
}
static inline int* errcodes_in(const void* codes) {
  return (int*)address_in(codes);
}

/* --- handles (section 20.4.5). The predefined ones have the same small numbers in both languages. */
#define HANDLE(type, in, out, convert)                                                                 \
  static inline MPI_##type in(MPI_Fint number) {                                                       \
    return (uint32_t)number < 0x1000 ? (MPI_##type)(intptr_t)number : MPI_##convert##_fromint(number); \
  }                                                                                                    \
  static inline MPI_Fint out(MPI_##type handle) {                                                      \
    return (uintptr_t)handle < 0x1000 ? (MPI_Fint)(uintptr_t)handle : MPI_##convert##_toint(handle);   \
  }
HANDLE(Comm, comm_in, comm_out, Comm)
HANDLE(Datatype, datatype_in, datatype_out, Type)
HANDLE(Errhandler, errhandler_in, errhandler_out, Errhandler)
HANDLE(File, file_in, file_out, File)
HANDLE(Group, group_in, group_out, Group)
HANDLE(Info, info_in, info_out, Info)
HANDLE(Message, message_in, message_out, Message)
HANDLE(Op, op_in, op_out, Op)
HANDLE(Request, request_in, request_out, Request)
HANDLE(Session, session_in, session_out, Session)
HANDLE(Win, win_in, win_out, Win)
#undef HANDLE

/* Room for an array of handles: on the stack if it is short. */
enum { kFewHandles = 32 };
#define HANDLES(type, name, count)                                            \
  MPI_##type name##_few[kFewHandles], *name##_ = name##_few;                  \
  const MPI_Count name##_count = (count) > 0 ? (MPI_Count)(count) : 0;        \
  if (name##_count > kFewHandles) {                                           \
    name##_ = (MPI_##type*)malloc(sizeof(MPI_##type) * (size_t)name##_count); \
    if (!name##_) {                                                           \
      if (ierror) *ierror = MPI_ERR_NO_MEM;                                   \
      return;                                                                 \
    }                                                                         \
  }
#define HANDLES_IN(name, in) \
  for (MPI_Count i = 0; i < name##_count; i++) name##_[i] = in(name[i])
#define HANDLES_OUT(name, out) \
  for (MPI_Count i = 0; i < name##_count; i++) name[i] = out(name##_[i])
/* What the call has not filled stays as it was in Fortran, too: no handle is 0. */
#define HANDLES_CLEAR(name) memset((void*)name##_, 0, sizeof *name##_*(size_t)name##_count)
#define HANDLES_OUT_FILLED(name, out)          \
  for (MPI_Count i = 0; i < name##_count; i++) \
    if (name##_[i]) name[i] = out(name##_[i])
#define HANDLES_END(name) \
  if (name##_ != name##_few) free(name##_)

/* How many types the arguments of alltoallw and neighbor_alltoallw have. */
HIDDEN extern int ranks_of(MPI_Comm comm);
HIDDEN extern int sources_of(MPI_Comm comm);
HIDDEN extern int destinations_of(MPI_Comm comm);
/* Whether this is the root of a collective call, in whose arguments other ranks' may differ. */
HIDDEN extern int is_at_root(MPI_Comm comm, int root);
/* How many elements MPI_Cart_get fills. */
HIDDEN extern int cart_dimensions(MPI_Comm comm, int at_most);

/* --- logicals. What goes in needs nothing: any number but 0 is true for C. */
static inline void logicals_out(MPI_Fint* values, MPI_Count count) {
  for (MPI_Count i = 0; i < count; i++) values[i] = values[i] ? TUTTI_FORTRAN_TRUE : TUTTI_FORTRAN_FALSE;
}
static inline int logical_in(MPI_Fint value) {
  return value != TUTTI_FORTRAN_FALSE;
}

/* --- indices, which count from 1 in Fortran */
static inline MPI_Fint index_out(int index) {
  return index == MPI_UNDEFINED ? index : index + 1;
}

/* --- strings: without the blanks behind them on the way in, of keys, values, commands and their arguments without
 * those before them as well;
 * padded with blanks on the way out */
enum { kShortText = 256 };
HIDDEN extern char* text_in(const char* text, size_t length, char* room, size_t size);
HIDDEN extern size_t blanks_before(const char* text, size_t length);
HIDDEN extern void text_out(char* text, size_t length, const char* from);
HIDDEN extern char** texts_in(const char* texts, size_t length, MPI_Count count, MPI_Count stride);
HIDDEN extern void texts_free(char** texts);
#define TEXT_IN(name)           \
  char name##_room[kShortText]; \
  char* name##_ = text_in(name, name##_length, name##_room, sizeof name##_room)
#define TEXT_IN_STRIPPED(name)                                     \
  char name##_room[kShortText];                                    \
  const size_t name##_blanks = blanks_before(name, name##_length); \
  char* name##_ = text_in(name + name##_blanks, name##_length - name##_blanks, name##_room, sizeof name##_room)
#define TEXT_END(name) \
  if (name##_ != name##_room) free(name##_)

/* --- attributes (section 19.3.7). What Fortran sets is kept in a box, whose address is what C gets. */
HIDDEN extern void* attribute_box(MPI_Aint value);
HIDDEN extern MPI_Aint attribute_unbox(const void* attribute);

#endif
