// SPDX-License-Identifier: BSD-3-Clause
// Attributes on datatypes, and on a bare set that stands for a communicator.
#include "mpi/object/attribute.hpp"

#include <gtest/gtest.h>

#include <string>

#include "mpi/object/api_attribute.hpp"
#include "mpi/type/api_datatype.hpp"
#include "mpi/type/api_type_attribute.hpp"

namespace tutti::mpi {
namespace {

// What the callbacks saw, in order: "copy 7" with a value, "delete 7".
std::vector<std::string> calls;
int copy_result, delete_result, copy_flag;
MPI_Datatype seen;

int on_copy(MPI_Datatype type, int, void* extra, void* value, void* out, int* flag) {
  EXPECT_EQ(extra, &calls);
  seen = type;
  calls.push_back("copy " + std::to_string(reinterpret_cast<intptr_t>(value)));
  *static_cast<void**>(out) = static_cast<char*>(value) + 100;
  *flag = copy_flag;
  return copy_result;
}
int on_delete(MPI_Datatype type, int, void* value, void* extra) {
  EXPECT_EQ(extra, &calls);
  seen = type;
  calls.push_back("delete " + std::to_string(reinterpret_cast<intptr_t>(value)));
  return delete_result;
}

void* number(intptr_t value) {
  return reinterpret_cast<void*>(value);
}

class Attribute : public testing::Test {
 protected:
  void SetUp() override {
    calls.clear();
    copy_result = delete_result = MPI_SUCCESS;
    copy_flag = 1;
    ASSERT_FALSE(type_contiguous(1, *resolve<Datatype>(MPI_INT), &handle));
  }
  void TearDown() override {
    delete_result = MPI_SUCCESS;
    if (handle != MPI_DATATYPE_NULL) {
      EXPECT_FALSE(type_free(&handle));
    }
  }
  Datatype& type() { return *resolve<Datatype>(handle); }
  int key(MPI_Type_copy_attr_function* copy = on_copy) {
    int made = MPI_KEYVAL_INVALID;
    EXPECT_FALSE(type_create_keyval(copy, on_delete, &made, &calls));
    return made;
  }
  intptr_t value_of(Datatype& of, int key) {  // -1: none
    void* value = nullptr;
    int flag = -1;
    EXPECT_FALSE(type_get_attr(of, key, &value, &flag));
    return flag ? reinterpret_cast<intptr_t>(value) : -1;
  }
  MPI_Datatype handle = MPI_DATATYPE_NULL;
};
using Calls = std::vector<std::string>;

TEST_F(Attribute, IsSetReplacedDeleted) {
  const int k = key();
  EXPECT_EQ(value_of(type(), k), -1);
  ASSERT_FALSE(type_set_attr(type(), k, number(7)));
  EXPECT_EQ(value_of(type(), k), 7);
  ASSERT_FALSE(type_set_attr(type(), k, number(8)));
  EXPECT_EQ(calls, (Calls{"delete 7"}));
  EXPECT_EQ(seen, handle);
  EXPECT_EQ(value_of(type(), k), 8);
  ASSERT_FALSE(type_delete_attr(type(), k));
  EXPECT_EQ(calls, (Calls{"delete 7", "delete 8"}));
  EXPECT_EQ(value_of(type(), k), -1);
  EXPECT_EQ(type_delete_attr(type(), k).mpi_class(), MPI_ERR_KEYVAL);
}

TEST_F(Attribute, FreeDeletesTheLastOneFirst) {
  const int a = key(), b = key(), c = key();
  ASSERT_FALSE(type_set_attr(type(), b, number(2)));
  ASSERT_FALSE(type_set_attr(type(), a, number(1)));
  ASSERT_FALSE(type_set_attr(type(), c, number(3)));
  ASSERT_FALSE(type_free(&handle));
  EXPECT_EQ(calls, (Calls{"delete 3", "delete 1", "delete 2"}));
}

TEST_F(Attribute, OutlivesItsKeysHandle) {
  int k = key();
  const int number_of_key = k;
  ASSERT_FALSE(type_set_attr(type(), k, number(7)));
  ASSERT_FALSE(type_free_keyval(&k));
  EXPECT_EQ(k, MPI_KEYVAL_INVALID);
  ASSERT_FALSE(type_set_attr(type(), number_of_key, number(8)));  // the key lives on with it
  EXPECT_EQ(calls, (Calls{"delete 7"}));
  int freed = number_of_key;
  EXPECT_EQ(type_free_keyval(&freed).mpi_class(), MPI_ERR_KEYVAL);
  ASSERT_FALSE(type_free(&handle));
  EXPECT_EQ(calls, (Calls{"delete 7", "delete 8"}));
}

TEST_F(Attribute, DupAsksTheCopyCallback) {
  const int copied = key(), same = key(reinterpret_cast<MPI_Type_copy_attr_function*>(MPI_TYPE_DUP_FN));
  const int none = key(MPI_TYPE_NULL_COPY_FN);
  ASSERT_FALSE(type_set_attr(type(), copied, number(1)));
  ASSERT_FALSE(type_set_attr(type(), same, number(2)));
  ASSERT_FALSE(type_set_attr(type(), none, number(3)));
  MPI_Datatype dup = MPI_DATATYPE_NULL;
  ASSERT_FALSE(type_dup(type(), &dup));
  EXPECT_EQ(calls, (Calls{"copy 1"}));
  EXPECT_EQ(seen, handle);
  EXPECT_EQ(value_of(*resolve<Datatype>(dup), copied), 101);
  EXPECT_EQ(value_of(*resolve<Datatype>(dup), same), 2);
  EXPECT_EQ(value_of(*resolve<Datatype>(dup), none), -1);
  ASSERT_FALSE(type_free(&dup));
  copy_flag = 0;
  ASSERT_FALSE(type_dup(type(), &dup));
  EXPECT_EQ(value_of(*resolve<Datatype>(dup), copied), -1);
  ASSERT_FALSE(type_free(&dup));
}

TEST_F(Attribute, ErrorsOfCallbacksArePassedOn) {
  const int first = key(), k = key();
  ASSERT_FALSE(type_set_attr(type(), first, number(6)));
  ASSERT_FALSE(type_set_attr(type(), k, number(7)));
  delete_result = MPI_ERR_OTHER;
  EXPECT_EQ(type_free(&handle).mpi_class(), MPI_ERR_OTHER);
  EXPECT_NE(handle, MPI_DATATYPE_NULL);
  EXPECT_EQ(value_of(type(), k), 7);
  EXPECT_EQ(type_set_attr(type(), k, number(8)).mpi_class(), MPI_ERR_OTHER);
  EXPECT_EQ(value_of(type(), k), 7);
  delete_result = MPI_SUCCESS;
  copy_result = MPI_ERR_ARG;
  MPI_Datatype dup = MPI_DATATYPE_NULL;
  EXPECT_EQ(type_dup(type(), &dup).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(dup, MPI_DATATYPE_NULL);
}

TEST_F(Attribute, KeysBelongToOneKind) {
  int comm_key = MPI_KEYVAL_INVALID, wrong = key(), predefined = MPI_TAG_UB;
  ASSERT_FALSE(comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, nullptr));
  EXPECT_EQ(type_set_attr(type(), comm_key, number(1)).mpi_class(), MPI_ERR_KEYVAL);
  EXPECT_EQ(comm_free_keyval(&wrong).mpi_class(), MPI_ERR_KEYVAL);
  EXPECT_EQ(comm_free_keyval(&predefined).mpi_class(), MPI_ERR_KEYVAL);
  EXPECT_EQ(type_set_attr(type(), MPI_KEYVAL_INVALID, number(1)).mpi_class(), MPI_ERR_KEYVAL);
  EXPECT_EQ(type_set_attr(type(), 123456, number(1)).mpi_class(), MPI_ERR_KEYVAL);
  ASSERT_FALSE(comm_free_keyval(&comm_key));
}

TEST_F(Attribute, PredefinedOnesAreReadOnly) {
  const int bound = 32767;
  AttributeSet world(KeyKind::comm), dup(KeyKind::comm);
  world.set_predefined(MPI_TAG_UB, &bound);
  void* value = nullptr;
  bool found = false;
  ASSERT_FALSE(world.get(MPI_TAG_UB, &value, found));
  ASSERT_TRUE(found);
  EXPECT_EQ(*static_cast<int*>(value), 32767);
  ASSERT_FALSE(world.get(MPI_APPNUM, &value, found));
  EXPECT_FALSE(found);
  EXPECT_EQ(world.set(MPI_COMM_WORLD, MPI_TAG_UB, &value).mpi_class(), MPI_ERR_KEYVAL);
  EXPECT_EQ(world.remove(MPI_COMM_WORLD, MPI_TAG_UB).mpi_class(), MPI_ERR_KEYVAL);
  ASSERT_FALSE(dup.copy_all(MPI_COMM_WORLD, world));
  ASSERT_FALSE(dup.get(MPI_TAG_UB, &value, found));
  EXPECT_TRUE(found);
  ASSERT_FALSE(world.delete_all(MPI_COMM_WORLD));
  ASSERT_FALSE(world.get(MPI_TAG_UB, &value, found));
  EXPECT_TRUE(found);
}

// A callback may use attributes of the object itself.
int other_key;
int deletes_other(MPI_Datatype type, int, void*, void*) {
  calls.push_back("deletes other");
  EXPECT_FALSE(type_delete_attr(*resolve<Datatype>(type), other_key));
  return MPI_SUCCESS;
}

TEST_F(Attribute, CallbacksMayCallBack) {
  int k = MPI_KEYVAL_INVALID;
  ASSERT_FALSE(type_create_keyval(MPI_TYPE_NULL_COPY_FN, deletes_other, &k, nullptr));
  other_key = key();
  ASSERT_FALSE(type_set_attr(type(), other_key, number(5)));
  ASSERT_FALSE(type_set_attr(type(), k, number(6)));
  ASSERT_FALSE(type_free(&handle));
  EXPECT_EQ(calls, (Calls{"deletes other", "delete 5"}));
}

}  // namespace
}  // namespace tutti::mpi
