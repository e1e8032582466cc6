// SPDX-License-Identifier: BSD-3-Clause
// A key that is freed while attributes are under it (7.7.2): it is good for getting, setting and deleting them
// until the last one is gone, duplicates have it, and callbacks run; and no longer. Of communicators, datatypes
// and windows alike. And callbacks that fail.
#include "check.hpp"

namespace {

int copies, deletions;

// What the three kinds of objects have in common.
struct Comms {
  using Handle = MPI_Comm;
  static constexpr bool copied = true;
  static int on_copy(MPI_Comm, int, void*, void* value, void* copy, int* flag) {
    ++copies, *flag = 1, *static_cast<void**>(copy) = value;
    return MPI_SUCCESS;
  }
  static int on_delete(MPI_Comm, int, void*, void*) { return ++deletions, MPI_SUCCESS; }
  // clang-format off
  static Handle make() { Handle h; OK(MPI_Comm_dup(MPI_COMM_WORLD, &h)); MPI_Comm_set_errhandler(h, MPI_ERRORS_RETURN); return h; }
  static Handle copy(Handle from) { Handle h; OK(MPI_Comm_dup(from, &h)); return h; }
  // clang-format on
  static void free(Handle h) { OK(MPI_Comm_free(&h)); }
  static int make_key() {
    int k;
    OK(MPI_Comm_create_keyval(on_copy, on_delete, &k, nullptr));
    return k;
  }
  static int free_key(int k) { return MPI_Comm_free_keyval(&k); }
  static int set(Handle h, int k, void* v) { return MPI_Comm_set_attr(h, k, v); }
  static int get(Handle h, int k, void* v, int* f) { return MPI_Comm_get_attr(h, k, v, f); }
  static int remove(Handle h, int k) { return MPI_Comm_delete_attr(h, k); }
};
struct Types {
  using Handle = MPI_Datatype;
  static constexpr bool copied = true;
  static int on_copy(MPI_Datatype, int, void*, void* value, void* copy, int* flag) {
    ++copies, *flag = 1, *static_cast<void**>(copy) = value;
    return MPI_SUCCESS;
  }
  static int on_delete(MPI_Datatype, int, void*, void*) { return ++deletions, MPI_SUCCESS; }
  // clang-format off
  static Handle make() { Handle h; OK(MPI_Type_contiguous(3, MPI_INT, &h)); return h; }
  static Handle copy(Handle from) { Handle h; OK(MPI_Type_dup(from, &h)); return h; }
  // clang-format on
  static void free(Handle h) { OK(MPI_Type_free(&h)); }
  static int make_key() {
    int k;
    OK(MPI_Type_create_keyval(on_copy, on_delete, &k, nullptr));
    return k;
  }
  static int free_key(int k) { return MPI_Type_free_keyval(&k); }
  static int set(Handle h, int k, void* v) { return MPI_Type_set_attr(h, k, v); }
  static int get(Handle h, int k, void* v, int* f) { return MPI_Type_get_attr(h, k, v, f); }
  static int remove(Handle h, int k) { return MPI_Type_delete_attr(h, k); }
};
struct Windows {
  using Handle = MPI_Win;
  static constexpr bool copied = false;
  static int on_delete(MPI_Win, int, void*, void*) { return ++deletions, MPI_SUCCESS; }
  static Handle make() {
    Handle h;
    OK(MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &h));
    MPI_Win_set_errhandler(h, MPI_ERRORS_RETURN);
    return h;
  }
  static Handle copy(Handle) { return make(); }
  static void free(Handle h) { OK(MPI_Win_free(&h)); }
  static int make_key() {
    int k;
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &k, nullptr));
    return k;
  }
  static int free_key(int k) { return MPI_Win_free_keyval(&k); }
  static int set(Handle h, int k, void* v) { return MPI_Win_set_attr(h, k, v); }
  static int get(Handle h, int k, void* v, int* f) { return MPI_Win_get_attr(h, k, v, f); }
  static int remove(Handle h, int k) { return MPI_Win_delete_attr(h, k); }
};

template <class Kind>
void check_value(typename Kind::Handle object, int key, const int* expected) {
  void* value = nullptr;
  int flag = -1;
  OK(Kind::get(object, key, &value, &flag));
  CHECK_EQ(flag, expected ? 1 : 0);
  if (expected) CHECK(value == expected);
}

template <class Kind>
void run() {
  int one = 1, two = 2, flag;
  void* value;
  copies = deletions = 0;
  auto object = Kind::make(), other = Kind::make();
  const int key = Kind::make_key();
  OK(Kind::set(object, key, &one));
  OK(Kind::free_key(key));
  check_value<Kind>(object, key, &one);
  check_value<Kind>(other, key, nullptr);
  OK(Kind::set(object, key, &two));  // deletes the one before
  CHECK_EQ(deletions, 1);
  check_value<Kind>(object, key, &two);
  OK(Kind::set(other, key, &one));
  auto copied = Kind::copy(object);
  CHECK_EQ(copies, Kind::copied ? 1 : 0);
  if (Kind::copied) check_value<Kind>(copied, key, &two);
  Kind::free(copied);
  CHECK_EQ(deletions, Kind::copied ? 2 : 1);
  OK(Kind::remove(object, key));
  check_value<Kind>(object, key, nullptr);
  check_value<Kind>(other, key, &one);  // still there, and with it the key
  deletions = 0;
  Kind::free(other);
  CHECK_EQ(deletions, 1);
#ifndef OTHER_MPI  // the standard does not say what comes of using it
  CHECK_EQ(check::error_class(Kind::get(object, key, &value, &flag)), MPI_ERR_KEYVAL);
  CHECK_EQ(check::error_class(Kind::set(object, key, &one)), MPI_ERR_KEYVAL);
  const int again = Kind::make_key();
  OK(Kind::set(object, again, &one));
  OK(Kind::free_key(again));
  CHECK_EQ(check::error_class(Kind::free_key(again)), MPI_ERR_KEYVAL);
  OK(Kind::remove(object, again));
  CHECK_EQ(check::error_class(Kind::remove(object, again)), MPI_ERR_KEYVAL);
#else
  static_cast<void>(flag), static_cast<void>(value);
#endif
  Kind::free(object);
}

// A copy callback that fails has its call fail (7.7.2, 7.7.4), and no new object appears: its handle is the null one then,
// whatever stood there, which a program that frees what it has may look at.
template <class Handle>
int refuse(Handle, int, void*, void*, void*, int*) {
  return MPI_ERR_OTHER;
}

void failing_copies() {
  int key;
  MPI_Comm comm, made = MPI_COMM_WORLD;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  OK(MPI_Comm_create_keyval(refuse<MPI_Comm>, MPI_COMM_NULL_DELETE_FN, &key, nullptr));
  OK(MPI_Comm_set_attr(comm, key, nullptr));
  FAILS(MPI_Comm_dup(comm, &made), MPI_ERR_OTHER);
#ifndef OTHER_MPI
  CHECK(made == MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  made = MPI_COMM_WORLD;
  FAILS(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made), MPI_ERR_OTHER);
  CHECK(made == MPI_COMM_NULL);
  made = MPI_COMM_WORLD;
  FAILS(MPI_Comm_idup(comm, &made, &request), MPI_ERR_OTHER);
  CHECK(made == MPI_COMM_NULL && request == MPI_REQUEST_NULL);
#endif
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Comm_free(&comm));

  MPI_Datatype type, copy = MPI_INT;
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  OK(MPI_Type_create_keyval(refuse<MPI_Datatype>, MPI_TYPE_NULL_DELETE_FN, &key, nullptr));
  OK(MPI_Type_set_attr(type, key, nullptr));
  FAILS(MPI_Type_dup(type, &copy), MPI_ERR_OTHER);
#ifndef OTHER_MPI
  CHECK(copy == MPI_DATATYPE_NULL);
#endif
  OK(MPI_Type_free_keyval(&key));
  OK(MPI_Type_free(&type));
}

#ifndef OTHER_MPI
int failing = -1;  // the rank whose copy callback fails

template <class Handle>
int refuse_at_one(Handle, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return check::world_rank == failing ? MPI_ERR_OTHER : MPI_SUCCESS;
}

// Where a callback fails at one rank only the others have their duplicate, and all of them, that one as well, can go on with
// the communicator: the one that failed has not left out a collective that they have started.
void copies_that_fail_at_one() {
  int key, size, last = -1;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_size(comm, &size);
  OK(MPI_Comm_create_keyval(refuse_at_one<MPI_Comm>, MPI_COMM_NULL_DELETE_FN, &key, nullptr));
  OK(MPI_Comm_set_attr(comm, key, nullptr));
  for (int form = 0; form < 4; ++form)
    for (failing = 0; failing < size; ++failing) {
      MPI_Comm made = MPI_COMM_WORLD;
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = form == 0   ? MPI_Comm_dup(comm, &made)
                       : form == 1 ? MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made)
                       : form == 2 ? MPI_Comm_idup(comm, &made, &request)
                                   : MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &made, &request);
      CHECK_EQ(check::error_class(code), check::world_rank == failing ? MPI_ERR_OTHER : MPI_SUCCESS);
      CHECK((made == MPI_COMM_NULL) == (check::world_rank == failing));
      CHECK((request == MPI_REQUEST_NULL) == (form < 2 || check::world_rank == failing));
      int from_failing = check::world_rank;
      OK(MPI_Bcast(&from_failing, 1, MPI_INT, failing, comm));
      CHECK_EQ(from_failing, failing);
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_Allreduce(&failing, &last, 1, MPI_INT, MPI_MAX, comm));
      CHECK_EQ(last, failing);
      if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
    }
  failing = -1;
  MPI_Comm whole;
  MPI_Request request;
  OK(MPI_Comm_idup(comm, &whole, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(whole));
  OK(MPI_Comm_free(&whole));
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Comm_free(&comm));
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  run<Comms>();
  run<Types>();
  run<Windows>();
  failing_copies();
#ifndef OTHER_MPI
  copies_that_fail_at_one();
#endif
  // On MPI_COMM_SELF, whose attributes MPI_Finalize deletes.
  int key = Comms::make_key(), value = 3;
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &value));
  OK(MPI_Comm_free_keyval(&key));
  CHECK_EQ(key, MPI_KEYVAL_INVALID);
}
