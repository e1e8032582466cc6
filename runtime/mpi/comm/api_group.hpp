// SPDX-License-Identifier: BSD-3-Clause
// What the entry points MPI_Group_* call (the standard, section 7.3.1 and 7.3.2). Handles, lengths
// and addresses of results are checked before; ranks, and that no rank stands twice, here.
#pragma once

#include "base/ints.hpp"
#include "mpi/comm/group.hpp"

namespace tutti::mpi {

Error group_size(const Group& group, int* size);
Error group_rank(const Group& group, int* rank);
Error group_translate_ranks(const Group& group1, int64_t n, Ints ranks1, const Group& group2, int* ranks2);
Error group_compare(const Group& group1, const Group& group2, int* result);
Error group_union(const Group& group1, const Group& group2, MPI_Group* newgroup);
Error group_intersection(const Group& group1, const Group& group2, MPI_Group* newgroup);
Error group_difference(const Group& group1, const Group& group2, MPI_Group* newgroup);
Error group_incl(const Group& group, int64_t n, Ints ranks, MPI_Group* newgroup);
Error group_excl(const Group& group, int64_t n, Ints ranks, MPI_Group* newgroup);
Error group_range_incl(const Group& group, int64_t n, int ranges[][3], MPI_Group* newgroup);
Error group_range_excl(const Group& group, int64_t n, int ranges[][3], MPI_Group* newgroup);
Error group_free(MPI_Group* group);

}  // namespace tutti::mpi
