// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack_external and its kin (the standard, 5.3): the representation external32 (14.5.2), big
// endian, IEEE floating point, sizes of its own for long, wchar_t and long double. Refuses a number
// that does not fit where external32 is narrower than this machine (MPI_ERR_CONVERSION).
#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "memory/element.hpp"
#include "memory/movers.hpp"
#include "mpi/type/api_datatype.hpp"
#include "mpi/type/datatype_maker.hpp"
#include "mpi/type/pack.hpp"

namespace tutti::mpi {

namespace {

// A basic type as equal parts (complex numbers have two): bytes of a part here and outside.
struct Form32 {
  int64_t parts = 1, here = 1, outside = 1;
  enum class Value : uint8_t { plain, is_signed, is_unsigned, long_double } value = Value::plain;

  int64_t size_here() const { return parts * here; }
  int64_t size_outside() const { return parts * outside; }
};

Form32 form_of(const Datatype& basic) {
  using enum Form32::Value;
  const int64_t size = basic.layout->size();
  if (basic.handle == MPI_LONG) return {1, size, 4, is_signed};
  if (basic.handle == MPI_UNSIGNED_LONG) return {1, size, 4, is_unsigned};
  if (basic.handle == MPI_WCHAR) return {1, size, 2, is_unsigned};
  switch (basic.element) {
    case Element::float80:
      return {1, size, 16, long_double};
    case Element::complex_float80:
      return {2, size / 2, 16, long_double};
    case Element::complex_float16:
    case Element::complex_float32:
    case Element::complex_float64:
    case Element::complex_float128:
      return {2, size / 2, size / 2};
    default:
      return {1, size, size};
  }
}

void copy_big_endian(const std::byte* from, std::byte* to, int64_t size) {
  if constexpr (std::endian::native == std::endian::little)
    std::reverse_copy(from, from + size, to);
  else
    std::memcpy(to, from, static_cast<size_t>(size));
}

template <class Wide, class Narrow>
bool narrow(const std::byte* here, std::byte* outside) {
  Wide wide{};
  std::memcpy(&wide, here, sizeof wide);
  const auto cut = static_cast<Narrow>(wide);
  copy_big_endian(reinterpret_cast<const std::byte*>(&cut), outside, sizeof cut);
  return static_cast<Wide>(cut) == wide;
}

template <class Wide, class Narrow>
void widen(const std::byte* outside, std::byte* here) {
  Narrow cut{};
  copy_big_endian(outside, reinterpret_cast<std::byte*>(&cut), sizeof cut);
  const auto wide = static_cast<Wide>(cut);
  std::memcpy(here, &wide, sizeof wide);
}

// One part; false if the value does not fit.
bool to_outside(const Form32& form, const std::byte* here, std::byte* outside) {
  using enum Form32::Value;
  if (form.value == long_double) {
    long double value;
    std::memcpy(&value, here, sizeof value);
    const auto quad = static_cast<memory::Quad>(value);
    copy_big_endian(reinterpret_cast<const std::byte*>(&quad), outside, sizeof quad);
    return true;
  }
  if (form.here == form.outside) return copy_big_endian(here, outside, form.here), true;
  if (form.outside == 2) return narrow<uint32_t, uint16_t>(here, outside);
  return form.value == is_signed ? narrow<int64_t, int32_t>(here, outside) : narrow<uint64_t, uint32_t>(here, outside);
}

void from_outside(const Form32& form, const std::byte* outside, std::byte* here) {
  using enum Form32::Value;
  if (form.value == long_double) {
    memory::Quad quad;
    copy_big_endian(outside, reinterpret_cast<std::byte*>(&quad), sizeof quad);
    const auto value = static_cast<long double>(quad);
    std::memcpy(here, &value, sizeof value);
  } else if (form.here == form.outside) {
    copy_big_endian(outside, here, form.here);
  } else if (form.outside == 2) {
    widen<uint32_t, uint16_t>(outside, here);
  } else if (form.value == is_signed) {
    widen<int64_t, int32_t>(outside, here);
  } else {
    widen<uint64_t, uint32_t>(outside, here);
  }
}

// Calls `visit(basic type, count)` for all runs of the type map, in order, until it returns false.
template <class Visit>
bool for_each_run(const Datatype& type, int64_t count, Visit& visit) {
  if (type.basic_elements == 0) return true;
  if (type.runs.empty()) return visit(type, count);
  if (type.runs.size() == 1) return for_each_run(*type.runs[0].type, type.runs[0].count * count, visit);
  for (int64_t i = 0; i < count; i++)
    for (const TypeRun& run : type.runs)
      if (!for_each_run(*run.type, run.count, visit)) return false;
  return true;
}

// Bytes of one element outside.
int64_t size_outside(const Datatype& type) {
  if (type.basic_elements == 0) return 0;
  if (type.runs.empty()) return form_of(type).size_outside();
  int64_t size = 0;
  for (const TypeRun& run : type.runs) size += size_outside(*run.type) * run.count;
  return size;
}

// Walks over the packed data in chunks: `convert(form, offset here, offset outside, parts)`.
template <class Convert>
bool for_each_chunk(const Datatype& type, int64_t count, Convert convert) {
  int64_t here = 0, outside = 0;
  auto visit = [&](const Datatype& basic, int64_t elements) {
    const Form32 form = form_of(basic);
    for (int64_t left = elements; left > 0;) {
      const int64_t now = std::min<int64_t>(left, 64);
      if (!convert(form, here, outside, now * form.parts)) return false;
      here += now * form.size_here();
      outside += now * form.size_outside();
      left -= now;
    }
    return true;
  };
  return for_each_run(type, count, visit);
}

constexpr size_t kChunk = 64 * 32;  // 64 elements of the largest basic type

Error check(const char* datarep) {
  if (std::string_view(datarep) == "external32") return {};
  return failure(MPI_ERR_UNSUPPORTED_DATAREP, "the representation {} is not known; external32 is", datarep);
}

}  // namespace

Error pack_external(const char* datarep, const void* inbuf, int64_t incount, const Datatype& datatype, void* outbuf,
                    int64_t outsize, int64_t& position) {
  int64_t bytes = 0;
  if (Error error = check(datarep)) return error;
  if (Error error = check_room("outbuf", outbuf, outsize, position, incount, datatype, size_outside(datatype), bytes))
    return error;
  if (bytes == 0) return {};
  auto* out = static_cast<std::byte*>(outbuf) + position;
  auto convert = [&](const Form32& form, int64_t here, int64_t outside, int64_t parts) {
    std::byte chunk[kChunk];
    memory::pack(datatype.payload(inbuf, incount), here, chunk, parts * form.here);
    for (int64_t i = 0; i < parts; i++)
      if (!to_outside(form, chunk + i * form.here, out + outside + i * form.outside)) return false;
    return true;
  };
  if (!for_each_chunk(datatype, incount, convert))
    return failure(MPI_ERR_CONVERSION,
                   "a number in the buffer does not fit in external32, where long has 4 bytes and "
                   "wchar_t 2");
  position += bytes;
  return {};
}

Error unpack_external(const char* datarep, const void* inbuf, int64_t insize, int64_t& position, void* outbuf,
                      int64_t outcount, const Datatype& datatype) {
  int64_t bytes = 0;
  if (Error error = check(datarep)) return error;
  if (Error error = check_room("inbuf", inbuf, insize, position, outcount, datatype, size_outside(datatype), bytes))
    return error;
  if (bytes == 0) return {};
  const auto* in = static_cast<const std::byte*>(inbuf) + position;
  auto convert = [&](const Form32& form, int64_t here, int64_t outside, int64_t parts) {
    std::byte chunk[kChunk] = {};  // the padding of a long double is no data, but it is copied
    for (int64_t i = 0; i < parts; i++) from_outside(form, in + outside + i * form.outside, chunk + i * form.here);
    memory::unpack(datatype.payload(outbuf, outcount), here, chunk, parts * form.here);
    return true;
  };
  for_each_chunk(datatype, outcount, convert);
  position += bytes;
  return {};
}

Error pack_external_size(const char* datarep, int64_t incount, const Datatype& datatype, int64_t& size) {
  if (Error error = check(datarep)) return error;
  return multiply(incount, size_outside(datatype), size) ? Error() : too_large();
}

}  // namespace tutti::mpi
