// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/representation.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>

#include "base/mutex.hpp"
#include "memory/movers.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/type/api_datatype.hpp"

namespace tutti::mpi::file {
namespace {

struct Known {
  Mutex mutex;
  std::map<std::string, RepresentationRef, std::less<>> by_name TUTTI_GUARDED_BY(mutex);
  Known() {
    for (const char* name : {"native", "internal"}) add({.name = name});
    add({.name = "external32", .kind = Representation::Kind::external32});
  }
  void add(Representation made) TUTTI_REQUIRES(mutex) {
    std::string name = made.name;
    by_name.emplace(std::move(name), std::make_shared<const Representation>(std::move(made)));
  }
};
Known& known() {
  static Known& all = *new Known;
  return all;
}

Ref<Datatype> adopt(MPI_Datatype handle) {
  return Ref<Datatype>::adopt(resolve<Datatype>(handle));
}

// Bytes of a basic type in the file.
Result<int64_t> bytes_in_file(const Datatype& basic, const Representation& representation) {
  if (representation.kind == Representation::Kind::external32) {
    int64_t bytes = 0;
    if (Error e = pack_external_size("external32", 1, basic, bytes)) return e;
    return bytes;
  }
  MPI_Aint extent = 0;
  const InCallback in_callback;
  if (representation.extent(basic.handle, &extent, representation.extra_state) != MPI_SUCCESS)
    return failure(MPI_ERR_CONVERSION, "the extent function of the data representation {} has failed for {}",
                   representation.name, description(basic));
  return static_cast<int64_t>(extent);
}

Result<Ref<Datatype>> basic_in_file(Datatype& basic, const Representation& representation) {
  Result<int64_t> bytes = bytes_in_file(basic, representation);
  if (!bytes) return std::move(bytes).error();
  if (*bytes == basic.layout->size() && *bytes == basic.layout->extent()) return Ref<Datatype>(&basic);
  MPI_Datatype made;
  if (Error e = type_contiguous(*bytes, *resolve<Datatype>(MPI_BYTE), &made)) return e;
  return adopt(made);
}

// The arguments of a constructor, as MPI_Type_get_contents tells them.
struct Contents {
  explicit Contents(const Datatype& type)
      : large(!type.large_counts.empty()),
        integers(type.integers),
        addresses(type.addresses),
        counts(type.large_counts) {}

  int64_t integer() { return integers[next_integer++]; }
  int64_t count() { return large ? counts[next_count++] : integer(); }
  int64_t bytes() { return large ? counts[next_count++] : addresses[next_address++]; }
  std::vector<int64_t> all_integers(int64_t n) {
    return several(n, [&] { return integer(); });
  }
  std::vector<int64_t> all_counts(int64_t n) {
    return several(n, [&] { return count(); });
  }
  std::vector<int64_t> all_bytes(int64_t n) {
    return several(n, [&] { return bytes(); });
  }
  template <class Next>
  static std::vector<int64_t> several(int64_t n, Next next) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(next());
    return values;
  }

  const bool large;
  const std::vector<int>& integers;
  const std::vector<int64_t>&addresses, &counts;
  size_t next_integer = 0, next_address = 0, next_count = 0;
};

Ints ints(const std::vector<int64_t>& values) {
  return Ints(values.data());
}

Error struct_of(Contents& c, const std::vector<Ref<Datatype>>& parts, MPI_Datatype* made) {
  const int64_t n = c.count();
  const std::vector<int64_t> lengths = c.all_counts(n), places = c.all_bytes(n);
  std::vector<MPI_Datatype> handles;
  for (const Ref<Datatype>& part : parts) handles.push_back(part->handle);
  return type_create_struct_c(n, ints(lengths), ints(places), handles.data(), made);
}

Error array_of(Contents& c, int combiner, Datatype& part, MPI_Datatype* made) {
  if (combiner == MPI_COMBINER_SUBARRAY) {
    const int64_t dims = c.integer();
    const std::vector<int64_t> sizes = c.all_counts(dims), subsizes = c.all_counts(dims), starts = c.all_counts(dims);
    return type_create_subarray_c(dims, ints(sizes), ints(subsizes), ints(starts), static_cast<int>(c.integer()), part,
                                  made);
  }
  const int64_t size = c.integer(), rank = c.integer(), dims = c.integer();
  const std::vector<int64_t> sizes = c.all_counts(dims), distributions = c.all_integers(dims),
                             arguments = c.all_integers(dims), processes = c.all_integers(dims);
  return type_create_darray_c(size, rank, dims, ints(sizes), ints(distributions), ints(arguments), ints(processes),
                              static_cast<int>(c.integer()), part, made);
}

// The type once more, of `parts` instead of its own.
Error rebuild(const Datatype& type, const std::vector<Ref<Datatype>>& parts, MPI_Datatype* made) {
  Contents c(type);
  Datatype& part = *parts.front();
  switch (type.combiner) {
    case MPI_COMBINER_DUP:
      return type_dup(part, made);
    case MPI_COMBINER_CONTIGUOUS:
      return type_contiguous_c(c.count(), part, made);
    case MPI_COMBINER_VECTOR: {
      const int64_t n = c.count(), length = c.count(), stride = c.count();
      return type_vector_c(n, length, stride, part, made);
    }
    case MPI_COMBINER_HVECTOR: {
      const int64_t n = c.count(), length = c.count(), stride = c.bytes();
      return type_create_hvector_c(n, length, stride, part, made);
    }
    case MPI_COMBINER_INDEXED: {
      const int64_t n = c.count();
      const std::vector<int64_t> lengths = c.all_counts(n), places = c.all_counts(n);
      return type_indexed_c(n, ints(lengths), ints(places), part, made);
    }
    case MPI_COMBINER_HINDEXED: {
      const int64_t n = c.count();
      const std::vector<int64_t> lengths = c.all_counts(n), places = c.all_bytes(n);
      return type_create_hindexed_c(n, ints(lengths), ints(places), part, made);
    }
    case MPI_COMBINER_INDEXED_BLOCK: {
      const int64_t n = c.count(), length = c.count();
      return type_create_indexed_block_c(n, length, ints(c.all_counts(n)), part, made);
    }
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const int64_t n = c.count(), length = c.count();
      return type_create_hindexed_block_c(n, length, ints(c.all_bytes(n)), part, made);
    }
    case MPI_COMBINER_RESIZED: {
      const int64_t bound = c.bytes(), extent = c.bytes();
      return type_create_resized_c(part, bound, extent, made);
    }
    case MPI_COMBINER_STRUCT:
      return struct_of(c, parts, made);
    default:
      return array_of(c, type.combiner, part, made);
  }
}

// A function whose count is an int is called for so many elements at a time.
int call_conversion(Representation::Conversion large, Representation::SmallConversion small, void* memory,
                    Datatype& type, int64_t count, void* bytes, int64_t in_file, void* extra_state) {
  const InCallback in_callback;
  if (large) return large(memory, type.handle, count, bytes, 0, extra_state);
  int code = MPI_SUCCESS;
  for (int64_t done = 0; done < count && code == MPI_SUCCESS;) {
    const int64_t now = std::min<int64_t>(count - done, INT_MAX);
    // By numbers: the memory may be MPI_BOTTOM.
    const auto there = reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(done * type.layout->extent());
    code = small(reinterpret_cast<void*>(there), type.handle, static_cast<int>(now),
                 static_cast<std::byte*>(bytes) + done * in_file, 0, extra_state);
    done += now;
  }
  return code;
}

Error failed_conversion(const Representation& representation, int code) {
  return failure(MPI_ERR_CONVERSION, "the conversion function of the data representation {} has returned {}",
                 representation.name, code);
}

}  // namespace

RepresentationRef native_representation() {
  return find_representation("native");
}

RepresentationRef find_representation(std::string_view name) {
  const Lock lock(known().mutex);
  const auto at = known().by_name.find(name);
  return at == known().by_name.end() ? nullptr : at->second;
}

Error add_representation(Representation made) {
  const Lock lock(known().mutex);
  if (known().by_name.contains(made.name))
    return failure(MPI_ERR_DUP_DATAREP, "there is a data representation {} already (argument datarep)", made.name);
  made.kind = Representation::Kind::registered;
  known().add(std::move(made));
  return {};
}

Result<Ref<Datatype>> type_in_file(Datatype& type, const Representation& representation) {
  if (!representation.converts()) return Ref<Datatype>(&type);
  if (type.parts.empty()) return basic_in_file(type, representation);
  std::vector<Ref<Datatype>> parts;
  bool same = true;
  for (const Ref<Datatype>& part : type.parts) {
    Result<Ref<Datatype>> there = type_in_file(*part, representation);
    if (!there) return std::move(there).error();
    same &= there->get() == part.get();
    parts.push_back(*std::move(there));
  }
  if (same) return Ref<Datatype>(&type);
  MPI_Datatype made;
  if (Error e = rebuild(type, parts, &made)) return e;
  return adopt(made);
}

Error to_file(const Representation& representation, const void* memory, int64_t count, Datatype& type, void* bytes,
              int64_t in_file) {
  if (count == 0 || in_file == 0) return {};
  int64_t position = 0;
  if (representation.kind == Representation::Kind::external32)
    return pack_external("external32", memory, count, type, bytes, count * in_file, position);
  if (!representation.write && !representation.write_small) {
    memory::pack(type.payload(memory, count), 0, bytes, count * in_file);
    return {};
  }
  const int code = call_conversion(representation.write, representation.write_small, const_cast<void*>(memory), type,
                                   count, bytes, in_file, representation.extra_state);
  return code == MPI_SUCCESS ? Error() : failed_conversion(representation, code);
}

Error from_file(const Representation& representation, const void* bytes, int64_t in_file, void* memory, int64_t count,
                Datatype& type) {
  if (count == 0 || in_file == 0) return {};
  int64_t position = 0;
  if (representation.kind == Representation::Kind::external32)
    return unpack_external("external32", bytes, count * in_file, position, memory, count, type);
  if (!representation.read && !representation.read_small) {
    memory::unpack(type.payload(memory, count), 0, bytes, count * in_file);
    return {};
  }
  const int code = call_conversion(representation.read, representation.read_small, memory, type, count,
                                   const_cast<void*>(bytes), in_file, representation.extra_state);
  return code == MPI_SUCCESS ? Error() : failed_conversion(representation, code);
}

namespace {

// The bytes in memory of the basic elements at the beginning of `count` of `type` that lie whole in the first `left`
// bytes of the file, from which they are taken.
Result<int64_t> whole_in_memory(Datatype& type, int64_t count, const Representation& representation, int64_t& left) {
  Result<Ref<Datatype>> there = type_in_file(type, representation);
  if (!there) return std::move(there).error();
  const int64_t each = (*there)->layout->size();
  const int64_t whole = each == 0 ? count : std::min(count, left / each);
  left -= whole * each;
  int64_t bytes = whole * type.layout->size();
  if (whole == count || type.predefined) return bytes;
  for (const TypeRun& run : type.runs) {
    const int64_t before = left;
    Result<int64_t> of_run = whole_in_memory(const_cast<Datatype&>(*run.type), run.count, representation, left);
    if (!of_run) return of_run;
    bytes += *of_run;
    if (*of_run < run.count * run.type->layout->size() || before == 0) break;
  }
  return bytes;
}

}  // namespace

Error rest_from_file(const Representation& representation, std::span<const std::byte> rest, int64_t in_file,
                     const Payload& memory, int64_t elements, Datatype& type, int64_t& bytes) {
  auto left = static_cast<int64_t>(rest.size());
  Result<int64_t> whole = whole_in_memory(type, 1, representation, left);
  if (!whole) return std::move(whole).error();
  if (*whole == 0) return {};
  // One element is converted aside, what the file lacks as zeros.
  const Layout& layout = *type.layout;
  std::vector<std::byte> there(static_cast<size_t>(in_file)), here(static_cast<size_t>(layout.true_extent())),
      packed(static_cast<size_t>(*whole));
  std::ranges::copy(rest, there.begin());
  void* const element = here.data() - layout.true_lower_bound();
  if (Error e = from_file(representation, there.data(), in_file, element, 1, type)) return e;
  memory::pack({element, 1, &layout}, 0, packed.data(), *whole);
  memory::unpack(memory, elements * layout.size(), packed.data(), *whole);
  bytes += *whole;
  return {};
}

}  // namespace tutti::mpi::file
