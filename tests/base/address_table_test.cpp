// SPDX-License-Identifier: BSD-3-Clause
// The table of addresses in a file: what was written is found by rank, and what is no table is none.
#include "base/address_table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tutti {
namespace {

class AddressTableTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/address-table-test-XXXXXX";
    ASSERT_TRUE(mkdtemp(name.data()));
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file() const { return folder_ + "/tutti.ucx.1"; }
  void put(const std::string& bytes) const { std::ofstream(file(), std::ios::binary) << bytes; }
  std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string folder_;
};

TEST_F(AddressTableTest, GivesEachRankItsOwn) {
  const std::string long_one(3000, 'x'), with_null("a\0b", 3);
  ASSERT_FALSE(write_address_table(file(), {"first", "", long_one, with_null}));
  const std::optional<AddressTable> table = AddressTable::open(file());
  ASSERT_TRUE(table);
  EXPECT_EQ(table->of(0), "first");
  EXPECT_EQ(table->of(1), "");
  EXPECT_EQ(table->of(2), long_one);
  EXPECT_EQ(table->of(3), with_null);
  EXPECT_EQ(table->of(4), "");
  EXPECT_EQ(table->of(-1), "");
}

TEST_F(AddressTableTest, StaysWhereItIsWhenTheFileGoes) {
  ASSERT_FALSE(write_address_table(file(), {"one", "two"}));
  std::optional<AddressTable> table = AddressTable::open(file());
  ASSERT_TRUE(table);
  std::filesystem::remove(file());
  const AddressTable moved = std::move(*table);
  table.reset();
  EXPECT_EQ(moved.of(1), "two");
}

TEST_F(AddressTableTest, OfNobodyHoldsNothing) {
  ASSERT_FALSE(write_address_table(file(), {}));
  const std::optional<AddressTable> table = AddressTable::open(file());
  ASSERT_TRUE(table);
  EXPECT_EQ(table->of(0), "");
}

TEST_F(AddressTableTest, LeavesNothingHalfWritten) {
  const Error e = write_address_table(folder_ + "/absent/table", {"one"});
  ASSERT_TRUE(e);
  EXPECT_EQ(e.message(), "No such file or directory");
  ASSERT_FALSE(write_address_table(file(), {"one"}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(AddressTableTest, WhatIsNoTableIsNone) {
  EXPECT_FALSE(AddressTable::open(file()));
  EXPECT_FALSE(AddressTable::open(folder_));
  for (const std::string& text : {std::string(), std::string("short"), std::string(4000, 'y')}) {
    put(text);
    EXPECT_FALSE(AddressTable::open(file())) << text.size() << " bytes";
  }
}

// Each length of a table that was cut off, and each byte that differs: no read outside of the file.
TEST_F(AddressTableTest, IsBelievedAsFarAsItGoes) {
  ASSERT_FALSE(write_address_table(file(), {"one", "two", "three"}));
  const std::string whole = bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    put(whole.substr(0, length));
    const std::optional<AddressTable> table = AddressTable::open(file());
    EXPECT_EQ(table ? table->of(2) : "", "") << "cut off at " << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x80);
    put(changed);
    const std::optional<AddressTable> table = AddressTable::open(file());
    for (int rank = 0; table && rank < 4; ++rank) EXPECT_LE(table->of(rank).size(), whole.size());
  }
}

}  // namespace
}  // namespace tutti
