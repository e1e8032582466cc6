// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/fortran_abi.hpp"

#include <algorithm>
#include <cstring>

#include "base/mutex.hpp"
#include "mpi/object/api_abi.hpp"
#include "mpi/object/inventory.hpp"

namespace tutti::mpi {
namespace {

struct Told {
  Mutex mutex;
  std::optional<std::vector<Info::Entry>> info TUTTI_GUARDED_BY(mutex);
  std::optional<FortranBooleans> booleans TUTTI_GUARDED_BY(mutex);
};
Told& told() {
  static auto* known = new Told;  // never destroyed: a thread may ask during exit
  return *known;
}

constexpr std::string_view kSizes[] = {"mpi_logical_size", "mpi_integer_size", "mpi_real_size",
                                       "mpi_double_precision_size"};
constexpr std::string_view kSupported[] = {
    "mpi_logical1_supported",  "mpi_logical2_supported",  "mpi_logical4_supported",       "mpi_logical8_supported",
    "mpi_logical16_supported", "mpi_integer1_supported",  "mpi_integer2_supported",       "mpi_integer4_supported",
    "mpi_integer8_supported",  "mpi_integer16_supported", "mpi_real2_supported",          "mpi_real4_supported",
    "mpi_real8_supported",     "mpi_real16_supported",    "mpi_complex4_supported",       "mpi_complex8_supported",
    "mpi_complex16_supported", "mpi_complex32_supported", "mpi_double_complex_supported", "tutti_real10_supported"};

bool is_size(std::string_view value) {
  return value == "1" || value == "2" || value == "4" || value == "8" || value == "16";
}

// Unknown keys are ignored, as everywhere.
Error check(const Info::Entry& entry) {
  const auto& [key, value] = entry;
  if (std::ranges::find(kSizes, key) != std::end(kSizes) && !is_size(value))
    return failure(MPI_ERR_INFO_VALUE, "{} is a number of bytes (1, 2, 4, 8 or 16), not '{}' (argument info)", key,
                   value);
  if (std::ranges::find(kSupported, key) != std::end(kSupported) && value != "true" && value != "false")
    return failure(MPI_ERR_INFO_VALUE, "{} is true or false, not '{}' (argument info)", key, value);
  return {};
}

Error bad_logical(int size) {
  if (is_size(std::to_string(size))) return {};
  return failure(MPI_ERR_ARG, "no LOGICAL has {} bytes, but 1, 2, 4, 8 or 16 (argument logical_size)", size);
}

}  // namespace

std::optional<FortranBooleans> fortran_booleans() {
  const Lock lock(told().mutex);
  return told().booleans;
}

std::optional<std::string> fortran_abi(std::string_view key) {
  const Lock lock(told().mutex);
  if (!told().info) return std::nullopt;
  const auto at = std::ranges::find(*told().info, key, &Info::Entry::first);
  return at == told().info->end() ? std::nullopt : std::optional(at->second);
}

Error abi_get_info(MPI_Info* info) {
  *info = inventory::hand_out(*new Info({{"mpi_aint_size", std::to_string(sizeof(MPI_Aint))},
                                         {"mpi_count_size", std::to_string(sizeof(MPI_Count))},
                                         {"mpi_offset_size", std::to_string(sizeof(MPI_Offset))}}));
  return {};
}

Error abi_get_fortran_info(MPI_Info* info) {
  const Lock lock(told().mutex);
  *info = told().info ? inventory::hand_out(*new Info(*told().info)) : MPI_INFO_NULL;
  return {};
}

Error abi_set_fortran_info(Info* info) {
  if (!info) return failure(MPI_ERR_INFO, "the info object is null (argument info)");
  std::vector<Info::Entry> entries = info->entries();
  for (const Info::Entry& entry : entries)
    if (Error e = check(entry)) return e;
  const Lock lock(told().mutex);
  if (told().info)
    return failure(MPI_ERR_ABI, "what Fortran's types are has been set already: it is set once in a process");
  told().info = std::move(entries);
  return {};
}

Error abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false, int* is_set) {
  if (Error e = bad_logical(logical_size)) return e;
  const std::optional<FortranBooleans> known = fortran_booleans();
  *is_set = known.has_value();
  if (!known) return {};
  if (known->size != logical_size)
    return failure(MPI_ERR_ARG, "the LOGICAL that was set has {} bytes, not {} (argument logical_size)", known->size,
                   logical_size);
  std::memcpy(logical_true, known->for_true.data(), static_cast<size_t>(logical_size));
  std::memcpy(logical_false, known->for_false.data(), static_cast<size_t>(logical_size));
  return {};
}

Error abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) {
  if (Error e = bad_logical(logical_size)) return e;
  const Lock lock(told().mutex);
  if (told().booleans)
    return failure(MPI_ERR_ABI,
                   "the values of .true. and .false. have been set already: they are set once in a process");
  FortranBooleans& set = told().booleans.emplace();
  set.size = logical_size;
  std::memcpy(set.for_true.data(), logical_true, static_cast<size_t>(logical_size));
  std::memcpy(set.for_false.data(), logical_false, static_cast<size_t>(logical_size));
  return {};
}

}  // namespace tutti::mpi
