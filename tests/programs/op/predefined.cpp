// SPDX-License-Identifier: BSD-3-Clause
// Every predefined operation on every type that the standard allows (6.9.2, 6.9.4), against a plain
// loop over all ranks' operands, by Allreduce, Reduce_local and, for the order of things, Scan.
// NOT_MPICH: 4.0 compares MPI_UINT64_T as signed. NOT_OPENMPI: 4.1 compares MPI_AINT as unsigned.
#include <type_traits>

#include "check.hpp"

namespace {

constexpr int kCount = 37;

template <class T>
T operand(int rank, int i, bool small) {
  const unsigned h = check::mix(rank, i);
  if (small) return static_cast<T>(1 + (h % 7 == 0));  // products that stay exact
  return static_cast<T>(h % 11) - static_cast<T>(std::is_signed_v<T> || std::is_floating_point_v<T> ? 5 : 0);
}

template <class T, class F>
void run(const check::Program& world, MPI_Datatype type, MPI_Op op, const char* name, F combine, bool small = false) {
  T mine[kCount], all[kCount], prefix[kCount], out[kCount], right[kCount];
  for (int i = 0; i < kCount; ++i) {
    mine[i] = operand<T>(world.rank(), i, small);
    all[i] = operand<T>(0, i, small);
    prefix[i] = all[i];
    for (int r = 1; r < world.size(); ++r) {
      all[i] = static_cast<T>(combine(all[i], operand<T>(r, i, small)));
      if (r <= world.rank()) prefix[i] = all[i];
    }
  }
  OK(MPI_Allreduce(mine, out, kCount, type, op, MPI_COMM_WORLD));
  for (int i = 0; i < kCount; ++i) CHECK_EQ_IN(out[i], all[i], "%s of size %zu, %d", name, sizeof(T), i);
  OK(MPI_Scan(mine, out, kCount, type, op, MPI_COMM_WORLD));
  for (int i = 0; i < kCount; ++i) CHECK_EQ_IN(out[i], prefix[i], "%s of size %zu, %d", name, sizeof(T), i);
  for (int i = 0; i < kCount; ++i) right[i] = operand<T>(world.rank() + 1, i, small);
  OK(MPI_Reduce_local(mine, right, kCount, type, op));
  for (int i = 0; i < kCount; ++i)
    CHECK_EQ_IN(right[i], static_cast<T>(combine(mine[i], operand<T>(world.rank() + 1, i, small))),
                "%s of size %zu, %d", name, sizeof(T), i);
}

template <class T>
void arithmetic(const check::Program& world, MPI_Datatype type) {
  run<T>(world, type, MPI_SUM, "sum", [](T a, T b) { return a + b; });
  run<T>(world, type, MPI_PROD, "prod", [](T a, T b) { return a * b; }, true);
  run<T>(world, type, MPI_MAX, "max", [](T a, T b) { return a < b ? b : a; });
  run<T>(world, type, MPI_MIN, "min", [](T a, T b) { return b < a ? b : a; });
}
template <class T>
void logical(const check::Program& world, MPI_Datatype type) {
  run<T>(world, type, MPI_LAND, "land", [](T a, T b) { return a && b; });
  run<T>(world, type, MPI_LOR, "lor", [](T a, T b) { return a || b; });
  run<T>(world, type, MPI_LXOR, "lxor", [](T a, T b) { return !a != !b; });
}
template <class T>
void bits(const check::Program& world, MPI_Datatype type) {
  run<T>(world, type, MPI_BAND, "band", [](T a, T b) { return a & b; });
  run<T>(world, type, MPI_BOR, "bor", [](T a, T b) { return a | b; });
  run<T>(world, type, MPI_BXOR, "bxor", [](T a, T b) { return a ^ b; });
}
template <class T>
void integer(const check::Program& world, MPI_Datatype type) {
  arithmetic<T>(world, type);
  logical<T>(world, type);
  bits<T>(world, type);
}

template <class C>
void complex(const check::Program& world, MPI_Datatype type) {
  using R = typename C::value_type;
  const auto value = [](int rank, int i) { return C(R(1 + (rank + i) % 3), R(check::mix(rank, i) % 3)); };
  std::vector<C> mine(kCount), sum(kCount), product(kCount), out(kCount);
  for (int i = 0; i < kCount; ++i) {
    mine[i] = value(world.rank(), i);
    sum[i] = product[i] = value(0, i);
    for (int r = 1; r < world.size(); ++r) {
      sum[i] += value(r, i);
      product[i] *= value(r, i);
    }
  }
  OK(MPI_Allreduce(mine.data(), out.data(), kCount, type, MPI_SUM, MPI_COMM_WORLD));
  CHECK(out == sum);
  OK(MPI_Allreduce(mine.data(), out.data(), kCount, type, MPI_PROD, MPI_COMM_WORLD));
  CHECK(out == product);  // small whole numbers: exact
}

template <class V, class I = int>
struct Located {
  V value;
  I place;
};
template <class V, class I = int>
void located(const check::Program& world, MPI_Datatype type, const char* name) {
  using L = Located<V, I>;
  // Few different values: many ties, which the lower place wins.
  const auto value = [](int rank, int i) { return static_cast<V>((check::mix(rank, i) % 3) + 1); };
  const auto place = [](int rank, int i) { return static_cast<I>((rank * 5 + i) % 13); };
  std::vector<L> mine(kCount), out(kCount);
  std::memset(static_cast<void*>(mine.data()), 0, kCount * sizeof(L));
  for (bool max : {true, false}) {
    for (int i = 0; i < kCount; ++i) {
      mine[i].value = value(world.rank(), i);
      mine[i].place = place(world.rank(), i);
    }
    OK(MPI_Allreduce(mine.data(), out.data(), kCount, type, max ? MPI_MAXLOC : MPI_MINLOC, MPI_COMM_WORLD));
    for (int i = 0; i < kCount; ++i) {
      L best{value(0, i), place(0, i)};
      for (int r = 1; r < world.size(); ++r) {
        const L other{value(r, i), place(r, i)};
        const bool better = max ? other.value > best.value : other.value < best.value;
        if (better || (other.value == best.value && other.place < best.place)) best = other;
      }
      CHECK_EQ_IN(out[i].value, best.value, "%s %s, %d", name, max ? "max" : "min", i);
      CHECK_EQ_IN(out[i].place, best.place, "%s %s, %d", name, max ? "max" : "min", i);
    }
  }
}

// Extremes: values for which a signed comparison, or a narrower accumulator, would be wrong.
void extremes(const check::Program& world) {
  std::uint64_t wide = world.rank() == 0 ? ~0ull : 1, most = 0;
  OK(MPI_Allreduce(&wide, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
  CHECK_EQ(most, ~0ull);
  std::uint8_t small = world.rank() == world.size() - 1 ? 255 : 3, large = 0;
  OK(MPI_Allreduce(&small, &large, 1, MPI_UINT8_T, MPI_MAX, MPI_COMM_WORLD));
  CHECK_EQ(large, 255);
  long long low = world.rank() == 0 ? INT64_MIN : 0, least = 0;
  OK(MPI_Allreduce(&low, &least, 1, MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD));
  CHECK_EQ(least, INT64_MIN);
  int any = 256, both = 0;  // true, though its low byte is zero
  OK(MPI_Allreduce(&any, &both, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  CHECK(both != 0);
}

void forbidden() {
  double in = 1, out = 2;
  const auto fails = [](int code) {
    const int kind = check::error_class(code);
    CHECK(kind == MPI_ERR_OP || kind == MPI_ERR_TYPE || kind == MPI_ERR_ARG);
  };
  fails(MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_SELF));
  fails(MPI_Allreduce(&in, &out, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, MPI_COMM_SELF));
  fails(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAXLOC, MPI_COMM_SELF));
  fails(MPI_Allreduce(&in, &out, 1, MPI_BYTE, MPI_SUM, MPI_COMM_SELF));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  integer<signed char>(world, MPI_SIGNED_CHAR);
  integer<unsigned char>(world, MPI_UNSIGNED_CHAR);
  integer<short>(world, MPI_SHORT);
  integer<unsigned short>(world, MPI_UNSIGNED_SHORT);
  integer<int>(world, MPI_INT);
  integer<unsigned>(world, MPI_UNSIGNED);
  integer<long>(world, MPI_LONG);
  integer<unsigned long>(world, MPI_UNSIGNED_LONG);
  integer<long long>(world, MPI_LONG_LONG);
  integer<unsigned long long>(world, MPI_UNSIGNED_LONG_LONG);
  integer<std::int8_t>(world, MPI_INT8_T);
  integer<std::int16_t>(world, MPI_INT16_T);
  integer<std::int32_t>(world, MPI_INT32_T);
  integer<std::int64_t>(world, MPI_INT64_T);
  integer<std::uint8_t>(world, MPI_UINT8_T);
  integer<std::uint16_t>(world, MPI_UINT16_T);
  integer<std::uint32_t>(world, MPI_UINT32_T);
  integer<std::uint64_t>(world, MPI_UINT64_T);
  // Multi-language types: integers that take no part in the logical ones.
  arithmetic<MPI_Aint>(world, MPI_AINT);
  bits<MPI_Aint>(world, MPI_AINT);
  arithmetic<MPI_Count>(world, MPI_COUNT);
  bits<MPI_Count>(world, MPI_COUNT);
  arithmetic<MPI_Offset>(world, MPI_OFFSET);
  bits<MPI_Offset>(world, MPI_OFFSET);
  arithmetic<float>(world, MPI_FLOAT);
  arithmetic<double>(world, MPI_DOUBLE);
  arithmetic<long double>(world, MPI_LONG_DOUBLE);
  logical<bool>(world, MPI_C_BOOL);
  logical<bool>(world, MPI_CXX_BOOL);
  bits<unsigned char>(world, MPI_BYTE);
  complex<std::complex<float>>(world, MPI_C_COMPLEX);
  complex<std::complex<float>>(world, MPI_C_FLOAT_COMPLEX);
  complex<std::complex<double>>(world, MPI_C_DOUBLE_COMPLEX);
  complex<std::complex<long double>>(world, MPI_C_LONG_DOUBLE_COMPLEX);
  complex<std::complex<float>>(world, MPI_CXX_FLOAT_COMPLEX);
  complex<std::complex<double>>(world, MPI_CXX_DOUBLE_COMPLEX);
  complex<std::complex<long double>>(world, MPI_CXX_LONG_DOUBLE_COMPLEX);
  located<float>(world, MPI_FLOAT_INT, "float_int");
  located<double>(world, MPI_DOUBLE_INT, "double_int");
  located<long>(world, MPI_LONG_INT, "long_int");
  located<int>(world, MPI_2INT, "2int");
  located<short>(world, MPI_SHORT_INT, "short_int");
  located<long double>(world, MPI_LONG_DOUBLE_INT, "long_double_int");
  extremes(world);
  forbidden();
}
