/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of the program that legal_arguments.py makes, a job of one rank, and the calls with NULL or any
 * value that it cannot derive. Everything here is right: an error ends it. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int done, wrong;
static MPI_Count zeros[64];   /* counts, displacements, positions */
static MPI_Datatype types[2]; /* of as many edges as the ring has */
static MPI_Request request, other;
static MPI_Message message;
static MPI_Win win;
static MPI_File file;
static MPI_Comm ring; /* each side of the one rank is its own neighbour */

static void legal(int code, const char* call) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  ++done;
  if (code == MPI_SUCCESS) return;
  ++wrong;
  MPI_Error_string(code, text, &length);
  printf("wrong: %s\n  is refused: %s\n", call, text);
}
#define LEGAL(call) legal((call), #call)

static void name(int code, const char* found, int length, const char* expected) {
  ++done;
  if (code == MPI_SUCCESS && !strcmp(found, expected) && length == (int)strlen(expected)) return;
  ++wrong;
  printf("wrong: %s is called '%s' (%d characters), code %d\n", expected, found, length, code);
}
#define NAME_OF(get, handle, expected)                       \
  do {                                                       \
    char found_[MPI_MAX_OBJECT_NAME] = "?";                  \
    int length_ = -1, code_ = get(handle, found_, &length_); \
    name(code_, found_, length_, expected);                  \
  } while (0)
#define NAME(type, expected) NAME_OF(MPI_Type_get_name, type, expected)

static int numbers[8], number, elements; /* how many there are in each message */
static char box[64];
static const int one_ints[] = {1, 1};
static const MPI_Count one_counts[] = {1, 1};
static MPI_Datatype from_absolute, to_absolute, from_absolutes[2],
    to_absolutes[2]; /* numbers[0] and numbers[4]: a ring has two */

static void absolute(int* at, MPI_Datatype* type, MPI_Datatype* types) {
  const int one = 1;
  MPI_Aint address;
  MPI_Get_address(at, &address);
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, type);
  MPI_Type_commit(type);
  types[0] = types[1] = *type;
}

static void clear(int how_many) {
  elements = how_many;
  memset(zeros, 0, sizeof zeros);
  types[0] = types[1] = MPI_INT;
  request = other = MPI_REQUEST_NULL;
}
// clang-format off
static void expect_message(void) { MPI_Irecv(&number, elements, MPI_INT, 0, 0, MPI_COMM_SELF, &other); }
static void send_message(void) { MPI_Isend(&number, elements, MPI_INT, 0, 0, MPI_COMM_SELF, &other); }
static void match_message(void) { MPI_Mprobe(0, 0, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE); }
static void run_request(void) { LEGAL(MPI_Wait(&request, MPI_STATUS_IGNORE)); }
// clang-format on
static void run_init(void) {
  LEGAL(MPI_Start(&request));
  run_request();
  LEGAL(MPI_Request_free(&request));
}
static void run_partitioned(int sends) {
  if (sends)
    LEGAL(MPI_Precv_init(&number, 1, elements, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &other));
  else
    LEGAL(MPI_Psend_init(&number, 1, elements, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &other));
  LEGAL(MPI_Start(&request));
  LEGAL(MPI_Start(&other));
  LEGAL(MPI_Pready(0, sends ? request : other));
  LEGAL(MPI_Wait(&request, MPI_STATUS_IGNORE));
  LEGAL(MPI_Wait(&other, MPI_STATUS_IGNORE));
  LEGAL(MPI_Request_free(&request));
  LEGAL(MPI_Request_free(&other));
}
static void run_other(void) {
  LEGAL(MPI_Wait(&other, MPI_STATUS_IGNORE));
}

static void call_all(void);
static void name_all(void);

static void attributes(void) {
  int key;
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  LEGAL(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
  LEGAL(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
  LEGAL(MPI_Comm_free_keyval(&key));
  LEGAL(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
  LEGAL(MPI_Type_set_attr(type, key, NULL));
  LEGAL(MPI_Type_free_keyval(&key));
  LEGAL(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
  LEGAL(MPI_Win_set_attr(win, key, NULL));
  LEGAL(MPI_Win_free_keyval(&key));
  LEGAL(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL));
  LEGAL(MPI_Attr_put(MPI_COMM_SELF, key, NULL));
  LEGAL(MPI_Keyval_free(&key));
  MPI_Type_free(&type);
}

static void empty_arrays(void) {
  int flag, index, count;
  MPI_Group group, none;
  MPI_Datatype type;
  LEGAL(MPI_Waitall(0, NULL, NULL));
  LEGAL(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  LEGAL(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
  LEGAL(MPI_Waitsome(0, NULL, &count, NULL, NULL));
  LEGAL(MPI_Testall(0, NULL, &flag, NULL));
  LEGAL(MPI_Testany(0, NULL, &index, &flag, MPI_STATUS_IGNORE));
  LEGAL(MPI_Testsome(0, NULL, &count, NULL, NULL));
  LEGAL(MPI_Startall(0, NULL));
  LEGAL(MPI_Request_get_status_all(0, NULL, &flag, NULL));
  LEGAL(MPI_Request_get_status_any(0, NULL, &index, &flag, MPI_STATUS_IGNORE));
  LEGAL(MPI_Request_get_status_some(0, NULL, &count, NULL, NULL));
  MPI_Comm_group(MPI_COMM_SELF, &group);
  LEGAL(MPI_Group_incl(group, 0, NULL, &none));
  LEGAL(MPI_Group_free(&none));
  LEGAL(MPI_Group_excl(group, 0, NULL, &none));
  LEGAL(MPI_Group_free(&none));
  LEGAL(MPI_Group_range_incl(group, 0, NULL, &none));
  LEGAL(MPI_Group_free(&none));
  LEGAL(MPI_Group_range_excl(group, 0, NULL, &none));
  LEGAL(MPI_Group_free(&none));
  LEGAL(MPI_Group_translate_ranks(group, 0, NULL, group, NULL));
  MPI_Group_free(&group);
#define EMPTY_TYPE(call) \
  LEGAL(call);           \
  LEGAL(MPI_Type_free(&type))
  EMPTY_TYPE(MPI_Type_indexed(0, NULL, NULL, MPI_INT, &type));
  EMPTY_TYPE(MPI_Type_create_hindexed(0, NULL, NULL, MPI_INT, &type));
  EMPTY_TYPE(MPI_Type_create_indexed_block(0, 1, NULL, MPI_INT, &type));
  EMPTY_TYPE(MPI_Type_create_hindexed_block(0, 1, NULL, MPI_INT, &type));
  EMPTY_TYPE(MPI_Type_create_struct(0, NULL, NULL, NULL, &type));
  MPI_Type_dup(MPI_INT, &type);
  LEGAL(MPI_Type_get_contents(type, 0, 0, 1, NULL, NULL, types));
  MPI_Type_free(&type);
}

static void memory(void) {
  int found, flag, data[3] = {1, 2, 3}, position = 0;
  void* address;
  MPI_Win empty;
  MPI_Datatype absolute;
  MPI_Aint at;
  int one = 1;
  LEGAL(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &empty));
  LEGAL(MPI_Win_free(&empty));
  LEGAL(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &empty));
  LEGAL(MPI_Win_attach(empty, NULL, 0));
  LEGAL(MPI_Win_detach(empty, NULL));
  LEGAL(MPI_Win_free(&empty));
  LEGAL(MPI_Alloc_mem(0, MPI_INFO_NULL, &address));
  LEGAL(MPI_Free_mem(address));
  LEGAL(MPI_Free_mem(NULL));
  LEGAL(MPI_Fetch_and_op(NULL, &found, MPI_INT, 0, 0, MPI_NO_OP, win));
  LEGAL(MPI_Fetch_and_op(NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win));
  LEGAL(MPI_Compare_and_swap(NULL, NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, win));
  LEGAL(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &found, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win));
  LEGAL(MPI_Exscan(data, NULL, 3, MPI_INT, MPI_SUM, MPI_COMM_SELF)); /* rank 0 receives nothing */
  LEGAL(MPI_Exscan(data, data, 3, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  LEGAL(MPI_Exscan(data, MPI_IN_PLACE, 3, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  LEGAL(MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &position, NULL, &flag));
  LEGAL(MPI_Get_address(MPI_BOTTOM, &at));
  /* Absolute addresses. */
  MPI_Get_address(data, &at);
  MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  LEGAL(MPI_Sendrecv(MPI_BOTTOM, 1, absolute, 0, 0, &found, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  LEGAL(MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_SELF));
  LEGAL(MPI_Put(MPI_BOTTOM, 1, absolute, 0, 0, 1, MPI_INT, win));
  MPI_Type_free(&absolute);
  LEGAL(MPI_File_write_all_begin(file, NULL, 0, MPI_INT));
  LEGAL(MPI_File_write_all_end(file, NULL, MPI_STATUS_IGNORE));
  LEGAL(MPI_File_read_ordered_begin_c(file, NULL, 0, MPI_INT));
  LEGAL(MPI_File_read_ordered_end(file, NULL, MPI_STATUS_IGNORE));
  NAME_OF(MPI_Comm_get_name, MPI_COMM_NULL, "MPI_COMM_NULL");
  NAME_OF(MPI_Type_get_name, MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL");
  NAME_OF(MPI_Win_get_name, MPI_WIN_NULL, "MPI_WIN_NULL");
}

int main(void) {
  static char room[1 << 16];
  int size, one = 1;
  MPI_Init(NULL, NULL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Win_create(room, 4096, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, win);
  LEGAL(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  LEGAL(MPI_Buffer_attach(NULL, 0));
  LEGAL(MPI_Buffer_detach(room, &size));
  MPI_Buffer_attach(room + 4096, (int)sizeof room - 4096);
  MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &ring);
  absolute(&numbers[0], &from_absolute, from_absolutes);
  absolute(&numbers[4], &to_absolute, to_absolutes);
  call_all();
  MPI_Type_free(&from_absolute);
  MPI_Type_free(&to_absolute);
  name_all();
  attributes();
  empty_arrays();
  memory();
  LEGAL(MPI_File_close(&file));
  MPI_Comm_free(&ring);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  LEGAL(MPI_Finalize());
  printf("%d right calls, %d refused\n", done, wrong);
  return wrong != 0 || done < 400;
}
