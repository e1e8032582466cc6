// SPDX-License-Identifier: BSD-3-Clause
// Every constructor: size, extent, true extent, and the bytes that move, judged by type maps that
// are written out here by hand. Each type is sent as itself and received as contiguous bytes, the
// other way round, and as itself on both sides, by one and by several elements; then packed.
#include <utility>

#include "check.hpp"

namespace {

struct Entry {
  MPI_Aint displacement;
  size_t size;
};
using Map = std::vector<Entry>;  // in type map order

struct Case {
  const char* name;
  MPI_Datatype type;
  Map map;
  MPI_Aint lower, extent;
  MPI_Aint alignment = 1;
};

Map ints(std::initializer_list<int> places) {
  Map map;
  for (int place : places) map.push_back({place * MPI_Aint{4}, 4});
  return map;
}
Map repeated(const Map& base, std::initializer_list<MPI_Aint> at) {
  Map map;
  for (MPI_Aint offset : at)
    for (const Entry& e : base) map.push_back({e.displacement + offset, e.size});
  return map;
}

constexpr int kCount = 3;
constexpr MPI_Aint kMargin = 4096;

std::vector<unsigned char> gathered(const Case& c, const unsigned char* base, int count) {
  std::vector<unsigned char> bytes;
  for (int i = 0; i < count; ++i)
    for (const Entry& e : c.map) {
      const unsigned char* from = base + i * c.extent + e.displacement;
      bytes.insert(bytes.end(), from, from + e.size);
    }
  return bytes;
}
void scattered(const Case& c, unsigned char* base, int count, const unsigned char* bytes) {
  for (int i = 0; i < count; ++i)
    for (const Entry& e : c.map) {
      std::memcpy(base + i * c.extent + e.displacement, bytes, e.size);
      bytes += e.size;
    }
}

void attributes(Case& c) {
  size_t size = 0;
  MPI_Aint low = 0, high = 0;
  bool first = true;
  for (const Entry& e : c.map) {
    size += e.size;
    low = first ? e.displacement : std::min(low, e.displacement);
    high = first ? e.displacement + e.size : std::max<MPI_Aint>(high, e.displacement + e.size);
    first = false;
  }
  int got_size = -1;
  MPI_Aint lower = -1, extent = -1, true_lower = -1, true_extent = -1;
  OK(MPI_Type_size(c.type, &got_size));
  OK(MPI_Type_get_extent(c.type, &lower, &extent));
  OK(MPI_Type_get_true_extent(c.type, &true_lower, &true_extent));
  CHECK_EQ_IN(got_size, size, "%s", c.name);
  CHECK_EQ_IN(lower, c.lower, "%s", c.name);
  // The standard rounds the upper bound up to the alignment of the strictest member (5.1); others do
  // so for structs only, or round the extent too. All are taken where they differ.
  if (extent < c.extent || extent >= c.extent + 2 * c.alignment - 1) CHECK_EQ_IN(extent, c.extent, "%s", c.name);
  c.extent = extent;
  if (!c.map.empty()) {
    CHECK_EQ_IN(true_lower, low, "%s", c.name);
    CHECK_EQ_IN(true_extent, high - low, "%s", c.name);
  }
}

void same(const std::vector<unsigned char>& got, const std::vector<unsigned char>& expected, const Case& c,
          const char* what) {
  CHECK_EQ_IN(got.size(), expected.size(), "%s, %s", c.name, what);
  for (size_t i = 0; i < got.size(); ++i) CHECK_EQ_IN(got[i], expected[i], "%s, %s, byte %zu", c.name, what, i);
}

void moves(const check::Program& world, const Case& c, int count) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  const size_t room = 2 * kMargin + kCount * std::abs(c.extent);
  const auto mine = check::pattern(room, world.rank()), theirs = check::pattern(room, from);
  const auto packed = gathered(c, mine.data() + kMargin, count);
  const auto expected = gathered(c, theirs.data() + kMargin, count);
  const int bytes = packed.size();
  std::vector<unsigned char> untouched(room, 0x55), in = untouched, flat(bytes + 1, 0x55);
  std::vector<unsigned char> placed = untouched;
  scattered(c, placed.data() + kMargin, count, expected.data());
  MPI_Request request;
  MPI_Status status;

  OK(MPI_Isend(mine.data() + kMargin, count, c.type, to, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Recv(in.data() + kMargin, count, c.type, from, 0, MPI_COMM_WORLD, &status));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  same(in, placed, c, "typed to typed");
  int got = -1;
  OK(MPI_Get_count(&status, c.type, &got));
  CHECK_EQ_IN(got, bytes == 0 ? 0 : count, "%s", c.name);

  // To and from flat bytes, of the same rank's data: MPI_PACKED matches any type.
  int position = 0, limit = 0;
  OK(MPI_Pack_size(count, c.type, MPI_COMM_WORLD, &limit));
  CHECK(limit >= bytes);
  std::vector<unsigned char> box(limit + 8, 0x55);
  OK(MPI_Pack(mine.data() + kMargin, count, c.type, box.data(), box.size(), &position, MPI_COMM_WORLD));
  OK(MPI_Isend(box.data(), position, MPI_PACKED, to, 1, MPI_COMM_WORLD, &request));
  in = untouched;
  OK(MPI_Recv(in.data() + kMargin, count, c.type, from, 1, MPI_COMM_WORLD, &status));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  same(in, placed, c, "packed to typed");

  OK(MPI_Isend(mine.data() + kMargin, count, c.type, to, 2, MPI_COMM_WORLD, &request));
  std::vector<unsigned char> arrived(limit + 8, 0x55);
  OK(MPI_Recv(arrived.data(), arrived.size(), MPI_PACKED, from, 2, MPI_COMM_WORLD, &status));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Get_count(&status, MPI_PACKED, &got));
  in = untouched;
  position = 0;
  OK(MPI_Unpack(arrived.data(), got, &position, in.data() + kMargin, count, c.type, MPI_COMM_WORLD));
  CHECK_EQ_IN(position, got, "%s", c.name);
  same(in, placed, c, "typed to packed");
}

template <class Make>
MPI_Datatype made(Make make) {
  MPI_Datatype type;
  OK(make(&type));
  OK(MPI_Type_commit(&type));
  return type;
}

struct Padded {  // as a C struct: holes behind c and s
  char c;
  double d;
  short s;
  int i[2];
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name, MPI_Datatype type, Map map, MPI_Aint lower, MPI_Aint extent) {
    all.push_back({name, type, std::move(map), lower, extent});
  };
  const auto aligned = [&](MPI_Aint alignment) { all.back().alignment = alignment; };
  using T = MPI_Datatype;
  add("contiguous", made([](T* t) { return MPI_Type_contiguous(5, MPI_INT, t); }), ints({0, 1, 2, 3, 4}), 0, 20);
  add("empty", made([](T* t) { return MPI_Type_contiguous(0, MPI_INT, t); }), {}, 0, 0);
  add("vector", made([](T* t) { return MPI_Type_vector(3, 2, 4, MPI_INT, t); }), ints({0, 1, 4, 5, 8, 9}), 0, 40);
  add("vector, negative stride", made([](T* t) { return MPI_Type_vector(3, 2, -4, MPI_INT, t); }),
      ints({0, 1, -4, -3, -8, -7}), -32, 40);
  add("hvector, odd stride", made([](T* t) { return MPI_Type_create_hvector(3, 1, 7, MPI_SHORT, t); }),
      {{0, 2}, {7, 2}, {14, 2}}, 0, 16);
  const int lengths[] = {2, 0, 1, 3}, places[] = {5, 100, 0, 9};
  add("indexed", made([&](T* t) { return MPI_Type_indexed(4, lengths, places, MPI_INT, t); }),
      ints({5, 6, 0, 9, 10, 11}), 0, 48);
  const MPI_Aint offsets[] = {20, 400, 3, 40};
  add("hindexed", made([&](T* t) { return MPI_Type_create_hindexed(4, lengths, offsets, MPI_INT, t); }),
      {{20, 4}, {24, 4}, {3, 4}, {40, 4}, {44, 4}, {48, 4}}, 3, 49);
  aligned(4);
  add("indexed_block", made([&](T* t) { return MPI_Type_create_indexed_block(3, 2, places + 1, MPI_INT, t); }),
      ints({100, 101, 0, 1, 9, 10}), 0, 408);
  add("hindexed_block", made([&](T* t) { return MPI_Type_create_hindexed_block(3, 1, offsets, MPI_DOUBLE, t); }),
      {{20, 8}, {400, 8}, {3, 8}}, 3, 405);
  aligned(8);
  {
    const int blocks[] = {1, 1, 1, 2};
    const MPI_Aint at[] = {offsetof(Padded, c), offsetof(Padded, d), offsetof(Padded, s), offsetof(Padded, i)};
    const T types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT};
    MPI_Datatype bare = made([&](T* t) { return MPI_Type_create_struct(4, blocks, at, types, t); });
    const Map map = {{at[0], 1}, {at[1], 8}, {at[2], 2}, {at[3], 4}, {at[3] + 4, 4}};
    // The extent is rounded up to the alignment of the strictest member, as C does.
    add("struct", bare, map, 0, sizeof(Padded));
    MPI_Datatype sized = made([&](T* t) { return MPI_Type_create_resized(bare, 0, 2 * sizeof(Padded), t); });
    add("struct, resized", sized, map, 0, 2 * sizeof(Padded));
    add("vector of structs", made([&](T* t) { return MPI_Type_vector(2, 1, 3, bare, t); }),
        repeated(map, {0, 3 * sizeof(Padded)}), 0, 4 * sizeof(Padded));
  }
  add("resized, lower bound", made([](T* t) { return MPI_Type_create_resized(MPI_INT, -8, 24, t); }), ints({0}), -8,
      24);
  add("resized, negative extent", made([](T* t) { return MPI_Type_create_resized(MPI_INT, 0, -12, t); }), ints({0}), 0,
      -12);
  {
    MPI_Datatype wide;  // never committed: a building block need not be
    OK(MPI_Type_create_resized(MPI_INT, 0, 12, &wide));
    add("contiguous of resized", made([&](T* t) { return MPI_Type_contiguous(3, wide, t); }), ints({0, 3, 6}), 0, 36);
    add("indexed of resized", made([&](T* t) { return MPI_Type_indexed(4, lengths, places, wide, t); }),
        ints({15, 18, 0, 27, 30, 33}), 0, 144);
    OK(MPI_Type_free(&wide));
  }
  {
    const int sizes[] = {4, 5, 6}, sub[] = {2, 3, 2}, start[] = {1, 2, 3};
    Map c_order, f_order;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 2; ++k) c_order.push_back({(((i + 1) * 5 + j + 2) * 6 + k + 3) * MPI_Aint{4}, 4});
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 2; ++i) f_order.push_back({((i + 1) + 4 * ((j + 2) + 5 * (k + 3))) * MPI_Aint{4}, 4});
    add("subarray, C",
        made([&](T* t) { return MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_INT, t); }), c_order, 0,
        480);
    add("subarray, Fortran",
        made([&](T* t) { return MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_FORTRAN, MPI_INT, t); }),
        f_order, 0, 480);
  }
  {
    MPI_Datatype inner, middle;
    OK(MPI_Type_vector(2, 1, 3, MPI_SHORT, &inner));        // 0, 6; extent 8
    OK(MPI_Type_create_hvector(2, 2, 30, inner, &middle));  // 0, 8, 30, 38 x inner
    const Map base = {{0, 2}, {6, 2}};
    add("three levels", made([&](T* t) { return MPI_Type_create_indexed_block(2, 1, places + 2, middle, t); }),
        repeated(repeated(base, {0, 8, 30, 38}), {0, 9 * 46}), 0, 10 * 46);
    add("dup", made([&](T* t) { return MPI_Type_dup(middle, t); }), repeated(base, {0, 8, 30, 38}), 0, 46);
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_free(&middle));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  auto all = cases();
  for (Case& c : all) {
    attributes(c);
    // Elements that reach into each other are no business of a receive.
    const bool one_only = std::strcmp(c.name, "hindexed") == 0;
    for (int count : {0, 1, kCount})
      if (count < 2 || !one_only) moves(world, c, count);
  }
  for (Case& c : all) {
    OK(MPI_Type_free(&c.type));
    CHECK(c.type == MPI_DATATYPE_NULL);
  }
}
