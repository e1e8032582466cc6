// SPDX-License-Identifier: BSD-3-Clause
// Derived types in use: megabytes of stride, freed while a message is under way, MPI_BOTTOM, partial
// elements, predefined sizes, types in collectives.
#include "check.hpp"

namespace {

// A column block of a big matrix to contiguous and back.
void large(const check::Program& world) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  constexpr int kRows = 1000, kColumns = 600, kWide = 301;
  std::vector<double> matrix(kRows * kColumns), block(kRows * kWide, -1);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = world.rank() * 1e7 + i;
  MPI_Datatype column;
  OK(MPI_Type_vector(kRows, kWide, kColumns, MPI_DOUBLE, &column));
  OK(MPI_Type_commit(&column));
  MPI_Request request;
  OK(MPI_Isend(matrix.data() + 17, 1, column, to, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Type_free(&column));  // in use until the send is done
  OK(MPI_Recv(block.data(), kRows * kWide, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kWide; ++c) CHECK_EQ(block[r * kWide + c], from * 1e7 + r * kColumns + 17 + c);

  OK(MPI_Type_vector(kRows, kWide, kColumns, MPI_DOUBLE, &column));
  OK(MPI_Type_commit(&column));
  std::fill(matrix.begin(), matrix.end(), -5);
  OK(MPI_Irecv(matrix.data() + 17, 1, column, from, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Type_free(&column));
  OK(MPI_Send(block.data(), kRows * kWide, MPI_DOUBLE, to, 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  const int before = (from + world.size() - 1) % world.size();
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c)
      CHECK_EQ(matrix[r * kColumns + c], c >= 17 && c < 17 + kWide ? before * 1e7 + r * kColumns + c : -5);

  // A transpose: element by element on one side.
  constexpr int kSide = 300;
  std::vector<int> square(kSide * kSide), turned(kSide * kSide, -1);
  for (size_t i = 0; i < square.size(); ++i) square[i] = world.rank() + i;
  MPI_Datatype one, transposed;
  OK(MPI_Type_vector(kSide, 1, kSide, MPI_INT, &one));
  OK(MPI_Type_create_hvector(kSide, 1, sizeof(int), one, &transposed));
  OK(MPI_Type_commit(&transposed));
  OK(MPI_Sendrecv(square.data(), kSide * kSide, MPI_INT, to, 2, turned.data(), 1, transposed, from, 2, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  for (int r = 0; r < kSide; ++r)
    for (int c = 0; c < kSide; ++c) CHECK_EQ(turned[c * kSide + r], from + r * kSide + c);
  OK(MPI_Type_free(&one));
  OK(MPI_Type_free(&transposed));
}

// Absolute addresses: one message out of three variables, into three others.
void bottom(const check::Program& world) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  int a = world.rank(), a_in = -1;
  double b[3] = {world.rank() + .5, 2, 3}, b_in[3] = {};
  std::vector<char> c(1000, static_cast<char>('a' + world.rank())), c_in(1000);
  const auto type_over = [](int* x, double* y, char* z) {
    const int lengths[] = {1, 3, 1000};
    MPI_Aint at[3];
    OK(MPI_Get_address(x, &at[0]));
    OK(MPI_Get_address(y, &at[1]));
    OK(MPI_Get_address(z, &at[2]));
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype type;
    OK(MPI_Type_create_struct(3, lengths, at, types, &type));
    OK(MPI_Type_commit(&type));
    return type;
  };
  MPI_Datatype out = type_over(&a, b, c.data()), in = type_over(&a_in, b_in, c_in.data());
  OK(MPI_Sendrecv(MPI_BOTTOM, 1, out, to, 0, MPI_BOTTOM, 1, in, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(a_in, from);
  CHECK_EQ(b_in[0], from + .5);
  CHECK_EQ(b_in[2], 3.);
  CHECK_EQ(c_in[0], 'a' + from);
  CHECK_EQ(c_in[999], 'a' + from);
  a_in = -1;
  if (world.rank() == 0) std::swap(in, out);
  OK(MPI_Bcast(MPI_BOTTOM, 1, in, 0, MPI_COMM_WORLD));
  if (world.rank() != 0) CHECK_EQ(a_in, 0);
  OK(MPI_Type_free(&in));
  OK(MPI_Type_free(&out));
  MPI_Aint first, second;
  OK(MPI_Get_address(&b[0], &first));
  OK(MPI_Get_address(&b[2], &second));
  CHECK_EQ(MPI_Aint_diff(second, first), 16);
  CHECK_EQ(MPI_Aint_add(first, 16), second);
}

// Messages that end inside an element.
void elements(const check::Program& world) {
  MPI_Datatype pair;
  const int lengths[] = {1, 2};
  const MPI_Aint at[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
  OK(MPI_Type_create_struct(2, lengths, at, types, &pair));
  OK(MPI_Type_commit(&pair));
  struct Triple {
    double d;
    int i[2];
  } out[4] = {{1, {2, 3}}, {4, {5, 6}}, {7, {8, 9}}, {10, {11, 12}}}, in[4];
  // 2 whole elements and the double of the third
  MPI_Datatype partial;
  const int blocks[] = {2, 1};
  const MPI_Aint places[] = {0, 2 * sizeof(Triple)};
  const MPI_Datatype parts[] = {pair, MPI_DOUBLE};
  OK(MPI_Type_create_struct(2, blocks, places, parts, &partial));
  OK(MPI_Type_commit(&partial));
  MPI_Status status;
  std::memset(in, 0, sizeof in);
  OK(MPI_Sendrecv(out, 1, partial, world.rank(), 0, in, 4, pair, world.rank(), 0, MPI_COMM_WORLD, &status));
  int count = -1, parts_count = -1;
  OK(MPI_Get_count(&status, pair, &count));
  CHECK_EQ(count, MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, pair, &parts_count));
  CHECK_EQ(parts_count, 7);
  MPI_Count wide = -1;
  OK(MPI_Get_elements_x(&status, pair, &wide));
  CHECK_EQ(wide, 7);
  CHECK_EQ(in[1].i[1], 6);
  CHECK_EQ(in[2].d, 7.);
  CHECK_EQ(in[2].i[0], 0);
  OK(MPI_Sendrecv(out, 3, pair, world.rank(), 0, in, 4, pair, world.rank(), 0, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, pair, &count));
  CHECK_EQ(count, 3);
  OK(MPI_Get_elements(&status, pair, &parts_count));
  CHECK_EQ(parts_count, 9);
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free(&partial));
}

void predefined() {
  // clang-format off
  const struct { MPI_Datatype type; int size; } sizes[] = {
      {MPI_CHAR, 1}, {MPI_SIGNED_CHAR, 1}, {MPI_UNSIGNED_CHAR, 1}, {MPI_BYTE, 1}, {MPI_PACKED, 1},
      {MPI_SHORT, 2}, {MPI_UNSIGNED_SHORT, 2}, {MPI_INT, 4}, {MPI_UNSIGNED, 4}, {MPI_LONG, sizeof(long)},
      {MPI_UNSIGNED_LONG, sizeof(long)}, {MPI_LONG_LONG, 8}, {MPI_LONG_LONG_INT, 8},
      {MPI_UNSIGNED_LONG_LONG, 8}, {MPI_FLOAT, 4}, {MPI_DOUBLE, 8}, {MPI_LONG_DOUBLE, sizeof(long double)},
      {MPI_WCHAR, sizeof(wchar_t)}, {MPI_C_BOOL, 1}, {MPI_INT8_T, 1}, {MPI_INT16_T, 2}, {MPI_INT32_T, 4},
      {MPI_INT64_T, 8}, {MPI_UINT8_T, 1}, {MPI_UINT16_T, 2}, {MPI_UINT32_T, 4}, {MPI_UINT64_T, 8},
      {MPI_C_COMPLEX, 8}, {MPI_C_FLOAT_COMPLEX, 8}, {MPI_C_DOUBLE_COMPLEX, 16},
      {MPI_C_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)}, {MPI_AINT, sizeof(MPI_Aint)},
      {MPI_OFFSET, sizeof(MPI_Offset)}, {MPI_COUNT, sizeof(MPI_Count)}, {MPI_CXX_BOOL, sizeof(bool)},
      {MPI_CXX_FLOAT_COMPLEX, 8}, {MPI_CXX_DOUBLE_COMPLEX, 16}, {MPI_FLOAT_INT, 8}, {MPI_DOUBLE_INT, 12},
      {MPI_LONG_INT, sizeof(long) + 4}, {MPI_SHORT_INT, 6}, {MPI_2INT, 8},
      {MPI_LONG_DOUBLE_INT, sizeof(long double) + 4}};
  // clang-format on
  for (const auto& each : sizes) {
    int size = -1;
    OK(MPI_Type_size(each.type, &size));
    CHECK_EQ(size, each.size);
  }
  MPI_Aint lower = -1, extent = -1;
  // clang-format off
  struct DoubleInt { double d; int i; };
  struct ShortInt { short s; int i; };
  struct LongDoubleInt { long double d; int i; };
  // clang-format on
  OK(MPI_Type_get_extent(MPI_DOUBLE_INT, &lower, &extent));
  CHECK_EQ(extent, sizeof(DoubleInt));
  OK(MPI_Type_get_extent(MPI_SHORT_INT, &lower, &extent));
  CHECK_EQ(extent, sizeof(ShortInt));
  OK(MPI_Type_get_extent(MPI_LONG_DOUBLE_INT, &lower, &extent));
  CHECK_EQ(extent, sizeof(LongDoubleInt));
}

void in_collectives(const check::Program& world) {
  const int size = world.size(), rank = world.rank();
  MPI_Datatype bare, every_third;
  OK(MPI_Type_vector(4, 1, 3, MPI_INT, &bare));
  OK(MPI_Type_create_resized(bare, 0, 12 * sizeof(int), &every_third));
  OK(MPI_Type_commit(&every_third));
  std::vector<int> all(12 * size, -1), mine(4);
  for (int i = 0; i < 4; ++i) mine[i] = rank * 10 + i;
  const auto verify = [&] {
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < 12; ++i) CHECK_EQ(all[r * 12 + i], i % 3 == 0 ? r * 10 + i / 3 : -1);
  };
  OK(MPI_Allgather(mine.data(), 4, MPI_INT, all.data(), 1, every_third, MPI_COMM_WORLD));
  verify();
  std::vector<int> back(4, -1);
  for (int root = 0; root < size; ++root) {
    OK(MPI_Scatter(all.data(), 1, every_third, back.data(), 4, MPI_INT, root, MPI_COMM_WORLD));
    CHECK(back == mine);
    std::fill(all.begin(), all.end(), -1);
    OK(MPI_Gather(mine.data(), 4, MPI_INT, all.data(), 1, every_third, root, MPI_COMM_WORLD));
    if (rank == root) verify();
    OK(MPI_Bcast(all.data(), size, every_third, root, MPI_COMM_WORLD));
    verify();
  }
  std::vector<int> exchanged(4 * size, -1);
  OK(MPI_Alltoall(all.data(), 1, every_third, exchanged.data(), 4, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < 4; ++i) CHECK_EQ(exchanged[4 * r + i], rank * 10 + i);
  OK(MPI_Type_free(&bare));
  OK(MPI_Type_free(&every_third));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  large(world);
  bottom(world);
  elements(world);
  predefined();
  in_collectives(world);
}
