// SPDX-License-Identifier: BSD-3-Clause
// Initialisation, versions, clocks, memory, error classes, codes and strings, error handlers.
// NOT_OPENMPI: 4.1 counts the end of the library version. NOT_MPICH: 4.0 has texts where none was given.
#include <thread>
#include <utility>

#include "check.hpp"

namespace {

int handled = 0, handled_code = 0;
MPI_Comm handled_comm = MPI_COMM_NULL;
void note(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_code = *code;
  handled_comm = *comm;
}
void note_other(MPI_Comm*, int*, ...) {
  handled += 100;
}

void inquiry() {
  int flag = -1, level = -1, major = 0, minor = -1, length = 0;
  OK(MPI_Initialized(&flag));
  CHECK(flag);
  OK(MPI_Finalized(&flag));
  CHECK(!flag);
  OK(MPI_Query_thread(&level));
  CHECK(level >= MPI_THREAD_MULTIPLE);
  OK(MPI_Is_thread_main(&flag));
  CHECK(flag);
  std::thread([] {
    int main = -1;
    OK(MPI_Is_thread_main(&main));
    CHECK(!main);
  }).join();
  CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
        MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE);
  OK(MPI_Get_version(&major, &minor));
  CHECK_EQ(major, MPI_VERSION);
  CHECK_EQ(minor, MPI_SUBVERSION);
  std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING);
  OK(MPI_Get_library_version(text.data(), &length));
  CHECK(length > 0 && length == static_cast<int>(std::strlen(text.data())));
  char name[MPI_MAX_PROCESSOR_NAME];
  OK(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && length == static_cast<int>(std::strlen(name)));
}

#ifndef OTHER_MPI
// Each error class of the standard, those of the tool information interface too, is its own class and has a text with
// its name.
void texts_of_classes() {
#define CLASS(name) {name, #name}
  // clang-format off
  const std::pair<int, const char*> classes[] = {
    CLASS(MPI_SUCCESS), CLASS(MPI_ERR_BUFFER), CLASS(MPI_ERR_COUNT), CLASS(MPI_ERR_TYPE), CLASS(MPI_ERR_TAG),
    CLASS(MPI_ERR_COMM), CLASS(MPI_ERR_RANK), CLASS(MPI_ERR_REQUEST), CLASS(MPI_ERR_ROOT), CLASS(MPI_ERR_GROUP),
    CLASS(MPI_ERR_OP), CLASS(MPI_ERR_TOPOLOGY), CLASS(MPI_ERR_DIMS), CLASS(MPI_ERR_ARG), CLASS(MPI_ERR_UNKNOWN),
    CLASS(MPI_ERR_TRUNCATE), CLASS(MPI_ERR_OTHER), CLASS(MPI_ERR_INTERN), CLASS(MPI_ERR_PENDING),
    CLASS(MPI_ERR_IN_STATUS), CLASS(MPI_ERR_ACCESS), CLASS(MPI_ERR_AMODE), CLASS(MPI_ERR_ASSERT),
    CLASS(MPI_ERR_BAD_FILE), CLASS(MPI_ERR_BASE), CLASS(MPI_ERR_CONVERSION), CLASS(MPI_ERR_DISP),
    CLASS(MPI_ERR_DUP_DATAREP), CLASS(MPI_ERR_FILE_EXISTS), CLASS(MPI_ERR_FILE_IN_USE), CLASS(MPI_ERR_FILE),
    CLASS(MPI_ERR_INFO_KEY), CLASS(MPI_ERR_INFO_NOKEY), CLASS(MPI_ERR_INFO_VALUE), CLASS(MPI_ERR_INFO),
    CLASS(MPI_ERR_IO), CLASS(MPI_ERR_KEYVAL), CLASS(MPI_ERR_LOCKTYPE), CLASS(MPI_ERR_NAME),
    CLASS(MPI_ERR_NO_MEM), CLASS(MPI_ERR_NOT_SAME), CLASS(MPI_ERR_NO_SPACE), CLASS(MPI_ERR_NO_SUCH_FILE),
    CLASS(MPI_ERR_PORT), CLASS(MPI_ERR_QUOTA), CLASS(MPI_ERR_READ_ONLY), CLASS(MPI_ERR_RMA_ATTACH),
    CLASS(MPI_ERR_RMA_CONFLICT), CLASS(MPI_ERR_RMA_RANGE), CLASS(MPI_ERR_RMA_SHARED), CLASS(MPI_ERR_RMA_SYNC),
    CLASS(MPI_ERR_SERVICE), CLASS(MPI_ERR_SIZE), CLASS(MPI_ERR_SPAWN), CLASS(MPI_ERR_UNSUPPORTED_DATAREP),
    CLASS(MPI_ERR_UNSUPPORTED_OPERATION), CLASS(MPI_ERR_WIN), CLASS(MPI_ERR_RMA_FLAVOR),
    CLASS(MPI_ERR_PROC_ABORTED), CLASS(MPI_ERR_VALUE_TOO_LARGE), CLASS(MPI_ERR_SESSION),
    CLASS(MPI_ERR_ERRHANDLER), CLASS(MPI_ERR_ABI), CLASS(MPI_T_ERR_CANNOT_INIT),
    CLASS(MPI_T_ERR_NOT_ACCESSIBLE), CLASS(MPI_T_ERR_NOT_INITIALIZED), CLASS(MPI_T_ERR_NOT_SUPPORTED),
    CLASS(MPI_T_ERR_MEMORY), CLASS(MPI_T_ERR_INVALID), CLASS(MPI_T_ERR_INVALID_INDEX),
    CLASS(MPI_T_ERR_INVALID_ITEM), CLASS(MPI_T_ERR_INVALID_SESSION), CLASS(MPI_T_ERR_INVALID_HANDLE),
    CLASS(MPI_T_ERR_INVALID_NAME), CLASS(MPI_T_ERR_OUT_OF_HANDLES), CLASS(MPI_T_ERR_OUT_OF_SESSIONS),
    CLASS(MPI_T_ERR_CVAR_SET_NOT_NOW), CLASS(MPI_T_ERR_CVAR_SET_NEVER), CLASS(MPI_T_ERR_PVAR_NO_WRITE),
    CLASS(MPI_T_ERR_PVAR_NO_STARTSTOP), CLASS(MPI_T_ERR_PVAR_NO_ATOMIC),
  };
  // clang-format on
#undef CLASS
  for (const auto& [code, name] : classes) {
    int found = -1, length = 0;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Error_class(code, &found));
    CHECK_EQ(found, code);
    OK(MPI_Error_string(code, text, &length));
    CHECK(std::string(text).rfind(name + std::string(": "), 0) == 0 && length == static_cast<int>(std::strlen(text)));
  }
}

// It is made as MPI_INFO_ENV was by MPI_Init, with the arguments that it is given.
void created_environment(int argc, char** argv) {
  const auto value_of = [](MPI_Info info, const char* key) {
    char text[1024] = "";
    int length = sizeof text, flag = 0;
    OK(MPI_Info_get_string(info, key, &length, text, &flag));
    return flag ? std::string(text) : "none";
  };
  MPI_Info made;
  OK(MPI_Info_create_env(argc, argv, &made));
  int keys = 0;
  OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY];
    OK(MPI_Info_get_nthkey(MPI_INFO_ENV, i, key));
    CHECK_EQ_IN(value_of(made, key), value_of(MPI_INFO_ENV, key), "%s", key);
  }
  for (const char* key : {"maxprocs", "thread_level", "mpi_memory_alloc_kinds"}) CHECK(value_of(made, key) != "none");
  OK(MPI_Info_free(&made));
  char name[] = "other", first[] = "-a", second[] = "b";
  char* words[] = {name, first, second, nullptr};
  OK(MPI_Info_create_env(3, words, &made));
  CHECK_EQ(value_of(made, "command"), std::string("other"));
  CHECK_EQ(value_of(made, "argv"), std::string("-a b"));
  OK(MPI_Info_set(made, "maxprocs", "77"));  // it is the program's own
  OK(MPI_Info_free(&made));
  CHECK(value_of(MPI_INFO_ENV, "maxprocs") != "77");
}
#endif

void clocks() {
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 0.01);
  const double begin = MPI_Wtime(), true_begin = check::seconds();
  double before = begin;
  while (check::seconds() < true_begin + 0.05) {
    const double now = MPI_Wtime();
    CHECK(now >= before);
    before = now;
  }
  const double took = MPI_Wtime() - begin;
  CHECK(took > 0.049 && took < 20);
}

void memory() {
  for (MPI_Aint size : {MPI_Aint{0}, MPI_Aint{1}, MPI_Aint{1} << 22}) {
    char* base = nullptr;
    OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &base));
    if (size > 0) {
      CHECK(base != nullptr);
      std::memset(base, 3, size);
      CHECK_EQ(base[size - 1], 3);
    }
    OK(MPI_Free_mem(base));
  }
  MPI_Info info;
  OK(MPI_Info_create(&info));
  for (const char* alignment : {"4096", "1", "3000", "many", "-8"}) {
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", alignment));
    for (int i = 0; i < 8; ++i) {
      char* base = nullptr;
      OK(MPI_Alloc_mem(100, info, &base));
      if (std::atoi(alignment) > 1) CHECK_EQ(reinterpret_cast<uintptr_t>(base) % 2048, 0U);
      if (std::atoi(alignment) == 4096) CHECK_EQ(reinterpret_cast<uintptr_t>(base) % 4096, 0U);
      OK(MPI_Free_mem(base));
    }
  }
  OK(MPI_Info_free(&info));
}

void attributes() {
  void* value = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag);
  CHECK(*static_cast<int*>(value) >= 32767);
  const int top = *static_cast<int*>(value), out = 5;
  int in = 0;
  OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, top, &in, 1, MPI_INT, 0, top, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK_EQ(in, 5);
  for (int key : {static_cast<int>(MPI_HOST), static_cast<int>(MPI_IO), static_cast<int>(MPI_WTIME_IS_GLOBAL)}) {
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    CHECK(flag);
  }
}

void errors() {
  // Every class that can be named is its own class, and has a text.
  // clang-format off
  const int classes[] = {
      MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_REQUEST,
      MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_UNKNOWN,
      MPI_ERR_TRUNCATE, MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_PENDING, MPI_ERR_IN_STATUS, MPI_ERR_ACCESS,
      MPI_ERR_AMODE, MPI_ERR_ASSERT, MPI_ERR_BAD_FILE, MPI_ERR_BASE, MPI_ERR_CONVERSION, MPI_ERR_DISP,
      MPI_ERR_DUP_DATAREP, MPI_ERR_FILE_EXISTS, MPI_ERR_FILE_IN_USE, MPI_ERR_FILE, MPI_ERR_INFO_KEY,
      MPI_ERR_INFO_NOKEY, MPI_ERR_INFO_VALUE, MPI_ERR_INFO, MPI_ERR_IO, MPI_ERR_KEYVAL, MPI_ERR_LOCKTYPE,
      MPI_ERR_NAME, MPI_ERR_NO_MEM, MPI_ERR_NOT_SAME, MPI_ERR_NO_SPACE, MPI_ERR_NO_SUCH_FILE, MPI_ERR_PORT,
      MPI_ERR_QUOTA, MPI_ERR_READ_ONLY, MPI_ERR_RMA_CONFLICT, MPI_ERR_RMA_SYNC, MPI_ERR_SERVICE, MPI_ERR_SIZE,
      MPI_ERR_SPAWN, MPI_ERR_UNSUPPORTED_DATAREP, MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERR_WIN};
  // clang-format on
  for (int each : classes) {
    CHECK_EQ(check::error_class(each), each);
    CHECK(!check::error_text(each).empty());
    CHECK(each <= MPI_ERR_LASTCODE);
  }
  CHECK(!check::error_text(MPI_SUCCESS).empty());
  for (size_t i = 0; i < std::size(classes); ++i)
    for (size_t k = 0; k < i; ++k) CHECK(classes[i] != classes[k]);

  int fresh = -1, code = -1, second = -1, flag = 0;
  void* last = nullptr;
  OK(MPI_Add_error_class(&fresh));
  CHECK(fresh > MPI_ERR_LASTCODE);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *static_cast<int*>(last) >= fresh);
  OK(MPI_Add_error_code(fresh, &code));
  OK(MPI_Add_error_code(MPI_ERR_ARG, &second));
  CHECK_EQ(check::error_class(code), fresh);
  CHECK_EQ(check::error_class(second), MPI_ERR_ARG);
  OK(MPI_Add_error_string(code, "the soup is cold"));
  CHECK(check::error_text(code) == "the soup is cold");
  CHECK(check::error_text(second).empty());
  FAILS(MPI_Add_error_string(MPI_ERR_ARG, "not yours"), MPI_ERR_ARG);
}

// What the call returns (the standard, section 9.3.1): nothing has happened, or something else.
void forgive(MPI_Comm*, int* code, ...) {
  *code = MPI_SUCCESS;
}
void rename_error(MPI_Comm*, int* code, ...) {
  *code = MPI_ERR_PORT;
}

void codes_of_handlers(const check::Program& world) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Request request;
  int value = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  using Case = std::pair<MPI_Comm_errhandler_function*, int>;
  for (const auto& [function, wanted] : {Case{forgive, MPI_SUCCESS}, Case{rename_error, MPI_ERR_PORT}}) {
    OK(MPI_Comm_create_errhandler(function, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    CHECK_EQ(MPI_Send(&value, 1, MPI_INT, world.size(), 0, comm), wanted);  // refused by its arguments
    OK(MPI_Irecv(&value, 0, MPI_INT, world.rank(), 0, comm, &request));
    OK(MPI_Send(&value, 1, MPI_INT, world.rank(), 0, comm));
    CHECK_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), wanted);  // fails later
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    OK(MPI_Errhandler_free(&handler));
  }
  OK(MPI_Comm_free(&comm));
}

void handlers(const check::Program& world) {
  MPI_Comm comm, copy;
  MPI_Errhandler mine, other, got;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_get_errhandler(comm, &got));
  CHECK(got == MPI_ERRORS_RETURN);  // inherited
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Comm_create_errhandler(note, &mine));
  OK(MPI_Comm_create_errhandler(note_other, &other));
  OK(MPI_Comm_set_errhandler(comm, mine));
  int value = 0;
  const int code = MPI_Send(&value, 1, MPI_INT, world.size() + 5, 0, comm);
  CHECK_EQ(handled, 1);
  CHECK_EQ(handled_code, code);
  CHECK(handled_comm == comm);
  CHECK_EQ(check::error_class(code), MPI_ERR_RANK);
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_set_errhandler(comm, other));
  OK(MPI_Errhandler_free(&mine));  // the copy still has it
  OK(MPI_Errhandler_free(&other));
  CHECK(mine == MPI_ERRHANDLER_NULL);
  MPI_Send(&value, 1, MPI_INT, -77, 0, copy);
  CHECK_EQ(handled, 2);
  CHECK(handled_comm == copy);
  MPI_Send(&value, -1, MPI_INT, 0, 0, comm);
  CHECK_EQ(handled, 102);
  OK(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER));
  CHECK_EQ(handled, 103);
  CHECK_EQ(handled_code, MPI_ERR_OTHER);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&comm));

  // Bad arguments, each with its class.
  FAILS(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
  FAILS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  FAILS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  FAILS(MPI_Bcast(&value, 1, MPI_INT, world.size(), MPI_COMM_WORLD), MPI_ERR_ROOT);
  FAILS(MPI_Allreduce(&value, &handled, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
  FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
}

}  // namespace

int main(int argc, char** argv) {
  int flag = -1;
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && !flag);
  {
    check::Program world(&argc, &argv, MPI_THREAD_MULTIPLE);
    inquiry();
#ifndef OTHER_MPI
    created_environment(argc, argv);
    texts_of_classes();
#endif
    clocks();
    memory();
    attributes();
    errors();
    handlers(world);
    codes_of_handlers(world);
  }
  if (MPI_Initialized(&flag) != MPI_SUCCESS || !flag) return 1;
  if (MPI_Finalized(&flag) != MPI_SUCCESS || !flag) return 1;
}
