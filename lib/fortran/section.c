/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections with gaps: the datatype that has the same gaps, or a copy. Only here and in section_type.c are datatypes
 * made on behalf of a program, by PMPI, so that a tool sees no call that the program has not written. */
#include "section.h"

#include <pthread.h>

#include "section_type.h"

/* --- a refusal: an error code with its sentence, raised where the call would raise its own errors */

enum refusal { kNeedsCopy, kBefore, kTooMany, kMemory, kCompilersCopy, kLengthUntold, kFormerObject, kRefusals };
static const struct {
  int class;
  const char* sentence;
} refusals[kRefusals] = {
    {MPI_ERR_BUFFER,
     "the buffer is a section with gaps and the datatype has gaps of its own, or lies otherwise than the section's "
     "elements, so that no datatype can describe both, and nothing would keep a copy until this call's operation is "
     "complete: pass an array without gaps"},
    {MPI_ERR_TYPE, "the buffer is a section with gaps, before which the datatype would reach"},
    {MPI_ERR_COUNT, "the section has fewer elements than count and datatype say"},
    {MPI_ERR_BUFFER,
     "the buffer is a section with gaps, where MPI wants memory as a whole: pass an array without gaps"},
    {MPI_ERR_BUFFER,
     "the compiler hands over a copy of the buffer, which is a component of an array (or an expression) and gone when "
     "this call returns, before its operation is complete: pass the component of the first element, as in a(1)%x, and "
     "a datatype with the extent of an element of the array (MPI_Type_create_resized), or make a call that blocks"},
    {MPI_ERR_BUFFER,
     "the compiler does not tell how far the elements of the buffer lie from each other, which is an array of an "
     "extended type, a pointer to components, or was allocated by assigning RESHAPE, MATMUL or the like: pass its "
     "first element, or allocate it before it is assigned"},
    {MPI_ERR_BUFFER,
     "the object file that calls has been compiled with the modules of an earlier Tutti, which describe buffers in "
     "another way: compile it again"},
};

/* lib/for_fortran.cpp: the library of C names the call and its line. Above another one the error is one that the
 * program might have added itself. */
extern int tutti_refuse(const char* function, int what, void* handle, int error_class, const char* sentence)
    __attribute__((weak));

static int refuse(struct section* section, enum refusal why, struct raised_on on) {
  section->is_refused = 1;
  if (tutti_refuse) return tutti_refuse(on.function, on.what, on.handle, refusals[why].class, refusals[why].sentence);
  static int codes[kRefusals];
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!codes[why] && PMPI_Add_error_code(refusals[why].class, &codes[why]) == MPI_SUCCESS)
    PMPI_Add_error_string(codes[why], refusals[why].sentence);
  const int code = codes[why] ? codes[why] : refusals[why].class;
  pthread_mutex_unlock(&lock);
  switch (on.what) {
      // clang-format off
    case kOnComm: PMPI_Comm_call_errhandler((MPI_Comm)on.handle, code); break;
    case kOnFile: PMPI_File_call_errhandler((MPI_File)on.handle, code); break;
    case kOnWin: PMPI_Win_call_errhandler((MPI_Win)on.handle, code); break;
      // clang-format on
  }
  return code;
}

/* --- arrays without gaps, with --check=strict: shorter than the call says, or of another kind */

/* lib/for_fortran.cpp, which raises what it finds, and then sets the last one. */
extern int tutti_judge_array(const char* function, int what, void* handle, size_t bytes, size_t element, int number,
                             MPI_Count count, MPI_Datatype type, int* is_refused) __attribute__((weak));

extern void tutti_note_array(const void* base, size_t bytes) __attribute__((weak));

/* Of arrays of numbers and characters. Nothing is known of one of assumed size, which has no last extent; nor of one element, which
 * stands for the first of a sequence, as x(1) is declared by older procedures for arrays of any size. */
static int judge(struct section* section, const descriptor* by, const struct array* a, const MPI_Count* count,
                 const MPI_Datatype* type, enum section_use use, struct raised_on on) {
  if (!is_judged() || !tutti_judge_array) return MPI_SUCCESS;
  if (a->rank == 0 || !a->base || is_empty(a) || has_gaps(a)) return MPI_SUCCESS;
  size_t bytes = a->elem_len;
  for (int i = 0; i < a->rank; i++) bytes *= (size_t)a->dim[i].extent;
  if (bytes == a->elem_len || number_of(by) == kNoNumber) return MPI_SUCCESS;
  if ((use == kBlocks || use == kCopy) && tutti_note_array) tutti_note_array(a->base, bytes);
  if (use != kOnce && use != kReduced) return MPI_SUCCESS;
  return tutti_judge_array(on.function, on.what, on.handle, bytes, a->elem_len, number_of(by), *count, *type,
                           &section->is_refused);
}

/* --- copies. Those that outlive their call belong to its request; the library of MPI tells what becomes of that. */

struct kept_copy {
  char* packed;
  char* was;   /* what stood in it when the operation started; NULL: the operation only reads it */
  size_t used; /* bytes of it that the operation may change */
  size_t partition, partitions_apart; /* bytes that a partition spans, and between the first ones of two; 0: none */
  int is_open;                        /* what the operation puts there shall still go back */
  struct array of;                    /* the descriptor itself may be gone */
};

/* lib/for_fortran.cpp, as tutti_watch_request. */
extern int tutti_watch_window(MPI_Win win, int rank, watch_function* watcher, void* state) __attribute__((weak));
extern int tutti_watch_split(MPI_File file, const void* buffer, watch_function* watcher, void* state)
    __attribute__((weak));

static int is_told(int flow) {
  return ((flow & kRequest) && tutti_watch_request) || ((flow & kWindow) && tutti_watch_window) ||
         ((flow & kSplit) && tutti_watch_split);
}

/* To the section goes what the operation has changed: whatever else has changed there since it started, in the gaps of
 * a datatype or in a partition that has arrived, is the program's. */
static void put_back(char* to, char* from, char* was, size_t length) {
  if (memcmp(from, was, length) == 0) return;
  for (size_t i = 0; i < length; i++)
    if (from[i] != was[i]) to[i] = was[i] = from[i];
}

/* Bytes [from, to) of the copy, and the section's elements that they are. */
static void copy(const struct kept_copy* c, size_t from, size_t to, int back) {
  const struct array* const a = &c->of;
  ptrdiff_t at[kMaxRank] = {0}, before = (ptrdiff_t)(from / a->elem_len);
  size_t skipped = from % a->elem_len;
  char* element = a->base;
  for (int i = 0; i < a->rank; i++) {
    at[i] = before % a->dim[i].extent;
    before /= a->dim[i].extent;
    element += at[i] * a->dim[i].stride;
  }
  while (from < to) {
    const size_t left = to - from, rest = a->elem_len - skipped, length = left < rest ? left : rest;
    if (back)
      put_back(element + skipped, c->packed + from, c->was + from, length);
    else
      memcpy(c->packed + from, element + skipped, length);
    from += length;
    skipped = 0;
    for (int i = 0; i < a->rank; i++) {
      element += a->dim[i].stride;
      if (++at[i] < a->dim[i].extent) break;
      element -= a->dim[i].extent * a->dim[i].stride;
      at[i] = 0;
    }
  }
}

static void fill_copy(struct kept_copy* c) {
  copy(c, 0, c->used, 0);
  if (c->was) memcpy(c->was, c->packed, c->used);
}
static void copy_back(struct kept_copy* c) {
  if (c->is_open && c->was) copy(c, 0, c->used, 1);
  c->is_open = 0;
}
static void free_copy(struct kept_copy* c) {
  free(c->was);
  free(c->packed);
  free(c);
}

static void copy_partition(struct kept_copy* c, int partition, int back) {
  const size_t from = (size_t)partition * c->partitions_apart;
  copy(c, from, from + c->partition, back);
}

static void on_request(void* state, int what, int partition) {
  struct kept_copy* const c = (struct kept_copy*)state;
  switch ((enum watched)what) {
    case kStarts:
      /* The partitions of a send are still the program's. */
      if (!c->partition || c->was) fill_copy(c);
      c->is_open = 1;
      return;
      // clang-format off
    case kEnds: copy_back(c); return;
    case kGoes: free_copy(c); return;
    case kReady: copy_partition(c, partition, 0); return;
    // clang-format on
    case kArrived:
      if (c->is_open) copy_partition(c, partition, 1);
      return;
  }
}

/* How many bytes `count` elements of a datatype take in an array without gaps; -1 if they begin before it. */
static int span(MPI_Count count, MPI_Datatype type, MPI_Count* bytes) {
  MPI_Count low = 0, extent = 0, true_low = 0, true_extent = 0; /* an error handler may leave no error */
  int error = PMPI_Type_get_extent_c(type, &low, &extent);
  if (error == MPI_SUCCESS) error = PMPI_Type_get_true_extent_c(type, &true_low, &true_extent);
  if (error == MPI_SUCCESS) *bytes = true_low < 0 || extent < 0 ? -1 : true_low + true_extent + (count - 1) * extent;
  return error;
}

static size_t bytes_in(const struct array* a) {
  size_t bytes = a->elem_len;
  for (int i = 0; i < a->rank; i++) bytes *= a->dim[i].extent > 0 ? (size_t)a->dim[i].extent : 0;
  return bytes;
}

/* Whether the call may send from a copy of ours instead of the compiler's, in which there is what it sends already. */
static int may_copy_again(enum section_use use, int flow) {
  return use != kPlain && !(flow & (kOut | kAgain | kSplit)) && is_told(flow);
}

/* A copy of `used` bytes, which the call works on. */
static int make_copy(struct section* section, const struct array* of, size_t used, int flow) {
  struct kept_copy* const c = (struct kept_copy*)malloc(sizeof *c);
  char *const packed = (char*)malloc(used + 1), *const was = flow & kOut ? (char*)malloc(used + 1) : NULL;
  if (!c || !packed || (!was && (flow & kOut))) {
    free(c);
    free(packed);
    free(was);
    return MPI_ERR_NO_MEM;
  }
  *c = (struct kept_copy){packed, was, used, 0, 0, 1, *of};
  fill_copy(c);
  section->address = packed;
  section->copy = c;
  return MPI_SUCCESS;
}

/* Of what may be the compiler's copy the call sends another one, which is right in either case. What its datatype does
 * not describe is no copy. */
static int copy_to_be_sure(struct section* section, const struct array* of, const MPI_Count* count,
                           const MPI_Datatype* type, enum section_use use, int flow) {
  size_t used = bytes_in(of);
  if (used == 0 || (count && *count <= 0)) return MPI_SUCCESS;
  if (use == kOnce || use == kReduced) {
    MPI_Count bytes = 0;
    if (*type == MPI_DATATYPE_NULL) return MPI_SUCCESS; /* the call itself judges that */
    const int error = span(*count, *type, &bytes);
    if (error != MPI_SUCCESS || bytes < 0 || bytes > (MPI_Count)used) return error;
    used = (size_t)bytes;
  }
  return make_copy(section, of, used, flow);
}

int section_make(struct section* section, const descriptor* by, MPI_Count* count, MPI_Datatype* type,
                 enum section_use use, int flow, struct raised_on on) {
  struct array of;
  const enum described how = array_of(by, &of);
  if (how == kFormer) return refuse(section, kFormerObject, on);
  if (use == kIgnored) return MPI_SUCCESS;
  if (is_judged() && tutti_note_array) tutti_note_array(address_in(by->base_addr), (size_t)-1); /* of a call before */
  if (how == kWell) {
    const int error = judge(section, by, &of, count, type, use, on);
    if (error != MPI_SUCCESS || section->is_refused) return error;
  }
  const int is_compilers = is_copy(by) && (flow & kLater);
  if (how == kUntold) { /* the first element is where the address is, and nothing has no length */
    const int is_known = (use == kAddress && !is_compilers) || (count && *count == 0) || is_empty(&of);
    return is_known ? MPI_SUCCESS : refuse(section, kLengthUntold, on);
  }
  if (may_be_copy(by) && (flow & kLater) && of.base && !has_gaps(&of) && may_copy_again(use, flow))
    return copy_to_be_sure(section, &of, count, type, use, flow);
  size_t used = bytes_in(&of);
  if (!of.base || used == 0 || (!is_compilers && (use == kAddress || !has_gaps(&of)))) return MPI_SUCCESS;
  if (is_compilers && count && *count == 0) return MPI_SUCCESS;
  if (is_compilers && !may_copy_again(use, flow)) return refuse(section, kCompilersCopy, on);
  if (use == kPlain) return refuse(section, kMemory, on);
  if (use != kCopy && use != kAddress) {
    if (*count <= 0 || *type == MPI_DATATYPE_NULL) return MPI_SUCCESS; /* the call itself judges that */
    if (use != kReduced && !is_compilers) {
      int error = MPI_SUCCESS;
      switch (section_type(&of, count, type, use == kBlocks, &section->type, &error)) {
        case kTypeMade:
          return error;
        case kTooFew:
          return refuse(section, kTooMany, on);
        case kNoType:
          break;
      }
    }
    if (use != kBlocks) {
      MPI_Count bytes = 0;
      const int error = span(*count, *type, &bytes);
      if (error != MPI_SUCCESS) return error;
      if (bytes < 0) return refuse(section, kBefore, on);
      if (bytes > (MPI_Count)used) return refuse(section, kTooMany, on);
      used = (size_t)bytes;
    }
  }
  if ((flow & kLater) && !is_told(flow)) return refuse(section, kNeedsCopy, on);
  return make_copy(section, &of, used, flow);
}

int section_partitions(struct section* section, int partitions, MPI_Count count, MPI_Datatype type,
                       struct raised_on on) {
  struct kept_copy* const c = section->copy;
  MPI_Count low = 0, extent = 0, bytes = 0;
  int error = PMPI_Type_get_extent_c(type, &low, &extent);
  if (error == MPI_SUCCESS) error = span(count, type, &bytes);
  if (error != MPI_SUCCESS || partitions <= 0) return error; /* the call itself judges that */
  if (bytes < 0) return refuse(section, kBefore, on);
  const MPI_Count used = (MPI_Count)c->used, apart = count * extent;
  if (bytes > used || (partitions > 1 && apart > (used - bytes) / (partitions - 1)))
    return refuse(section, kTooMany, on);
  c->partition = (size_t)bytes;
  c->partitions_apart = (size_t)apart;
  c->used = (size_t)((partitions - 1) * apart + bytes);
  return MPI_SUCCESS;
}

void section_keep(struct section* section, MPI_Request request, int is_persistent) {
  struct kept_copy* const c = section->copy;
  c->is_open = !is_persistent;
  if (tutti_watch_request(request, on_request, c)) section->copy = NULL;
  /* Otherwise it is over already, which section_end() makes of it. */
  c->is_open |= section->copy != NULL;
}

void section_keep_for_window(struct section* section, MPI_Win win, int rank) {
  if (tutti_watch_window(win, rank, on_request, section->copy)) section->copy = NULL;
}

void section_keep_for_split(struct section* section, MPI_File file, const descriptor* of) {
  if (tutti_watch_split(file, address_in(of->base_addr), on_request, section->copy)) section->copy = NULL;
}

void section_end(struct section* section) {
  if (section->type) section_type_end(section->type);
  if (!section->copy) return;
  copy_back(section->copy);
  free_copy(section->copy);
}
