/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections with gaps: the datatype that has the same gaps, or a copy. Only here are datatypes made on behalf of a
 * program, by PMPI, so that a tool sees no call that the program has not written. */
#include "section.h"

#include <pthread.h>

struct line { /* dimensions that lie behind each other as one do count as one */
  MPI_Count extent, stride;
};
struct shape {
  int rank;
  struct line line[CFI_MAX_RANK];
};

static struct shape shape_of(const CFI_cdesc_t *d) {
  struct shape s = {0};
  for (int i = 0; i < d->rank; i++) {
    if (d->dim[i].extent == 1) continue;
    struct line *last = s.rank ? &s.line[s.rank - 1] : NULL;
    if (last && last->extent * last->stride == d->dim[i].sm)
      last->extent *= d->dim[i].extent;
    else
      s.line[s.rank++] = (struct line){d->dim[i].extent, d->dim[i].sm};
  }
  return s;
}

/* --- a refusal: an error code with its sentence, raised where the call would raise its own errors */

enum refusal { kNeedsCopy, kTooMany, kMemory, kRefusals };
static const struct {
  int class;
  const char *sentence;
} refusals[kRefusals] = {
    {MPI_ERR_BUFFER,
     "the buffer is a section with gaps, of which this nonblocking or persistent call, with its operation or its "
     "blocks, can make no datatype: pass an array without gaps, or use the blocking call"},
    {MPI_ERR_COUNT, "the section has fewer elements than count and datatype say"},
    {MPI_ERR_BUFFER, "the buffer is a section with gaps, where MPI wants memory as a whole: pass an array without gaps"},
};

static int refuse(enum refusal why, MPI_Comm on) {
  static int codes[kRefusals];
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!codes[why] && PMPI_Add_error_code(refusals[why].class, &codes[why]) == MPI_SUCCESS)
    PMPI_Add_error_string(codes[why], refusals[why].sentence);
  const int code = codes[why] ? codes[why] : refusals[why].class;
  pthread_mutex_unlock(&lock);
  PMPI_Comm_call_errhandler(on, code);
  return code;
}

/* --- datatypes. A type of a chain is freed as soon as the next one is made of it. */

struct made {
  MPI_Datatype type;
  int owned, error;
};

static struct made next(struct made from, int error, MPI_Datatype type) {
  if (from.owned) PMPI_Type_free(&from.type);
  if (error != MPI_SUCCESS) return (struct made){MPI_DATATYPE_NULL, 0, error};
  return (struct made){type, 1, MPI_SUCCESS};
}
static struct made repeated(struct made from, MPI_Count count, MPI_Count stride) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (from.error) return from;
  const int error = PMPI_Type_create_hvector_c(count, 1, stride, from.type, &type);
  return next(from, error, type);
}
static struct made resized(struct made from, MPI_Count extent) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (from.error) return from;
  const int error = PMPI_Type_create_resized_c(from.type, 0, extent, &type);
  return next(from, error, type);
}

/* The first `count` elements of the lowest `rank` lines, in the order of Fortran. */
static struct made first_elements(MPI_Datatype unit, const struct shape *s, int rank, MPI_Count count) {
  MPI_Count below = 1;
  for (int i = 0; i + 1 < rank; i++) below *= s->line[i].extent;
  if (rank == 0) return (struct made){unit, 0, MPI_SUCCESS};
  const MPI_Count whole = count / below, rest = count % below;
  struct made whole_part = {unit, 0, MPI_SUCCESS};
  for (int i = 0; i + 1 < rank; i++) whole_part = repeated(whole_part, s->line[i].extent, s->line[i].stride);
  whole_part = repeated(whole_part, whole, s->line[rank - 1].stride);
  if (rest == 0 || whole_part.error) return whole_part;
  struct made rest_part = first_elements(unit, s, rank - 1, rest);
  const MPI_Count lengths[2] = {1, 1}, places[2] = {0, whole * s->line[rank - 1].stride};
  const MPI_Datatype types[2] = {whole_part.type, rest_part.type};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int error = rest_part.error;
  if (!error) error = PMPI_Type_create_struct_c(2, lengths, places, types, &type);
  if (rest_part.owned) PMPI_Type_free(&rest_part.type);
  return next(whole_part, error, type);
}

/* The datatype and count whose elements are those of the array: `count` of MPI_Type_contiguous(3, MPI_REAL) on an
 * array of REAL is 3 * count of MPI_REAL, and one element of a derived type may be 24 of MPI_BYTE. No other
 * derived type lies on elements alone. */
static int is_by_elements(size_t length, MPI_Datatype type, MPI_Count count, struct made *unit, MPI_Count *units) {
  struct made now = {type, 0, MPI_SUCCESS};
  for (;;) {
    int ints = 0, addresses = 0, types = 0, combiner = 0, n = 0;
    MPI_Aint address;
    MPI_Datatype inner;
    if (PMPI_Type_get_envelope(now.type, &ints, &addresses, &types, &combiner) != MPI_SUCCESS) break;
    if (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
        combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_COMPLEX) {
      MPI_Count size = 0;
      if (PMPI_Type_size_c(now.type, &size) != MPI_SUCCESS || size <= 0) break;
      *units = count;
      *unit = now;
      if ((size_t)size == length) return 1;
      const MPI_Count each = (MPI_Count)length / size;
      if (each * size != (MPI_Count)length || count % each != 0) break;
      *units = count / each;
      *unit = repeated(now, each, size);
      return unit->error == MPI_SUCCESS;
    }
    if (combiner != MPI_COMBINER_DUP && (combiner != MPI_COMBINER_CONTIGUOUS || ints != 1)) break;
    if (PMPI_Type_get_contents(now.type, ints, addresses, types, &n, &address, &inner) != MPI_SUCCESS) break;
    if (combiner == MPI_COMBINER_CONTIGUOUS) count *= n;
    if (now.owned) PMPI_Type_free(&now.type);
    PMPI_Type_get_envelope(inner, &ints, &addresses, &types, &combiner);
    now = (struct made){inner, combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
                                   combiner != MPI_COMBINER_F90_INTEGER && combiner != MPI_COMBINER_F90_COMPLEX,
                        MPI_SUCCESS};
  }
  if (now.owned) PMPI_Type_free(&now.type);
  return 0;
}

/* Whether a datatype can stand for the section; if so, it, and how many of it. */
static int make_type(const CFI_cdesc_t *of, MPI_Count *count, MPI_Datatype *type, enum section_use use,
                     struct made *result, int *too_many) {
  const struct shape s = shape_of(of);
  struct made unit;
  MPI_Count units = 0, elements = 1, below = 1;
  if (!is_by_elements(of->elem_len, *type, *count, &unit, &units)) return 0;
  for (int i = 0; i < s.rank; i++) elements *= s.line[i].extent;
  for (int i = 0; i + 1 < s.rank; i++) below *= s.line[i].extent;
  *too_many = use == kOnce && units > elements;
  int made = 0;
  if (*too_many) {
  } else if (s.rank == 1 && s.line[0].stride > 0 && (use == kOnce || units == *count)) {
    *result = (struct made){unit.type, 0, MPI_SUCCESS}; /* the unit is needed below */
    *result = resized(*result, s.line[0].stride);
    *count = units;
    made = 1;
  } else if (use == kBlocks && s.rank > 1 && units % below == 0 && s.line[s.rank - 1].stride > 0) {
    /* Each block is some whole columns, and the next one begins that many columns further. */
    *result = resized(first_elements(unit.type, &s, s.rank, units), units / below * s.line[s.rank - 1].stride);
    *count = 1;
    made = 1;
  } else if (use == kOnce) {
    *result = first_elements(unit.type, &s, s.rank, units);
    *count = 1;
    made = 1;
  }
  if (unit.owned) PMPI_Type_free(&unit.type);
  if (made && !result->error && (result->error = PMPI_Type_commit(&result->type)) != MPI_SUCCESS)
    PMPI_Type_free(&result->type);
  return made;
}

/* --- copies */

static void copy(char *packed, const CFI_cdesc_t *d, int back) {
  CFI_index_t at[CFI_MAX_RANK] = {0};
  char *element = (char *)d->base_addr;
  for (;;) {
    memcpy(back ? element : packed, back ? packed : element, d->elem_len);
    packed += d->elem_len;
    int i = 0;
    for (; i < d->rank; i++) {
      element += d->dim[i].sm;
      if (++at[i] < d->dim[i].extent) break;
      element -= d->dim[i].extent * d->dim[i].sm;
      at[i] = 0;
    }
    if (i == d->rank) return;
  }
}

int section_make(struct section *section, const CFI_cdesc_t *of, MPI_Count *count, MPI_Datatype *type,
                 enum section_use use, int flow, MPI_Comm on) {
  if (use == kAddress) return MPI_SUCCESS;
  if (use == kPlain) return refuse(kMemory, on);
  if (use != kCopy) {
    struct made result = {MPI_DATATYPE_NULL, 0, MPI_SUCCESS};
    int too_many = 0;
    if (*count <= 0 || *type == MPI_DATATYPE_NULL) return MPI_SUCCESS; /* the call itself judges that */
    if (make_type(of, count, type, use, &result, &too_many)) {
      if (result.error) return result.error;
      section->type = *type = result.type;
      section->is_type = 1;
      return MPI_SUCCESS;
    }
    if (too_many) return refuse(kTooMany, on);
  }
  if (flow & kLater) return refuse(kNeedsCopy, on);
  size_t bytes = of->elem_len;
  for (int i = 0; i < of->rank; i++) bytes *= (size_t)of->dim[i].extent;
  char *packed = (char *)malloc(bytes);
  if (!packed) return MPI_ERR_NO_MEM;
  copy(packed, of, 0);
  section->address = packed;
  section->of = of;
  section->flow = flow;
  section->is_copy = 1;
  return MPI_SUCCESS;
}

void section_end(struct section *section) {
  if (section->is_type) PMPI_Type_free(&section->type);
  if (!section->is_copy) return;
  if (section->flow & kOut) copy((char *)section->address, section->of, 1);
  free(section->address);
}
