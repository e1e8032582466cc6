// SPDX-License-Identifier: BSD-3-Clause
// Questions about datatypes, their names, and counts in a status.
#include <algorithm>
#include <cstring>

#include "mpi/object/status.hpp"
#include "mpi/type/api_datatype.hpp"

namespace tutti::mpi {

Error type_size(const Datatype& datatype, int64_t& size) {
  size = datatype.layout->size();
  return {};
}

Error type_get_extent(const Datatype& datatype, int64_t& lb, int64_t& extent) {
  lb = datatype.layout->lower_bound();
  extent = datatype.layout->extent();
  return {};
}

Error type_get_true_extent(const Datatype& datatype, int64_t& true_lb, int64_t& true_extent) {
  true_lb = datatype.layout->true_lower_bound();
  true_extent = datatype.layout->true_extent();
  return {};
}

// --- envelope and contents (5.1.13)

Error type_get_envelope(const Datatype& datatype, int64_t& num_integers, int64_t& num_addresses, int64_t& num_datatypes,
                        int* combiner) {
  if (!datatype.large_counts.empty())
    return failure(MPI_ERR_TYPE, "{} was made with large counts: ask MPI_Type_get_envelope_c", description(datatype));
  int64_t no_large_counts = 0;
  return type_get_envelope_c(datatype, num_integers, num_addresses, no_large_counts, num_datatypes, combiner);
}

Error type_get_envelope_c(const Datatype& datatype, int64_t& num_integers, int64_t& num_addresses,
                          int64_t& num_large_counts, int64_t& num_datatypes, int* combiner) {
  num_integers = static_cast<int64_t>(datatype.integers.size());
  num_addresses = static_cast<int64_t>(datatype.addresses.size());
  num_large_counts = static_cast<int64_t>(datatype.large_counts.size());
  num_datatypes = static_cast<int64_t>(datatype.parts.size());
  *combiner = datatype.combiner;
  return {};
}

Error type_get_contents(const Datatype& datatype, int64_t max_integers, int64_t max_addresses, int64_t max_datatypes,
                        int* integers, MPI_Aint* addresses, MPI_Datatype* datatypes) {
  if (!datatype.large_counts.empty())
    return failure(MPI_ERR_TYPE, "{} was made with large counts: ask MPI_Type_get_contents_c", description(datatype));
  return type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes, integers, addresses, nullptr,
                             datatypes);
}

namespace {

template <class From, class To>
Error copy_out(const char* what, const std::vector<From>& from, int64_t room, To* to) {
  const auto size = static_cast<int64_t>(from.size());
  if (size > room) return failure(MPI_ERR_ARG, "there is room for {} {}, but the datatype has {}", room, what, size);
  if (size > 0 && to == nullptr) return failure(MPI_ERR_ARG, "the array for {} {} is NULL", size, what);
  std::copy(from.begin(), from.end(), to);
  return {};
}

}  // namespace

Error type_get_contents_c(const Datatype& datatype, int64_t max_integers, int64_t max_addresses,
                          int64_t max_large_counts, int64_t max_datatypes, int* integers, MPI_Aint* addresses,
                          MPI_Count* large_counts, MPI_Datatype* datatypes) {
  if (datatype.combiner == MPI_COMBINER_NAMED)
    return failure(MPI_ERR_TYPE, "{} is predefined: it has no contents", description(datatype));
  if (Error error = copy_out("integers", datatype.integers, max_integers, integers)) return error;
  if (Error error = copy_out("addresses", datatype.addresses, max_addresses, addresses)) return error;
  if (Error error = copy_out("large counts", datatype.large_counts, max_large_counts, large_counts)) return error;
  std::vector<MPI_Datatype> handles;
  for (const Ref<Datatype>& part : datatype.parts) handles.push_back(part->handle);
  if (Error error = copy_out("datatypes", handles, max_datatypes, datatypes)) return error;
  // The program frees derived types that it gets here, as if it had made them.
  for (const Ref<Datatype>& part : datatype.parts)
    if (!part->predefined) part->add_handle();
  return {};
}

// --- names (7.8)

Error type_set_name(Datatype& datatype, const char* type_name) {
  datatype.name.assign(type_name, strnlen(type_name, MPI_MAX_OBJECT_NAME - 1));
  return {};
}

Error type_get_name(const Datatype* datatype, char* type_name, int* resultlen) {
  give_name(datatype, "MPI_DATATYPE_NULL", type_name, resultlen);
  return {};
}

// --- statuses (3.2.5, 5.1.11, 13.3)

Error get_count(const MPI_Status* status, const Datatype& datatype, int64_t& count) {
  const int64_t bytes = status_bytes(*status), size = datatype.layout->size();
  if (size == 0)
    count = bytes == 0 ? 0 : MPI_UNDEFINED;
  else
    count = bytes % size == 0 ? bytes / size : int64_t{MPI_UNDEFINED};
  return {};
}

Error get_elements(const MPI_Status* status, const Datatype& datatype, int64_t& count) {
  count = elements_in(datatype, status_bytes(*status));
  return {};
}

Error status_set_elements(MPI_Status* status, const Datatype& datatype, int64_t count) {
  if (count > 0 && datatype.basic_elements == 0)
    return failure(MPI_ERR_ARG, "{} elements of {}, which has none", count, description(datatype));
  set_status_bytes(*status, bytes_of(datatype, count));
  return {};
}

}  // namespace tutti::mpi
