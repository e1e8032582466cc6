// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/info.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "mpi/object/api_info.hpp"

namespace tutti::mpi {
namespace {

struct Held {
  Held() { EXPECT_FALSE(info_create(&handle)); }
  ~Held() { EXPECT_FALSE(info_free(&handle)); }
  Info* operator*() const { return resolve<Info>(handle); }
  MPI_Info handle = MPI_INFO_NULL;
};

TEST(Info, KeepsKeysInOrder) {
  Held info;
  ASSERT_FALSE(info_set(*info, "zebra", "1"));
  ASSERT_FALSE(info_set(*info, "ape", "2"));
  ASSERT_FALSE(info_set(*info, "cat", ""));
  ASSERT_FALSE(info_set(*info, "zebra", "three"));
  int keys = 0;
  ASSERT_FALSE(info_get_nkeys(*info, &keys));
  EXPECT_EQ(keys, 3);
  char key[MPI_MAX_INFO_KEY];
  const char* const expected[] = {"zebra", "ape", "cat"};
  for (int n = 0; n < 3; n++) {
    ASSERT_FALSE(info_get_nthkey(*info, n, key));
    EXPECT_STREQ(key, expected[n]);
  }
  EXPECT_EQ(info_get_nthkey(*info, 3, key).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(info_get_nthkey(*info, -1, key).mpi_class(), MPI_ERR_ARG);
  ASSERT_FALSE(info_delete(*info, "ape"));
  EXPECT_EQ(info_delete(*info, "ape").mpi_class(), MPI_ERR_INFO_NOKEY);
}

TEST(Info, CutsValuesToTheBuffer) {
  Held info;
  ASSERT_FALSE(info_set(*info, "key", "0123456789"));
  char value[12];
  int flag = 0, length = 0;
  std::memset(value, 'x', sizeof value);
  ASSERT_FALSE(info_get(*info, "key", 4, value, &flag));
  EXPECT_EQ(flag, 1);
  EXPECT_STREQ(value, "0123");
  EXPECT_EQ(value[5], 'x');
  length = 5;
  std::memset(value, 'x', sizeof value);
  ASSERT_FALSE(info_get_string(*info, "key", &length, value, &flag));
  EXPECT_STREQ(value, "0123");
  EXPECT_EQ(value[5], 'x');
  EXPECT_EQ(length, 11);
  length = 0;
  ASSERT_FALSE(info_get_string(*info, "key", &length, nullptr, &flag));
  EXPECT_EQ(length, 11);
  EXPECT_EQ(flag, 1);
  ASSERT_FALSE(info_get_valuelen(*info, "key", &length, &flag));
  EXPECT_EQ(length, 10);
  length = 7;
  ASSERT_FALSE(info_get_string(*info, "other", &length, value, &flag));
  EXPECT_EQ(flag, 0);
  EXPECT_EQ(length, 7);
}

TEST(Info, RefusesLongStrings) {
  Held info;
  const std::string longest(MPI_MAX_INFO_KEY - 1, 'k'), too_long(MPI_MAX_INFO_KEY, 'k');
  EXPECT_FALSE(info_set(*info, longest.c_str(), std::string(MPI_MAX_INFO_VAL - 1, 'v').c_str()));
  EXPECT_EQ(info_set(*info, too_long.c_str(), "v").mpi_class(), MPI_ERR_INFO_KEY);
  EXPECT_EQ(info_set(*info, "", "v").mpi_class(), MPI_ERR_INFO_KEY);
  EXPECT_EQ(info_set(*info, "k", std::string(MPI_MAX_INFO_VAL, 'v').c_str()).mpi_class(), MPI_ERR_INFO_VALUE);
  int flag = 0, length = 0;
  EXPECT_EQ(info_get_valuelen(*info, too_long.c_str(), &length, &flag).mpi_class(), MPI_ERR_INFO_KEY);
}

TEST(Info, DupIsIndependent) {
  Held info;
  ASSERT_FALSE(info_set(*info, "a", "1"));
  MPI_Info copy = MPI_INFO_NULL;
  ASSERT_FALSE(info_dup(*info, &copy));
  ASSERT_FALSE(info_set(*info, "a", "2"));
  EXPECT_EQ(resolve<Info>(copy)->get("a"), "1");
  ASSERT_FALSE(info_free(&copy));
  EXPECT_EQ(copy, MPI_INFO_NULL);
}

TEST(Info, EnvironmentIsPredefined) {
  Info* env = resolve<Info>(MPI_INFO_ENV);
  ASSERT_NE(env, nullptr);
  EXPECT_NE(env->get("command").value_or("").find("types_test"), std::string::npos);
  EXPECT_TRUE(env->get("wdir"));
  EXPECT_TRUE(env->get("host"));
  EXPECT_EQ(info_set(env, "a", "b").mpi_class(), MPI_ERR_INFO);
  EXPECT_EQ(info_delete(env, "command").mpi_class(), MPI_ERR_INFO);
  MPI_Info handle = MPI_INFO_ENV;
  EXPECT_EQ(info_free(&handle).mpi_class(), MPI_ERR_INFO);
  char program[] = "prog", one[] = "one", two[] = "two";
  char* arguments[] = {program, one, two, nullptr};
  ASSERT_FALSE(info_create_env(3, arguments, &handle));
  EXPECT_EQ(resolve<Info>(handle)->get("command"), "prog");
  EXPECT_EQ(resolve<Info>(handle)->get("argv"), "one two");
  ASSERT_FALSE(info_set(resolve<Info>(handle), "argv", "changed"));
  ASSERT_FALSE(info_free(&handle));
}

}  // namespace
}  // namespace tutti::mpi
