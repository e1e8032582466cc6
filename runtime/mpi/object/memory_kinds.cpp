// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/memory_kinds.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/process_sets.hpp"

namespace tutti::mpi {
namespace {

constexpr std::string_view kRestrictors[] = {"alloc_mem", "win_allocate", "win_allocate_shared"};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// "mpi:alloc_mem:win_allocate": of memory of MPI, that of these calls.
bool is_supported(std::string_view kind) {
  const std::vector<std::string_view> parts = split(kind, ':');
  if (parts.empty()) return false;
  if (parts[0] == "system") return parts.size() == 1;
  return parts[0] == "mpi" && std::all_of(parts.begin() + 1, parts.end(), [](std::string_view restrictor) {
           return std::ranges::find(kRestrictors, restrictor) != std::end(kRestrictors);
         });
}

void add(std::string& list, std::string_view kind) {
  if (!list.empty()) list += ",";
  list += kind;
}

}  // namespace

std::string supported_memory_kinds(std::string_view asked) {
  std::string list;
  bool system = false, mpi = false;
  for (const std::string_view kind : split(asked, ',')) {
    if (!is_supported(kind)) continue;
    add(list, kind);
    system |= kind == "system";
    mpi |= kind.starts_with("mpi");
  }
  if (!system) add(list, "system");
  if (!mpi) add(list, "mpi");
  return list;
}

std::string memory_kinds_given(const Info* info) {
  if (info)
    if (const auto asked = info->get("mpi_memory_alloc_kinds")) return supported_memory_kinds(*asked);
  const char* launched_with = std::getenv(kMemoryKindsVariable);
  return supported_memory_kinds(launched_with ? launched_with : "");
}

bool are_memory_kinds(std::string_view asserted) {
  return std::ranges::all_of(split(asserted, ','), is_supported);
}

}  // namespace tutti::mpi
