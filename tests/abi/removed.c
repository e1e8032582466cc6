/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI 3.0 removed works when compiled with -DMPI_COMPATIBILITY=1. As C and as C++. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int bad = 0, done = 0;
#define EXPECT(truth, what) (++done, (truth) ? (void)0 : (void)(++bad, printf("wrong: %s\n", what)))

static void expect_bounds(MPI_Datatype type, MPI_Aint lower, MPI_Aint upper, const char* what) {
  MPI_Aint lb = -99, ub = -99, extent = -99;
  MPI_Type_lb(type, &lb);
  MPI_Type_ub(type, &ub);
  MPI_Type_extent(type, &extent);
  ++done;
  if (lb == lower && ub == upper && extent == upper - lower) return;
  ++bad;
  printf("wrong: %s: from %ld to %ld, extent %ld, instead of from %ld to %ld\n", what, (long)lb, (long)ub, (long)extent,
         (long)lower, (long)upper);
}

static void addresses(void) {
  int pair[2];
  MPI_Aint first = 0, second = 0;
  int (*address)(void*, MPI_Aint*) = MPI_Address;
  MPI_Address(&pair[0], &first);
  address(&pair[1], &second);
  EXPECT(second - first == (MPI_Aint)sizeof(int), "MPI_Address");
  PMPI_Address(&pair[1], &first);
  EXPECT(first == second, "PMPI_Address");
}

static void types(void) {
  int lengths[2] = {1, 2}, numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7}, got[3];
  MPI_Aint displacements[2] = {4, 24};
  MPI_Datatype type;
  MPI_Type_hvector(3, 1, 8, MPI_INT, &type);
  expect_bounds(type, 0, 20, "MPI_Type_hvector");
  MPI_Type_commit(&type);
  MPI_Sendrecv(numbers, 1, type, 0, 0, got, 3, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  EXPECT(got[0] == 0 && got[1] == 2 && got[2] == 4, "data by MPI_Type_hvector");
  MPI_Type_free(&type);
  MPI_Type_hindexed(2, lengths, displacements, MPI_INT, &type);
  expect_bounds(type, 4, 32, "MPI_Type_hindexed");
  MPI_Type_commit(&type);
  MPI_Sendrecv(numbers, 1, type, 0, 0, got, 3, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  EXPECT(got[0] == 1 && got[1] == 6 && got[2] == 7, "data by MPI_Type_hindexed");
  MPI_Type_free(&type);
}

/* A structure of up to three entries. */
static MPI_Datatype structure(int count, MPI_Aint at0, MPI_Datatype type0, MPI_Aint at1, MPI_Datatype type1,
                              MPI_Aint at2, MPI_Datatype type2) {
  int lengths[3] = {1, 1, 1};
  MPI_Aint displacements[3];
  MPI_Datatype parts[3], made = MPI_DATATYPE_NULL;
  displacements[0] = at0, displacements[1] = at1, displacements[2] = at2;
  parts[0] = type0, parts[1] = type1, parts[2] = type2;
  MPI_Type_struct(count, lengths, displacements, parts, &made);
  return made;
}

static void bounds(void) {
  MPI_Datatype plain = structure(2, 8, MPI_INT, 12, MPI_CHAR, 0, MPI_INT);
  MPI_Datatype both = structure(3, -4, MPI_LB, 8, MPI_INT, 32, MPI_UB);
  MPI_Datatype upper = structure(2, 4, MPI_INT, 16, MPI_UB, 0, MPI_INT);
  MPI_Datatype lower = structure(2, 0, MPI_LB, 4, MPI_INT, 0, MPI_INT);
  MPI_Datatype narrow = structure(2, 0, MPI_DOUBLE, 4, MPI_UB, 0, MPI_INT);
  MPI_Datatype nothing = structure(2, 3, MPI_LB, 7, MPI_UB, 0, MPI_INT);
  MPI_Datatype twice = structure(3, 40, MPI_UB, 0, MPI_INT, 24, MPI_UB);
  MPI_Datatype around_both = structure(2, 0, MPI_INT, 8, both, 0, MPI_INT);
  MPI_Datatype around_upper = structure(3, 0, MPI_DOUBLE, 8, upper, 24, MPI_UB);
  MPI_Datatype inherited = structure(2, 0, MPI_DOUBLE, 8, upper, 0, MPI_INT);
  MPI_Datatype around_inherited = structure(2, 0, MPI_CHAR, 8, inherited, 0, MPI_INT);
  MPI_Datatype around_lower = structure(2, 8, lower, 40, MPI_INT, 0, MPI_INT);
  expect_bounds(plain, 8, 16, "MPI_Type_struct");
  expect_bounds(both, -4, 32, "both bounds");
  expect_bounds(upper, 4, 16, "the upper bound");
  expect_bounds(lower, 0, 8, "the lower bound");
  expect_bounds(narrow, 0, 4, "an upper bound within the data");
  expect_bounds(nothing, 3, 7, "bounds of nothing");
  expect_bounds(twice, 0, 40, "the larger of two upper bounds");
  expect_bounds(around_both, 4, 40, "around a type with both bounds");
  expect_bounds(around_upper, 0, 24, "around a type with an upper bound, with one of its own");
  expect_bounds(inherited, 0, 24, "around a type with an upper bound");
  expect_bounds(around_inherited, 0, 32, "around a type that inherits an upper bound");
  expect_bounds(around_lower, 8, 44, "around a type with a lower bound");
  MPI_Type_free(&plain);
  MPI_Type_free(&both);
  MPI_Type_free(&upper);
  MPI_Type_free(&lower);
  MPI_Type_free(&narrow);
  MPI_Type_free(&nothing);
  MPI_Type_free(&twice);
  MPI_Type_free(&around_both);
  MPI_Type_free(&around_upper);
  MPI_Type_free(&inherited);
  MPI_Type_free(&around_inherited);
  MPI_Type_free(&around_lower);
}

struct Inner {
  int number;
  char letter;
};
struct Outer {
  double value;
  struct Inner pair[2];
  char tail[5];
};

/* As programs of that time send an array of structures. */
static void structures(void) {
  int lengths[3] = {1, 1, 1}, i;
  MPI_Aint displacements[3];
  MPI_Datatype parts[3], inner, outer;
  struct Outer sent[3], got[3];
  parts[0] = MPI_INT, parts[1] = MPI_CHAR, parts[2] = MPI_UB;
  displacements[0] = 0, displacements[1] = offsetof(struct Inner, letter), displacements[2] = sizeof(struct Inner);
  MPI_Type_struct(3, lengths, displacements, parts, &inner);
  lengths[1] = 2;
  parts[0] = MPI_DOUBLE, parts[1] = inner, parts[2] = MPI_UB;
  displacements[1] = offsetof(struct Outer, pair), displacements[2] = sizeof(struct Outer);
  MPI_Type_struct(3, lengths, displacements, parts, &outer);
  expect_bounds(outer, 0, sizeof(struct Outer), "an array of structures");
  MPI_Type_commit(&outer);
  memset(sent, 0, sizeof sent);
  memset(got, 0, sizeof got);
  for (i = 0; i < 3; i++) {
    sent[i].value = i + 0.5;
    sent[i].pair[0].number = 10 + i, sent[i].pair[1].number = 20 + i;
    sent[i].pair[0].letter = (char)('a' + i), sent[i].pair[1].letter = (char)('p' + i);
    strcpy(sent[i].tail, "gone");
  }
  MPI_Sendrecv(sent, 3, outer, 0, 0, got, 3, outer, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  for (i = 0; i < 3; i++) {
    EXPECT(got[i].value == i + 0.5, "the double of a structure");
    EXPECT(got[i].pair[0].number == 10 + i && got[i].pair[1].number == 20 + i, "the integers of a structure");
    EXPECT(got[i].pair[0].letter == 'a' + i && got[i].pair[1].letter == 'p' + i, "the letters of a structure");
    EXPECT(got[i].tail[0] == 0, "what is no part of the type");
  }
  MPI_Type_free(&inner);
  MPI_Type_free(&outer);
}

static int heard = 0;
static void hear(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  MPI_Error_class(*code, &heard);
}

static void errors(void) {
  MPI_Handler_function* const function = hear;
  MPI_Errhandler handler, got;
  MPI_Datatype type;
  MPI_Errhandler_create(function, &handler);
  MPI_Errhandler_set(MPI_COMM_WORLD, handler);
  MPI_Errhandler_get(MPI_COMM_WORLD, &got);
  EXPECT(got == handler, "MPI_Errhandler_get");
  MPI_Send(&heard, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
  EXPECT(heard == MPI_ERR_RANK, "the handler of MPI_Errhandler_set");
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);

  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT(MPI_Type_contiguous(1, MPI_UB, &type) != MPI_SUCCESS, "MPI_UB elsewhere is no type");
  EXPECT(MPI_Type_struct(-1, NULL, NULL, NULL, &type) != MPI_SUCCESS, "a negative count");
  EXPECT(MPI_Type_struct(1, NULL, NULL, NULL, &type) != MPI_SUCCESS, "no arrays");
}

static void combiners(void) {
  int code = MPI_COMBINER_STRUCT, old = 0;
  switch (code) {
    case MPI_COMBINER_HVECTOR_INTEGER:
    case MPI_COMBINER_HINDEXED_INTEGER:
    case MPI_COMBINER_STRUCT_INTEGER:
      old = 1;
      break;
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      break;
    default:
      old = 1;
      break;
  }
  EXPECT(old == 0, "combiners differ");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  addresses();
  types();
  bounds();
  structures();
  errors();
  combiners();
  MPI_Finalize();
  printf("%d checks, %d wrong\n", done, bad);
  return bad != 0;
}
