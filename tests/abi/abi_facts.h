/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of the MPI 5.0 ABI written out by hand: shapes of types, and rules that its numbers follow.
 * Included by the generated programs, which define EXPECT(truth, text). */

/* The numbers of types with a fixed size hold the logarithm of the size in bits 3 to 5. */
static void expect_size(MPI_Datatype type, int size, const char* name) {
  EXPECT(1 << (((intptr_t)type >> 3) & 7) == size, name);
}

static void abi_facts(void) {
  EXPECT(sizeof(MPI_Status) == 32, "size of MPI_Status");
  EXPECT(offsetof(MPI_Status, MPI_SOURCE) == 0, "MPI_SOURCE stands first");
  EXPECT(offsetof(MPI_Status, MPI_TAG) == 4, "MPI_TAG stands second");
  EXPECT(offsetof(MPI_Status, MPI_ERROR) == 8, "MPI_ERROR stands third");
  EXPECT(sizeof(((MPI_Status*)0)->MPI_internal) == 20, "five hidden integers in MPI_Status");
  EXPECT(sizeof(MPI_Aint) == sizeof(void*), "MPI_Aint holds an address");
  EXPECT(sizeof(MPI_Offset) == 8 && sizeof(MPI_Count) == 8, "offsets and counts have 64 bits");
  EXPECT((MPI_Aint)-1 < 0 && (MPI_Offset)-1 < 0 && (MPI_Count)-1 < 0, "they are signed");
  EXPECT(sizeof(MPI_Comm) == sizeof(void*) && sizeof(MPI_Request) == sizeof(void*), "handles are pointers");

  EXPECT(MPI_VERSION == 5 && MPI_SUBVERSION == 0 && MPI_ABI_VERSION == 1, "versions");
  EXPECT((intptr_t)MPI_COMM_WORLD == 257 && (intptr_t)MPI_COMM_SELF == 258, "communicators");
  EXPECT((intptr_t)MPI_SUM == 33 && (intptr_t)MPI_OP_NULL == 32, "operations");
  EXPECT((intptr_t)MPI_INT == 521 && (intptr_t)MPI_DOUBLE == 532, "types of C");
  EXPECT((intptr_t)MPI_REQUEST_NULL == 384, "the null request");
  EXPECT((intptr_t)MPI_ERRORS_RETURN == 323, "error handlers");
  EXPECT(MPI_PROC_NULL == -3 && MPI_ANY_SOURCE == -1 && MPI_ANY_TAG == -2, "special ranks, tags");
  EXPECT(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
             MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE,
         "levels of thread support rise");
  EXPECT(MPI_STATUS_IGNORE == NULL && MPI_BOTTOM == NULL && MPI_IN_PLACE != MPI_BOTTOM, "special addresses");

  expect_size(MPI_INT8_T, 1, "MPI_INT8_T");
  expect_size(MPI_UINT16_T, 2, "MPI_UINT16_T");
  expect_size(MPI_INT32_T, 4, "MPI_INT32_T");
  expect_size(MPI_UINT64_T, 8, "MPI_UINT64_T");
  expect_size(MPI_BYTE, 1, "MPI_BYTE");
  expect_size(MPI_CHAR, 1, "MPI_CHAR");
  expect_size(MPI_LOGICAL4, 4, "MPI_LOGICAL4");
  expect_size(MPI_INTEGER8, 8, "MPI_INTEGER8");
  expect_size(MPI_REAL16, 16, "MPI_REAL16");
  expect_size(MPI_COMPLEX8, 8, "MPI_COMPLEX8");
}
