// SPDX-License-Identifier: BSD-3-Clause
// The constructors of derived datatypes but for the arrays (datatype_arrays.cpp).
#include "mpi/object/inventory.hpp"
#include "mpi/type/api_datatype.hpp"
#include "mpi/type/datatype_maker.hpp"

namespace tutti::mpi {

Error too_large() {
  return failure(MPI_ERR_ARG, "the datatype would be larger than 64 bits can count");
}

Error make_type(LayoutRef layout, TypeArguments arguments, const std::vector<Datatype*>& parts,
                std::vector<TypeRun> runs, MPI_Datatype* newtype) {
  if (layout == nullptr) return too_large();
  auto* type = new Datatype(std::move(layout), false);
  type->combiner = arguments.combiner;
  type->integers = std::move(arguments.integers);
  type->addresses = std::move(arguments.addresses);
  type->large_counts = std::move(arguments.large_counts);
  for (Datatype* part : parts) type->parts.emplace_back(part);
  type->basic_elements = 0;
  for (const TypeRun& run : runs) {
    if (run.count == 0 || run.type->basic_elements == 0) continue;
    if (!type->runs.empty() && type->runs.back().type == run.type)
      type->runs.back().count += run.count;
    else
      type->runs.push_back(run);
    type->basic_elements += run.type->basic_elements * run.count;
    type->signature = type->signature.then(signature(*run.type, run.count));
  }
  type->pattern = pattern_of(*type, static_cast<uint64_t>(type->basic_elements));
  *newtype = inventory::hand_out(*type);
  return {};
}

namespace {

Error negative(const char* what, int64_t index, int64_t value) {
  return failure(MPI_ERR_ARG, "{}[{}] is {}: it may not be negative", what, index, value);
}

Error missing(const char* what, int64_t count) {
  return failure(MPI_ERR_ARG, "{} is NULL, yet the count is {}", what, count);
}

Error contiguous(CountForm form, int64_t count, Datatype& oldtype, MPI_Datatype* newtype) {
  TypeArguments arguments(MPI_COMBINER_CONTIGUOUS, form);
  arguments.count(count);
  return make_type(Layout::repeat(oldtype.layout, count, oldtype.layout->extent()), std::move(arguments), {&oldtype},
                   {{&oldtype, count}}, newtype);
}

// `stride` in bytes.
Error blocks(TypeArguments arguments, int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype,
             MPI_Datatype* newtype) {
  LayoutRef layout = Layout::repeat(oldtype.layout, blocklength, oldtype.layout->extent());
  if (layout) layout = Layout::repeat(layout, count, stride);
  if (layout == nullptr) return too_large();
  int64_t elements = 0;
  if (!multiply(count, blocklength, elements)) {
    if (layout->size() > 0) return too_large();
    elements = 0;  // of an empty type
  }
  return make_type(std::move(layout), std::move(arguments), {&oldtype}, {{&oldtype, elements}}, newtype);
}

Error vector(CountForm form, int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype,
             MPI_Datatype* newtype) {
  int64_t in_bytes = 0;
  if (!multiply(stride, oldtype.layout->extent(), in_bytes)) return too_large();
  TypeArguments arguments(MPI_COMBINER_VECTOR, form);
  arguments.count(count).count(blocklength).count(stride);
  return blocks(std::move(arguments), count, blocklength, in_bytes, oldtype, newtype);
}

Error hvector(CountForm form, int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype,
              MPI_Datatype* newtype) {
  TypeArguments arguments(MPI_COMBINER_HVECTOR, form);
  arguments.count(count).count(blocklength).bytes(stride);
  return blocks(std::move(arguments), count, blocklength, stride, oldtype, newtype);
}

// A view of block lengths that are all the same, or of each its own.
struct Lengths {
  Ints each;
  int64_t same = 0;
  int64_t operator[](int64_t i) const { return each ? each[i] : same; }
};

// Displacements in units of `unit` bytes.
Error indexed_blocks(TypeArguments arguments, int64_t count, Lengths lengths, Ints displacements, int64_t unit,
                     Datatype& oldtype, MPI_Datatype* newtype) {
  const auto n = static_cast<size_t>(count);
  std::vector<int64_t> counts(n), offsets(n);
  int64_t elements = 0;
  for (int64_t i = 0; i < count; i++) {
    const auto at = static_cast<size_t>(i);
    counts[at] = lengths[i];
    if (counts[at] < 0) return negative("array_of_blocklengths", i, counts[at]);
    if (!multiply(displacements[i], unit, offsets[at])) return too_large();
    if (oldtype.layout->size() > 0 && __builtin_add_overflow(elements, counts[at], &elements)) return too_large();
  }
  return make_type(Layout::sequence(std::vector<LayoutRef>(n, oldtype.layout), counts, offsets), std::move(arguments),
                   {&oldtype}, {{&oldtype, elements}}, newtype);
}

Error indexed(CountForm form, bool in_bytes, int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype,
              MPI_Datatype* newtype) {
  if (count > 0 && !blocklengths) return missing("array_of_blocklengths", count);
  if (count > 0 && !displacements) return missing("array_of_displacements", count);
  TypeArguments arguments(in_bytes ? MPI_COMBINER_HINDEXED : MPI_COMBINER_INDEXED, form);
  arguments.count(count).all_counts(blocklengths, count);
  if (in_bytes)
    arguments.all_bytes(displacements, count);
  else
    arguments.all_counts(displacements, count);
  return indexed_blocks(std::move(arguments), count, {blocklengths}, displacements,
                        in_bytes ? 1 : oldtype.layout->extent(), oldtype, newtype);
}

Error indexed_block(CountForm form, bool in_bytes, int64_t count, int64_t blocklength, Ints displacements,
                    Datatype& oldtype, MPI_Datatype* newtype) {
  if (count > 0 && !displacements) return missing("array_of_displacements", count);
  TypeArguments arguments(in_bytes ? MPI_COMBINER_HINDEXED_BLOCK : MPI_COMBINER_INDEXED_BLOCK, form);
  arguments.count(count).count(blocklength);
  if (in_bytes)
    arguments.all_bytes(displacements, count);
  else
    arguments.all_counts(displacements, count);
  return indexed_blocks(std::move(arguments), count, {{}, blocklength}, displacements,
                        in_bytes ? 1 : oldtype.layout->extent(), oldtype, newtype);
}

Error structure(CountForm form, int64_t count, Ints blocklengths, Ints displacements, const MPI_Datatype* types,
                MPI_Datatype* newtype) {
  if (count > 0 && !blocklengths) return missing("array_of_blocklengths", count);
  if (count > 0 && !displacements) return missing("array_of_displacements", count);
  if (count > 0 && types == nullptr) return missing("array_of_types", count);
  std::vector<LayoutRef> layouts;
  std::vector<int64_t> counts, offsets;
  std::vector<Datatype*> parts;
  std::vector<TypeRun> runs;
  for (int64_t i = 0; i < count; i++) {
    Datatype* type = resolve<Datatype>(types[i]);
    if (type == nullptr)
      return types[i] == MPI_DATATYPE_NULL
                 ? failure(MPI_ERR_TYPE, "array_of_types[{}] is MPI_DATATYPE_NULL", i)
                 : failure(MPI_ERR_TYPE, "array_of_types[{}] is no datatype: freed already, or never set", i);
    if (blocklengths[i] < 0) return negative("array_of_blocklengths", i, blocklengths[i]);
    layouts.push_back(type->layout);
    counts.push_back(blocklengths[i]);
    offsets.push_back(displacements[i]);
    parts.push_back(type);
    runs.push_back({type, blocklengths[i]});
  }
  TypeArguments arguments(MPI_COMBINER_STRUCT, form);
  arguments.count(count).all_counts(blocklengths, count).all_bytes(displacements, count);
  return make_type(Layout::sequence(layouts, counts, offsets), std::move(arguments), parts, std::move(runs), newtype);
}

Error resized(CountForm form, Datatype& oldtype, int64_t lb, int64_t extent, MPI_Datatype* newtype) {
  TypeArguments arguments(MPI_COMBINER_RESIZED, form);
  arguments.bytes(lb).bytes(extent);
  return make_type(Layout::resized(oldtype.layout, lb, extent), std::move(arguments), {&oldtype}, {{&oldtype, 1}},
                   newtype);
}

}  // namespace

// --- the two forms of each

Error type_contiguous(int64_t count, Datatype& oldtype, MPI_Datatype* newtype) {
  return contiguous(CountForm::small, count, oldtype, newtype);
}
Error type_contiguous_c(int64_t count, Datatype& oldtype, MPI_Datatype* newtype) {
  return contiguous(CountForm::large, count, oldtype, newtype);
}
Error type_vector(int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype, MPI_Datatype* newtype) {
  return vector(CountForm::small, count, blocklength, stride, oldtype, newtype);
}
Error type_vector_c(int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype, MPI_Datatype* newtype) {
  return vector(CountForm::large, count, blocklength, stride, oldtype, newtype);
}
Error type_create_hvector(int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype,
                          MPI_Datatype* newtype) {
  return hvector(CountForm::small, count, blocklength, stride, oldtype, newtype);
}
Error type_create_hvector_c(int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype,
                            MPI_Datatype* newtype) {
  return hvector(CountForm::large, count, blocklength, stride, oldtype, newtype);
}
Error type_indexed(int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype, MPI_Datatype* newtype) {
  return indexed(CountForm::small, false, count, blocklengths, displacements, oldtype, newtype);
}
Error type_indexed_c(int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype, MPI_Datatype* newtype) {
  return indexed(CountForm::large, false, count, blocklengths, displacements, oldtype, newtype);
}
Error type_create_hindexed(int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype,
                           MPI_Datatype* newtype) {
  return indexed(CountForm::small, true, count, blocklengths, displacements, oldtype, newtype);
}
Error type_create_hindexed_c(int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype,
                             MPI_Datatype* newtype) {
  return indexed(CountForm::large, true, count, blocklengths, displacements, oldtype, newtype);
}
Error type_create_indexed_block(int64_t count, int64_t blocklength, Ints displacements, Datatype& oldtype,
                                MPI_Datatype* newtype) {
  return indexed_block(CountForm::small, false, count, blocklength, displacements, oldtype, newtype);
}
Error type_create_indexed_block_c(int64_t count, int64_t blocklength, Ints displacements, Datatype& oldtype,
                                  MPI_Datatype* newtype) {
  return indexed_block(CountForm::large, false, count, blocklength, displacements, oldtype, newtype);
}
Error type_create_hindexed_block(int64_t count, int64_t blocklength, Ints displacements, Datatype& oldtype,
                                 MPI_Datatype* newtype) {
  return indexed_block(CountForm::small, true, count, blocklength, displacements, oldtype, newtype);
}
Error type_create_hindexed_block_c(int64_t count, int64_t blocklength, Ints displacements, Datatype& oldtype,
                                   MPI_Datatype* newtype) {
  return indexed_block(CountForm::large, true, count, blocklength, displacements, oldtype, newtype);
}
Error type_create_struct(int64_t count, Ints blocklengths, Ints displacements, const MPI_Datatype* types,
                         MPI_Datatype* newtype) {
  return structure(CountForm::small, count, blocklengths, displacements, types, newtype);
}
Error type_create_struct_c(int64_t count, Ints blocklengths, Ints displacements, const MPI_Datatype* types,
                           MPI_Datatype* newtype) {
  return structure(CountForm::large, count, blocklengths, displacements, types, newtype);
}
Error type_create_resized(Datatype& oldtype, int64_t lb, int64_t extent, MPI_Datatype* newtype) {
  return resized(CountForm::small, oldtype, lb, extent, newtype);
}
Error type_create_resized_c(Datatype& oldtype, int64_t lb, int64_t extent, MPI_Datatype* newtype) {
  return resized(CountForm::large, oldtype, lb, extent, newtype);
}

Error type_dup(Datatype& oldtype, MPI_Datatype* newtype) {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  if (Error error =
          make_type(oldtype.layout, {MPI_COMBINER_DUP, CountForm::small}, {&oldtype}, {{&oldtype, 1}}, &handle))
    return error;
  Datatype& made = *resolve<Datatype>(handle);
  made.committed = oldtype.committed;
  made.element = oldtype.element;
  made.type_class = oldtype.type_class;
  if (Error error = made.attributes.copy_all(oldtype.handle, oldtype.attributes)) {
    (void)made.attributes.delete_all(handle);
    made.release();
    *newtype = MPI_DATATYPE_NULL;  // not what stood there before
    return error;
  }
  *newtype = handle;
  return {};
}

Error type_commit(MPI_Datatype* datatype) {
  resolve<Datatype>(*datatype)->committed = true;
  return {};
}

Error type_free(MPI_Datatype* datatype) {
  Datatype& type = *resolve<Datatype>(*datatype);
  if (type.predefined) return failure(MPI_ERR_TYPE, "{} is predefined and cannot be freed", description(type));
  if (Error error = type.attributes.delete_all(type.handle)) return error;
  type.free_handle();
  *datatype = MPI_DATATYPE_NULL;
  return {};
}

}  // namespace tutti::mpi
