/* SPDX-License-Identifier: BSD-3-Clause */
#include "section_type.h"

#include <pthread.h>

struct line { /* dimensions that lie behind each other as one do count as one */
  MPI_Count extent, stride;
};
struct shape {
  int rank;
  struct line line[kMaxRank];
};
/* All that a datatype depends on. */
struct key {
  MPI_Datatype of;
  MPI_Count count;
  size_t elem_len;
  int is_blocks;
  struct shape shape;
};

static struct shape shape_of(const struct array* a) {
  struct shape s = {0};
  for (int i = 0; i < a->rank; i++) {
    if (a->dim[i].extent == 1) continue;
    struct line* last = s.rank ? &s.line[s.rank - 1] : NULL;
    if (last && last->extent * last->stride == a->dim[i].stride)
      last->extent *= a->dim[i].extent;
    else
      s.line[s.rank++] = (struct line){a->dim[i].extent, a->dim[i].stride};
  }
  return s;
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
static struct made first_elements(MPI_Datatype unit, const struct shape* s, int rank, MPI_Count count) {
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
static int is_by_elements(size_t length, MPI_Datatype type, MPI_Count count, struct made* unit, MPI_Count* units) {
  struct made now = {type, 0, MPI_SUCCESS};
  for (;;) {
    int ints = 0, addresses = 0, types = 0, combiner = 0, n = 0;
    MPI_Aint address;
    MPI_Datatype inner;
    if (PMPI_Type_get_envelope(now.type, &ints, &addresses, &types, &combiner) != MPI_SUCCESS) break;
    if (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_INTEGER ||
        combiner == MPI_COMBINER_F90_COMPLEX) {
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
    now = (struct made){inner,
                        combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
                            combiner != MPI_COMBINER_F90_INTEGER && combiner != MPI_COMBINER_F90_COMPLEX,
                        MPI_SUCCESS};
  }
  if (now.owned) PMPI_Type_free(&now.type);
  return 0;
}

/* Whether a datatype can stand for the section; if so, it, and how many of it. */
static enum section_type_is make(const struct key* key, struct made* result, MPI_Count* count) {
  const struct shape* const s = &key->shape;
  struct made unit;
  MPI_Count units = 0, elements = 1, below = 1;
  if (!is_by_elements(key->elem_len, key->of, key->count, &unit, &units)) return kNoType;
  for (int i = 0; i < s->rank; i++) elements *= s->line[i].extent;
  for (int i = 0; i + 1 < s->rank; i++) below *= s->line[i].extent;
  enum section_type_is answer = kTypeMade;
  if (!key->is_blocks && units > elements) {
    answer = kTooFew;
  } else if (s->rank == 1 && s->line[0].stride > 0 && (!key->is_blocks || units == key->count)) {
    *result = (struct made){unit.type, 0, MPI_SUCCESS}; /* the unit is needed below */
    *result = resized(*result, s->line[0].stride);
    *count = units;
  } else if (key->is_blocks && s->rank > 1 && units % below == 0 && s->line[s->rank - 1].stride > 0) {
    /* Each block is some whole columns, and the next one begins that many columns further. */
    *result = resized(first_elements(unit.type, s, s->rank, units), units / below * s->line[s->rank - 1].stride);
    *count = 1;
  } else if (!key->is_blocks) {
    *result = first_elements(unit.type, s, s->rank, units);
    *count = 1;
  } else {
    answer = kNoType;
  }
  if (unit.owned) PMPI_Type_free(&unit.type);
  if (answer == kTypeMade && !result->error && (result->error = PMPI_Type_commit(&result->type)) != MPI_SUCCESS)
    PMPI_Type_free(&result->type);
  return answer;
}

/* --- those that are kept: a program sends the same sections over and over. Only of predefined datatypes, whose
 * handles are nobody else's later, and from the world's MPI_Init to its MPI_Finalize, which frees them. */

struct section_type {
  struct key key;
  MPI_Datatype type;
  MPI_Count count;
  int users; /* calls that have it at the moment */
  int is_kept;
  unsigned long long last_use;
};

enum { kKept = 32 };
static struct section_type kept[kKept];
static enum { kNotYet, kOpen, kClosed } store = kNotYet;
static unsigned long long uses;
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;

static int close_store(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  pthread_mutex_lock(&store_lock);
  store = kClosed;
  pthread_mutex_unlock(&store_lock);
  for (int i = 0; i < kKept; i++)
    if (kept[i].is_kept) PMPI_Type_free(&kept[i].type);
  return MPI_SUCCESS;
}

/* MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF (section 11.2.4). */
static void open_store(void) {
  int is_up = 0, is_over = 0, keyval = MPI_KEYVAL_INVALID;
  PMPI_Initialized(&is_up);
  PMPI_Finalized(&is_over);
  if (!is_up || is_over) return; /* sessions alone have no such end */
  pthread_mutex_lock(&store_lock);
  const int is_mine = store == kNotYet;
  if (is_mine) store = kClosed; /* until it is sure to be emptied */
  pthread_mutex_unlock(&store_lock);
  if (!is_mine || PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_store, &keyval, NULL) != MPI_SUCCESS) return;
  const int error = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  PMPI_Comm_free_keyval(&keyval);
  pthread_mutex_lock(&store_lock);
  if (error == MPI_SUCCESS) store = kOpen;
  pthread_mutex_unlock(&store_lock);
}

static int is_same(const struct key* a, const struct key* b) {
  return a->of == b->of && a->count == b->count && a->elem_len == b->elem_len && a->is_blocks == b->is_blocks &&
         a->shape.rank == b->shape.rank &&
         memcmp(a->shape.line, b->shape.line, sizeof a->shape.line[0] * (size_t)a->shape.rank) == 0;
}

static struct section_type* find_kept(const struct key* key) {
  struct section_type* found = NULL;
  pthread_mutex_lock(&store_lock);
  for (int i = 0; store == kOpen && i < kKept && !found; i++)
    if (kept[i].is_kept && is_same(&kept[i].key, key)) found = &kept[i];
  if (found) {
    found->users++;
    found->last_use = ++uses;
  }
  pthread_mutex_unlock(&store_lock);
  return found;
}

/* The place of the one that nobody has used for longest; NULL: none is to spare. `old` is what was there. */
static struct section_type* keep(const struct section_type* made, MPI_Datatype* old) {
  struct section_type* place = NULL;
  pthread_mutex_lock(&store_lock);
  for (int i = 0; store == kOpen && i < kKept; i++)
    if (!kept[i].users && (!place || kept[i].last_use < place->last_use)) place = &kept[i];
  if (place) {
    *old = place->is_kept ? place->type : MPI_DATATYPE_NULL;
    *place = *made;
    place->is_kept = 1;
    place->last_use = ++uses;
  }
  pthread_mutex_unlock(&store_lock);
  return place;
}

enum section_type_is section_type(const struct array* of, MPI_Count* count, MPI_Datatype* type, int is_blocks,
                                  struct section_type** made, int* error) {
  struct section_type now = {.key = {*type, *count, of->elem_len, is_blocks, shape_of(of)}, .users = 1};
  const int is_predefined = (uintptr_t)*type < 0x1000;
  *made = is_predefined ? find_kept(&now.key) : NULL;
  *error = MPI_SUCCESS;
  if (!*made) {
    struct made result = {MPI_DATATYPE_NULL, 0, MPI_SUCCESS};
    MPI_Datatype old = MPI_DATATYPE_NULL;
    const enum section_type_is answer = make(&now.key, &result, &now.count);
    if (answer != kTypeMade) return answer;
    if ((*error = result.error) != MPI_SUCCESS) return kTypeMade;
    now.type = result.type;
    if (is_predefined) {
      if (store == kNotYet) open_store();
      *made = keep(&now, &old);
      if (old != MPI_DATATYPE_NULL) PMPI_Type_free(&old);
    }
    if (!*made && (*made = (struct section_type*)malloc(sizeof now))) **made = now;
    if (!*made) {
      PMPI_Type_free(&now.type);
      *error = MPI_ERR_NO_MEM;
      return kTypeMade;
    }
  }
  *type = (*made)->type;
  *count = (*made)->count;
  return kTypeMade;
}

void section_type_end(struct section_type* made) {
  if (made->is_kept) { /* which stays so while it has users */
    pthread_mutex_lock(&store_lock);
    made->users--;
    pthread_mutex_unlock(&store_lock);
    return;
  }
  PMPI_Type_free(&made->type);
  free(made);
}
