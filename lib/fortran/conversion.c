/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversions that are not worth being inline, and the variables behind special addresses. */
#include "conversion.h"

#include <pthread.h>

/* As much aligned as Fortran compilers want their common blocks, of which the linker takes one. */
#define LIKE_COMMON __attribute__((aligned(64)))
VISIBLE struct special tutti_fortran_special_ LIKE_COMMON;
VISIBLE struct special_text tutti_fortran_special_text_ LIKE_COMMON;

void* special_address(const void* address) {
  const struct special* s = &tutti_fortran_special_;
  if (address == &s->bottom) return MPI_BOTTOM;
  if (address == &s->in_place) return MPI_IN_PLACE;
  if (address == &s->buffer_automatic) return MPI_BUFFER_AUTOMATIC;
  if (address == &s->unweighted) return MPI_UNWEIGHTED;
  if (address == &s->weights_empty) return MPI_WEIGHTS_EMPTY;
  if (address == &s->errcodes_ignore) return MPI_ERRCODES_IGNORE;
  if (address == &s->status_ignore) return MPI_STATUS_IGNORE;
  if (address == &s->statuses_ignore) return MPI_STATUSES_IGNORE;
  return (void*)address;
}

/* --- how many types there are. PMPI: a tool that counts calls shall not see these. */

int ranks_of(MPI_Comm comm) {
  int inter = 0, count = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  if ((inter ? PMPI_Comm_remote_size(comm, &count) : PMPI_Comm_size(comm, &count)) != MPI_SUCCESS) return 0;
  return count;
}

int is_at_root(MPI_Comm comm, int root) {
  int inter = 0, rank = -1;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  if (inter) return root == MPI_ROOT;
  return PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

static int neighbours_of(MPI_Comm comm, int want_sources) {
  int topology = MPI_UNDEFINED, sources = 0, destinations = 0, weighted = 0;
  if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS) return 0;
  if (topology == MPI_CART) {
    int dimensions = 0;
    return PMPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS ? 2 * dimensions : 0;
  }
  if (topology == MPI_GRAPH) {
    int rank = 0, count = 0;
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Graph_neighbors_count(comm, rank, &count) == MPI_SUCCESS ? count : 0;
  }
  if (topology != MPI_DIST_GRAPH ||
      PMPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted) != MPI_SUCCESS)
    return 0;
  return want_sources ? sources : destinations;
}

int sources_of(MPI_Comm comm) {
  return neighbours_of(comm, 1);
}

int destinations_of(MPI_Comm comm) {
  return neighbours_of(comm, 0);
}

int cart_dimensions(MPI_Comm comm, int at_most) {
  int dimensions = 0;
  if (PMPI_Cartdim_get(comm, &dimensions) != MPI_SUCCESS) return 0;
  return dimensions < at_most ? dimensions : at_most;
}

/* --- strings */

size_t blanks_before(const char* text, size_t length) {
  size_t blanks = 0;
  while (blanks < length && text[blanks] == ' ') blanks++;
  return blanks;
}

char* text_in(const char* text, size_t length, char* room, size_t size) {
  while (length > 0 && text[length - 1] == ' ') length--;
  char* to = length < size ? room : (char*)malloc(length + 1);
  if (!to) { /* The call will complain of an argument instead of reading past the room. */
    to = room;
    length = 0;
  }
  memcpy(to, text, length);
  to[length] = '\0';
  return to;
}

void text_out(char* text, size_t length, const char* from) {
  const size_t there = strlen(from), copied = there < length ? there : length;
  memcpy(text, from, copied);
  memset(text + copied, ' ', length - copied);
}

/* An array of strings that ends at `count`, or at the first blank one if that is negative; without the blanks around
 * them (section 11.8.2). The n-th begins n * stride strings after the first. */
char** texts_in(const char* texts, size_t length, MPI_Count count, MPI_Count stride) {
  if (count < 0) {
    for (count = 0;; count++) {
      if (blanks_before(texts + (size_t)(count * stride) * length, length) == length) break;
    }
  }
  char** to = (char**)calloc((size_t)count + 1, sizeof *to);
  for (MPI_Count i = 0; to && i < count; i++) {
    const char* text = texts + (size_t)(i * stride) * length;
    const size_t blanks = blanks_before(text, length);
    size_t used = length - blanks;
    text += blanks;
    while (used > 0 && text[used - 1] == ' ') used--;
    if ((to[i] = (char*)malloc(used + 1))) {
      memcpy(to[i], text, used);
      to[i][used] = '\0';
    }
  }
  return to;
}

void texts_free(char** texts) {
  for (char** text = texts; texts && *text; text++) free(*text);
  free(texts);
}

/* --- attributes. C gets the address of what Fortran has set, also of a copy by MPI_COMM_DUP_FN, which only
 * hands the address on. So boxes are shared by all attributes of one value and never freed: there are as many as
 * a program sets different values. An INTEGER is in the lower half of its box, which C reads as an int. */

enum { kBoxes = 512, kBuckets = 1024 };
struct box {
  MPI_Aint value; /* first: its address is the attribute */
  struct box* next;
};
struct boxes {
  struct box box[kBoxes];
  int used;
  struct boxes* older;
};
static struct boxes* all_boxes;
static struct box* buckets[kBuckets];
static pthread_mutex_t boxes_lock = PTHREAD_MUTEX_INITIALIZER;

void* attribute_box(MPI_Aint value) {
  struct box **bucket = &buckets[((uint64_t)value * 0x9e3779b97f4a7c15u) >> 54], *box;
  pthread_mutex_lock(&boxes_lock);
  for (box = *bucket; box && box->value != value;) box = box->next;
  if (!box) {
    if (!all_boxes || all_boxes->used == kBoxes) {
      struct boxes* more = (struct boxes*)calloc(1, sizeof *more);
      if (!more) abort();
      more->older = all_boxes;
      all_boxes = more;
    }
    box = &all_boxes->box[all_boxes->used++];
    box->value = value;
    box->next = *bucket;
    *bucket = box;
  }
  pthread_mutex_unlock(&boxes_lock);
  return box;
}

MPI_Aint attribute_unbox(const void* attribute) {
  MPI_Aint value = (MPI_Aint)attribute; /* what C has set is its own number */
  pthread_mutex_lock(&boxes_lock);
  for (struct boxes* some = all_boxes; some; some = some->older)
    if ((uintptr_t)attribute - (uintptr_t)some->box < sizeof some->box) value = ((const struct box*)attribute)->value;
  pthread_mutex_unlock(&boxes_lock);
  return value;
}
