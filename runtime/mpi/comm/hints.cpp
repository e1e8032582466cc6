// SPDX-License-Identifier: BSD-3-Clause
// The hints of communicators (the standard, section 7.4.4): what a program asserts of its messages there.
// Tutti remembers and tells them; nothing is faster or slower for them yet.
#include "engine/engine.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/memory_kinds.hpp"

namespace tutti::mpi {
namespace {

constexpr const char* kAssertions[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
                                       "mpi_assert_allow_overtaking"};

constexpr const char* kMemoryKinds = "mpi_assert_memory_alloc_kinds";

}  // namespace

// Other keys, and values that are neither true nor false, are ignored, as the standard allows.
void take_hints(Comm& comm, const Info* info) {
  if (comm.hints.empty())
    for (const char* key : kAssertions) comm.hints.emplace_back(key, "false");
  if (!info) return;
  for (auto& [key, value] : comm.hints)
    if (const auto given = info->get(key); given == "true" || given == "false") value = *given;
  if (const auto kinds = info->get(kMemoryKinds); kinds && are_memory_kinds(*kinds)) {
    std::erase_if(comm.hints, [](const Info::Entry& hint) { return hint.first == kMemoryKinds; });
    comm.hints.emplace_back(kMemoryKinds, *kinds);
  }
}

Error comm_set_info(Comm& comm, Info* info) {
  const engine::Engine::Guard own(*comm.user.engine);
  take_hints(comm, info);
  return {};
}

Error comm_get_info(Comm& comm, MPI_Info* info_used) {
  const engine::Engine::Guard own(*comm.user.engine);
  take_hints(comm, nullptr);
  std::vector<Info::Entry> told = comm.hints;
  told.emplace_back("mpi_memory_alloc_kinds", memory_kinds_given(nullptr));
  *info_used = inventory::hand_out(*new Info(std::move(told)));
  return {};
}

}  // namespace tutti::mpi
