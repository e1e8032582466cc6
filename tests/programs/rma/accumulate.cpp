// SPDX-License-Identifier: BSD-3-Clause
// Accumulate operations: every predefined operation on types of each class, one element and many,
// without gaps and with, with the old value fetched and without; the pair types; what an origin
// accumulates is applied in its order.
// NOT_OPENMPI: 4.1 fetches nothing where the target's datatype has gaps.
#include <type_traits>

#include "check.hpp"

namespace {

template <class T>
struct Case {
  MPI_Datatype type;
  MPI_Op op;
  std::function<T(T, T)> apply;  // target, origin
};

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <class V, class I>
struct Pair {
  V value;
  I index;
};
template <class V, class I>
bool same(const Pair<V, I>& a, const Pair<V, I>& b) {
  return a.value == b.value && a.index == b.index;
}

template <class T>
T made(int from, int i) {
  const int value = static_cast<int>(check::mix(from, i) % 7) + i % 3;
  if constexpr (std::is_arithmetic_v<T> && !std::is_unsigned_v<T>)
    return static_cast<T>(value - 4);
  else
    return static_cast<T>(value);
}
template <>
Pair<double, int> made(int from, int i) {
  return {static_cast<double>(check::mix(from, i) % 3), static_cast<int>(check::mix(i, from) % 5)};
}
template <>
Pair<short, int> made(int from, int i) {
  return {static_cast<short>(check::mix(from, i) % 3), static_cast<int>(check::mix(i, from) % 5)};
}
template <>
Pair<int, int> made(int from, int i) {
  return {static_cast<int>(check::mix(from, i) % 3), static_cast<int>(check::mix(i, from) % 5)};
}
template <>
Pair<long double, int> made(int from, int i) {
  return {static_cast<long double>(check::mix(from, i) % 3), static_cast<int>(check::mix(i, from) % 5)};
}

// Everybody accumulates on the rank to the right: on each alone, so that all operations are exact.
template <class T>
void run(const check::Program& mpi, const Case<T>& c, int length, bool gaps) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  const int step = gaps ? 2 : 1;
  const auto n = static_cast<size_t>(length);
  std::vector<T> memory(n * static_cast<size_t>(step));
  std::memset(static_cast<void*>(memory.data()), 0, memory.size() * sizeof(T));
  for (int i = 0; i < length * step; ++i) memory[static_cast<size_t>(i)] = made<T>(me + 40, i);
  MPI_Datatype type = c.type;
  if (gaps) {
    OK(MPI_Type_vector(length, 1, 2, c.type, &type));
    OK(MPI_Type_commit(&type));
  }
  const int count = gaps ? 1 : length;
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(T)), sizeof(T), MPI_INFO_NULL,
                    MPI_COMM_WORLD, &win));
  std::vector<T> mine(n), old(n);
  std::memset(static_cast<void*>(old.data()), 0, n * sizeof(T));
  for (int i = 0; i < length; ++i) mine[static_cast<size_t>(i)] = made<T>(me, i);
  OK(MPI_Win_fence(0, win));
  const bool twice = c.op != MPI_NO_OP;  // which is for the call that fetches alone
  if (twice) OK(MPI_Accumulate(mine.data(), length, c.type, next, 0, count, type, c.op, win));
  OK(MPI_Get_accumulate(mine.data(), length, c.type, old.data(), length, c.type, next, 0, count, type, c.op, win));
  OK(MPI_Win_fence(0, win));
  char name[MPI_MAX_OBJECT_NAME];
  int ignored;
  OK(MPI_Type_get_name(c.type, name, &ignored));
  for (int i = 0; i < length; ++i) {
    const auto at = static_cast<size_t>(i * step);
    const T start = made<T>(me + 40, i * step), theirs = made<T>(before, i);
    const T after = c.apply(twice ? c.apply(start, theirs) : start, theirs);
    const T next_start = made<T>(next + 40, i * step);
    const T seen = twice ? c.apply(next_start, made<T>(me, i)) : next_start;
    if (!same(memory[at], after) || !same(old[static_cast<size_t>(i)], seen))
      check::fail(__FILE__, __LINE__,
                  std::string("wrong result of operation ") + check::shown(c.op) + " on " + name + " at " +
                      std::to_string(i) + " of " + std::to_string(length));
    if (gaps) CHECK(same(memory[at + 1], made<T>(me + 40, i * step + 1)));
  }
  OK(MPI_Win_free(&win));
  if (gaps) OK(MPI_Type_free(&type));
}

template <class T>
void all_lengths(const check::Program& mpi, const Case<T>& c) {
  run(mpi, c, 1, false);
  run(mpi, c, 37, false);
  run(mpi, c, 37, true);
}

template <class T>
void numbers(const check::Program& mpi, MPI_Datatype type) {
  all_lengths<T>(mpi, {type, MPI_SUM, [](T a, T b) { return static_cast<T>(a + b); }});
  all_lengths<T>(mpi, {type, MPI_PROD, [](T a, T b) { return static_cast<T>(a * b); }});
  all_lengths<T>(mpi, {type, MPI_REPLACE, [](T, T b) { return b; }});
  all_lengths<T>(mpi, {type, MPI_NO_OP, [](T a, T) { return a; }});
}
template <class T>
void ordered(const check::Program& mpi, MPI_Datatype type) {
  numbers<T>(mpi, type);
  all_lengths<T>(mpi, {type, MPI_MIN, [](T a, T b) { return std::min(a, b); }});
  all_lengths<T>(mpi, {type, MPI_MAX, [](T a, T b) { return std::max(a, b); }});
}
template <class T>
void bits(const check::Program& mpi, MPI_Datatype type) {
  all_lengths<T>(mpi, {type, MPI_BAND, [](T a, T b) { return static_cast<T>(a & b); }});
  all_lengths<T>(mpi, {type, MPI_BOR, [](T a, T b) { return static_cast<T>(a | b); }});
  all_lengths<T>(mpi, {type, MPI_BXOR, [](T a, T b) { return static_cast<T>(a ^ b); }});
}
template <class T>
void integers(const check::Program& mpi, MPI_Datatype type) {
  ordered<T>(mpi, type);
  bits<T>(mpi, type);
  all_lengths<T>(mpi, {type, MPI_LAND, [](T a, T b) { return static_cast<T>(a && b); }});
  all_lengths<T>(mpi, {type, MPI_LOR, [](T a, T b) { return static_cast<T>(a || b); }});
  all_lengths<T>(mpi, {type, MPI_LXOR, [](T a, T b) { return static_cast<T>(!a != !b); }});
}

template <class P>
void pairs(const check::Program& mpi, MPI_Datatype type) {
  for (const int length : {1, 37, 30'000})
    for (const bool gaps : {false, true}) {
      run<P>(mpi,
             {type, MPI_MINLOC,
              [](P a, P b) {
                if (a.value == b.value) return P{a.value, std::min(a.index, b.index)};
                return a.value < b.value ? a : b;
              }},
             length, gaps);
      run<P>(mpi,
             {type, MPI_MAXLOC,
              [](P a, P b) {
                if (a.value == b.value) return P{a.value, std::min(a.index, b.index)};
                return a.value > b.value ? a : b;
              }},
             length, gaps);
      run<P>(mpi, {type, MPI_REPLACE, [](P, P b) { return b; }}, length, gaps);
    }
}

// Long and short ones by turns on the same place: the last one counts, and each fetched the one
// before.
void order(const check::Program& mpi) {
  const int me = mpi.rank(), size = mpi.size(), length = 50'000, rounds = 12;
  const auto n = static_cast<size_t>(length);
  std::vector<int> memory(n * static_cast<size_t>(size), -1);
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(int)), sizeof(int), MPI_INFO_NULL,
                    MPI_COMM_WORLD, &win));
  OK(MPI_Win_lock_all(0, win));
  const int next = (me + 1) % size;
  std::vector<std::vector<int>> mine, old;
  const int two[] = {100, 100};
  for (int k = 0; k < rounds; ++k) {
    const auto now = k % 3 == 1 ? size_t{5} : n;
    mine.emplace_back(now, k);
    old.emplace_back(now, -9);
    OK(MPI_Get_accumulate(mine.back().data(), static_cast<int>(now), MPI_INT, old.back().data(), static_cast<int>(now),
                          MPI_INT, next, static_cast<MPI_Aint>(me) * length, static_cast<int>(now), MPI_INT,
                          MPI_REPLACE, win));
    OK(MPI_Accumulate(two, 2, MPI_INT, next, static_cast<MPI_Aint>(me) * length, 2, MPI_INT, MPI_SUM, win));
  }
  OK(MPI_Win_unlock_all(win));
  std::vector<int> expected(n, -1);
  for (int k = 0; k < rounds; ++k)
    for (size_t i = 0; i < mine[static_cast<size_t>(k)].size(); ++i) {
      CHECK_EQ_IN(old[static_cast<size_t>(k)][i], expected[i], "round %d at %zu", k, i);
      expected[i] = k + (i < 2 ? 100 : 0);
    }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  const int before = (me + size - 1) % size;
  for (size_t i = 0; i < n; ++i) CHECK_EQ_IN(memory[static_cast<size_t>(before) * n + i], expected[i], "at %zu", i);
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  integers<int>(mpi, MPI_INT);
  integers<int8_t>(mpi, MPI_INT8_T);
  integers<uint16_t>(mpi, MPI_UINT16_T);
  integers<uint64_t>(mpi, MPI_UINT64_T);
  integers<long>(mpi, MPI_LONG);
  ordered<MPI_Aint>(mpi, MPI_AINT);
  ordered<float>(mpi, MPI_FLOAT);
  ordered<double>(mpi, MPI_DOUBLE);
  ordered<long double>(mpi, MPI_LONG_DOUBLE);
  numbers<std::complex<double>>(mpi, MPI_C_DOUBLE_COMPLEX);
  numbers<std::complex<float>>(mpi, MPI_C_FLOAT_COMPLEX);
  bits<unsigned char>(mpi, MPI_BYTE);
  all_lengths<char>(mpi, {MPI_CHAR, MPI_REPLACE, [](char, char b) { return b; }});
  run<int>(mpi, {MPI_INT, MPI_SUM, std::plus<int>()}, 100'000, false);
  run<int>(mpi, {MPI_INT, MPI_SUM, std::plus<int>()}, 100'000, true);
  run<int>(mpi, {MPI_INT, MPI_NO_OP, [](int a, int) { return a; }}, 100'000, true);
  run<double>(mpi, {MPI_DOUBLE, MPI_PROD, std::multiplies<double>()}, 33'333, true);
  pairs<Pair<double, int>>(mpi, MPI_DOUBLE_INT);
  pairs<Pair<short, int>>(mpi, MPI_SHORT_INT);
  pairs<Pair<int, int>>(mpi, MPI_2INT);
  pairs<Pair<long double, int>>(mpi, MPI_LONG_DOUBLE_INT);
  order(mpi);
}
