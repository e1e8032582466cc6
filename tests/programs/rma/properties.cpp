// SPDX-License-Identifier: BSD-3-Clause
// What a window is beside its memory: attributes, predefined and own, names, hints, its group,
// error handlers, its number. NOT_MPICH: where ranks share memory, 4.0 gives some another address
// than its windows have.
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "check.hpp"
#ifndef OTHER_MPI
#include "rma/hints.hpp"
#endif

namespace {

int deleted = 0, handled = 0, handled_class = 0;
MPI_Win handled_win = MPI_WIN_NULL;

int count_deleted(MPI_Win, int, void* value, void* state) {
  CHECK(state == &deleted);
  deleted += *static_cast<int*>(value);
  return MPI_SUCCESS;
}

void handle(MPI_Win* win, int* code, ...) {
  ++handled;
  handled_win = *win;
  handled_class = check::error_class(*code);
}

template <class T>
T attribute(MPI_Win win, int key) {
  T* value = nullptr;
  int flag = 0;
  OK(MPI_Win_get_attr(win, key, &value, &flag));
  CHECK(flag != 0);
  return *value;
}

void predefined(MPI_Win win, void* base, MPI_Aint size, int unit, int flavor) {
  void* got = nullptr;
  int flag = 0;
  OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &got, &flag));
  CHECK(flag != 0);
  CHECK(got == base);
  CHECK_EQ(attribute<MPI_Aint>(win, MPI_WIN_SIZE), size);
  CHECK_EQ(attribute<int>(win, MPI_WIN_DISP_UNIT), unit);
  CHECK_EQ(attribute<int>(win, MPI_WIN_CREATE_FLAVOR), flavor);
  const int model = attribute<int>(win, MPI_WIN_MODEL);
  CHECK(model == MPI_WIN_UNIFIED || model == MPI_WIN_SEPARATE);
}

void flavors(const check::Program& mpi) {
  int memory[8];
  void* base = nullptr;
  MPI_Win win;
  OK(MPI_Win_create(memory, sizeof memory, 2 + mpi.rank(), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  predefined(win, memory, sizeof memory, 2 + mpi.rank(), MPI_WIN_FLAVOR_CREATE);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  predefined(win, base, 100, 1, MPI_WIN_FLAVOR_ALLOCATE);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_allocate_shared(100, 4, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win));
  predefined(win, base, 100, 4, MPI_WIN_FLAVOR_SHARED);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  predefined(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  OK(MPI_Win_free(&win));
}

void attributes(MPI_Win win) {
  int key = MPI_KEYVAL_INVALID, other = MPI_KEYVAL_INVALID, flag = -1;
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_deleted, &key, &deleted));
  OK(MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &other, nullptr));
  CHECK(key != other);
  int one = 1, ten = 10;
  int* got = nullptr;
  OK(MPI_Win_get_attr(win, key, &got, &flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Win_set_attr(win, key, &one));
  OK(MPI_Win_set_attr(win, other, &ten));
  OK(MPI_Win_get_attr(win, key, &got, &flag));
  CHECK(flag != 0 && got == &one);
  OK(MPI_Win_set_attr(win, key, &ten));
  CHECK_EQ(deleted, 1);
  OK(MPI_Win_delete_attr(win, key));
  CHECK_EQ(deleted, 11);
  OK(MPI_Win_get_attr(win, key, &got, &flag));
  CHECK_EQ(flag, 0);
  static int last = 100;
  OK(MPI_Win_set_attr(win, key, &last));  // goes with the window
  OK(MPI_Win_free_keyval(&key));
  CHECK_EQ(key, MPI_KEYVAL_INVALID);
  OK(MPI_Win_free_keyval(&other));
}

void names(MPI_Win win) {
  char name[MPI_MAX_OBJECT_NAME] = "x";
  int length = -1;
  OK(MPI_Win_get_name(win, name, &length));
  CHECK_EQ(std::strlen(name), static_cast<size_t>(length));
#ifndef OTHER_MPI  // some give their own windows names
  CHECK_EQ(length, 0);
#endif
  OK(MPI_Win_set_name(win, "halo"));
  OK(MPI_Win_get_name(win, name, &length));
  CHECK_EQ(std::string(name), std::string("halo"));
  CHECK_EQ(length, 4);
}

void hints(MPI_Win win) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no_such_hint", "1"));
  OK(MPI_Win_set_info(win, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_get_info(win, &info));
  CHECK(info != MPI_INFO_NULL);
  OK(MPI_Info_free(&info));
}

#ifndef OTHER_MPI
// MPI_Win_get_info tells what holds: nothing that was ignored, and of memory what it came to.
void told_hints() {
  const auto info_of = [](std::initializer_list<std::pair<const char*, const char*>> hints) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    for (const auto& [key, value] : hints) OK(MPI_Info_set(info, key, value));
    return info;
  };
  MPI_Info info = info_of({{"accumulate_ops", "some"},
                           {"accumulate_ordering", "rar,waw,"},
                           {"no_locks", "yes"},
                           {"mpi_accumulate_granularity", "-8"},
                           {"mpi_minimum_memory_alignment", "100"}});
  int* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &memory, &win));
  CHECK_EQ(hint_of(win, "accumulate_ops"), std::string("same_op_no_op"));
  CHECK_EQ(hint_of(win, "accumulate_ordering"), std::string("rar,raw,war,waw"));
  CHECK_EQ(hint_of(win, "no_locks"), std::string("false"));
  CHECK_EQ(hint_of(win, "mpi_accumulate_granularity"), std::string("0"));
  CHECK_EQ(hint_of(win, "mpi_minimum_memory_alignment"), std::string("128"));
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(memory) % 128, 0u);
  OK(MPI_Info_free(&info));
  info = info_of({{"accumulate_ordering", "raw,waw"}, {"mpi_minimum_memory_alignment", "1024"}});
  OK(MPI_Win_set_info(win, info));
  CHECK_EQ(hint_of(win, "accumulate_ordering"), std::string("raw,waw"));
  CHECK_EQ(hint_of(win, "mpi_minimum_memory_alignment"), std::string("128"));  // the memory is where it is
  OK(MPI_Win_free(&win));
  OK(MPI_Info_free(&info));

  // Parts are apart only where all ranks wish so, and only then does each begin at a multiple of anything.
  MPI_Comm node;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int size = 0;
  OK(MPI_Comm_size(node, &size));
  info = info_of({{"alloc_shared_noncontig", "true"}, {"mpi_minimum_memory_alignment", "1048576"}});
  for (const bool all : {true, false}) {
    int mine = 0;
    OK(MPI_Comm_rank(node, &mine));
    OK(MPI_Win_allocate_shared(100, 1, all || mine == 0 ? info : MPI_INFO_NULL, node, &memory, &win));
    const bool apart = all || size == 1;
    CHECK_EQ(hint_of(win, "alloc_shared_noncontig"), std::string(apart ? "true" : "false"));
    const std::string alignment = hint_of(win, "mpi_minimum_memory_alignment");
    if (!apart) CHECK_EQ(alignment, std::string("-"));
    if (apart) CHECK(std::stol(alignment) >= 64 && reinterpret_cast<std::intptr_t>(memory) % std::stol(alignment) == 0);
    OK(MPI_Win_free(&win));
  }
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&node));
  OK(MPI_Win_create(&size, sizeof size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  CHECK_EQ(hint_of(win, "mpi_minimum_memory_alignment"), std::string("-"));
  OK(MPI_Win_free(&win));
}
#endif

void group(const check::Program& mpi) {
  MPI_Comm reversed;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mpi.rank(), &reversed));
  MPI_Win win;
  OK(MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, reversed, &win));
  MPI_Group of_win, of_comm;
  OK(MPI_Win_get_group(win, &of_win));
  OK(MPI_Comm_group(reversed, &of_comm));
  int result = -1;
  OK(MPI_Group_compare(of_win, of_comm, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Group_free(&of_win));
  OK(MPI_Group_free(&of_comm));
  OK(MPI_Comm_free(&reversed));  // the window goes on
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_free(&win));
}

void handlers(MPI_Win win) {
  MPI_Errhandler mine, got;
  OK(MPI_Win_get_errhandler(win, &got));
  CHECK(got == MPI_ERRORS_ARE_FATAL);
  OK(MPI_Win_create_errhandler(handle, &mine));
  OK(MPI_Win_set_errhandler(win, mine));
  OK(MPI_Win_get_errhandler(win, &got));
  CHECK(got == mine);
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Errhandler_free(&mine));
  OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE));
  CHECK_EQ(handled, 1);
  CHECK_EQ(handled_class, MPI_ERR_RMA_RANGE);
  CHECK(handled_win == win);
  FAILS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  CHECK_EQ(handled, 2);
  CHECK_EQ(handled_class, MPI_ERR_RMA_SYNC);
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  CHECK_EQ(handled, 2);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  flavors(mpi);
  int memory[4] = {};
  MPI_Win win;
  OK(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
#ifndef OTHER_MPI
  CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
  CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
#endif
  attributes(win);
  names(win);
  hints(win);
  handlers(win);
  OK(MPI_Win_free(&win));
  CHECK_EQ(deleted, 111);
  group(mpi);
#ifndef OTHER_MPI
  told_hints();
#endif
}
