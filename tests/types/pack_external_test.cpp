// SPDX-License-Identifier: BSD-3-Clause
// The representation external32, byte by byte, and back.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <vector>

#include "mpi/type/api_datatype.hpp"

namespace tutti::mpi {
namespace {

Datatype& of(MPI_Datatype handle) {
  return *resolve<Datatype>(handle);
}
using Bytes = std::vector<unsigned char>;

Bytes packed(const void* data, int64_t count, const Datatype& type) {
  int64_t size = -1, position = 0;
  EXPECT_FALSE(pack_external_size("external32", count, type, size));
  Bytes out(static_cast<size_t>(size));
  EXPECT_FALSE(pack_external("external32", data, count, type, out.data(), size, position));
  EXPECT_EQ(position, size);
  return out;
}

template <class T>
void check(MPI_Datatype type, std::vector<T> values, const Bytes& expected) {
  const auto count = static_cast<int64_t>(values.size());
  const Bytes out = packed(values.data(), count, of(type));
  EXPECT_EQ(out, expected) << of(type).name;
  std::vector<T> back(values.size());
  int64_t position = 0;
  ASSERT_FALSE(unpack_external("external32", out.data(), static_cast<int64_t>(out.size()), position, back.data(), count,
                               of(type)));
  EXPECT_EQ(position, static_cast<int64_t>(out.size()));
  EXPECT_EQ(back, values) << of(type).name;
}

TEST(External32, IsBigEndianWithSizesOfItsOwn) {
  check<int>(MPI_INT, {1, -2}, {0, 0, 0, 1, 255, 255, 255, 254});
  check<short>(MPI_SHORT, {0x1234}, {0x12, 0x34});
  check<long>(MPI_LONG, {-2, 7}, {255, 255, 255, 254, 0, 0, 0, 7});
  check<unsigned long>(MPI_UNSIGNED_LONG, {0xfffffffe}, {255, 255, 255, 254});
  check<long long>(MPI_LONG_LONG, {-2}, {255, 255, 255, 255, 255, 255, 255, 254});
  check<wchar_t>(MPI_WCHAR, {L'A', 0x20ac}, {0, 'A', 0x20, 0xac});
  check<char>(MPI_CHAR, {'h', 'i'}, {'h', 'i'});
  check<double>(MPI_DOUBLE, {-2.0}, {0xc0, 0, 0, 0, 0, 0, 0, 0});
  check<std::complex<float>>(MPI_C_FLOAT_COMPLEX, {{1, -2}}, {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0});
  check<long double>(MPI_LONG_DOUBLE, {1.5L}, {0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(External32, FollowsTheTypeMap) {
  const int lengths[] = {1, 2};
  const MPI_Aint places[] = {8, 0};
  const MPI_Datatype types[] = {MPI_LONG, MPI_SHORT};
  MPI_Datatype type = MPI_DATATYPE_NULL, pair = MPI_DATATYPE_NULL;
  ASSERT_FALSE(type_create_struct(2, lengths, places, types, &type));
  ASSERT_FALSE(type_contiguous(100, of(type), &pair));
  std::vector<unsigned char> memory(1600), back(1600);
  for (int i = 0; i < 100; i++) {
    const short shorts[] = {static_cast<short>(i), 2};
    const long number = i * 1000;
    std::memcpy(&memory[i * 16], shorts, 4), std::memcpy(&memory[i * 16 + 8], &number, 8);
  }
  const Bytes out = packed(memory.data(), 1, of(pair));
  ASSERT_EQ(out.size(), 800u);
  EXPECT_EQ((Bytes{out.begin() + 24, out.begin() + 32}), (Bytes{0, 0, 0x0b, 0xb8, 0, 3, 0, 2}));
  int64_t position = 0;
  ASSERT_FALSE(unpack_external("external32", out.data(), 800, position, back.data(), 1, of(pair)));
  EXPECT_EQ(back, memory);
  ASSERT_FALSE(type_free(&pair));
  ASSERT_FALSE(type_free(&type));
}

TEST(External32, RefusesWhatItCannotHold) {
  const long large = 1L << 40;
  unsigned char out[8];
  int64_t position = 0, size = 0;
  EXPECT_EQ(pack_external("external32", &large, 1, of(MPI_LONG), out, 8, position).mpi_class(), MPI_ERR_CONVERSION);
  EXPECT_EQ(pack_external("external32", &large, 1, of(MPI_LONG_LONG), out, 7, position).mpi_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(pack_external("native", &large, 1, of(MPI_LONG_LONG), out, 8, position).mpi_class(),
            MPI_ERR_UNSUPPORTED_DATAREP);
  position = 9;
  EXPECT_EQ(pack_external("external32", &large, 0, of(MPI_LONG_LONG), out, 8, position).mpi_class(), MPI_ERR_ARG);
  EXPECT_EQ(pack_external_size("xml", 1, of(MPI_INT), size).mpi_class(), MPI_ERR_UNSUPPORTED_DATAREP);
}

}  // namespace
}  // namespace tutti::mpi
