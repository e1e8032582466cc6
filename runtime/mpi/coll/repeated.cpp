// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/repeated.hpp"

#include <algorithm>

#include "exec/execution.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {
namespace {

bool is_predefined(const void* type) {
  return !type || static_cast<const Datatype*>(type)->predefined;
}

bool may_be_kept(const Arguments& given, const coll::Call& call) {
  return (!given.op || given.op->predefined) && is_predefined(given.sendtype) && is_predefined(given.recvtype) &&
         std::ranges::all_of(call.in_types, is_predefined) && std::ranges::all_of(call.out_types, is_predefined);
}

std::array<Ints, 4> arrays_of(const Arguments& call) {
  return {call.sendcounts, call.sdispls, call.recvcounts, call.rdispls};
}

}  // namespace

bool Repeated::has_same_arrays(const Bucket& bucket, const Arguments& given) {
  const std::array<Ints, 4> arrays = arrays_of(given);
  for (size_t i = 0; i < arrays.size(); ++i) {
    const std::vector<int64_t>& known = bucket.arrays[i];
    if (known.empty()) continue;
    if (!arrays[i]) return false;
    for (size_t k = 0; k < known.size(); ++k)
      if (arrays[i][static_cast<int64_t>(k)] != known[k]) return false;
  }
  const auto same = [](const std::vector<MPI_Datatype>& known, const MPI_Datatype* types) {
    return known.empty() || (types && std::equal(known.begin(), known.end(), types));
  };
  return same(bucket.sendtypes, given.sendtypes) && same(bucket.recvtypes, given.recvtypes);
}

bool Repeated::keep(const Arguments& program, bool nonblocking, int ranks,
                    std::unique_ptr<exec::Execution>& execution) {
  const coll::Call& call = execution->call();
  Arguments given = program;
  given.sendcounts = call.in_counts;
  given.sdispls = call.in_displacements;
  given.recvcounts = call.out_counts;
  given.rdispls = call.out_displacements;
  const std::array<Ints, 4> significant = {call.in_counts, call.in_displacements, call.out_counts,
                                           call.out_displacements};
  const coll::ArrayLengths lengths(call, ranks);
  bool has_arrays = false;
  for (const Ints& array : significant) has_arrays |= static_cast<bool>(array);
  if (!may_be_kept(given, call) || (has_arrays && std::max(lengths.in, lengths.out) > kMostRanks)) return false;
  std::unique_ptr<Bucket>& bucket = buckets_[bucket_of(given, nonblocking)];
  if (bucket && bucket->call.is_like(given) && bucket->nonblocking == nonblocking && has_same_arrays(*bucket, given)) {
    execution->binding().own_types();
    bucket->judged |= static_cast<uint8_t>(1 << form_of(program));
    return bucket->keep(execution);
  }
  if (bucket && (--bucket->patience > 0 || bucket->idle[0].is_lent())) return false;
  bucket = std::make_unique<Bucket>(store_);
  bucket->call = given;
  // Only whether they are MPI_IN_PLACE is of interest.
  if (given.sendbuf != MPI_IN_PLACE) bucket->call.sendbuf = nullptr;
  if (given.recvbuf != MPI_IN_PLACE) bucket->call.recvbuf = nullptr;
  bucket->judged = static_cast<uint8_t>(1 << form_of(program));
  bucket->nonblocking = nonblocking;
  bucket->has_arrays = has_arrays;
  bucket->patience = kPatience;
  bucket->generation = ++generations_;
  for (size_t i = 0; i < significant.size(); ++i)
    for (int k = 0; significant[i] && k < (i < 2 ? lengths.in : lengths.out); ++k)
      bucket->arrays[i].push_back(significant[i][k]);
  // (The handles: types that are the same may be called by several.)
  if (!call.in_types.empty()) bucket->sendtypes.assign(given.sendtypes, given.sendtypes + lengths.in);
  if (!call.out_types.empty()) bucket->recvtypes.assign(given.recvtypes, given.recvtypes + lengths.out);
  execution->binding().own_types();
  return bucket->keep(execution);
}

}  // namespace tutti::mpi
