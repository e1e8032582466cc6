// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/collective_signature.hpp"

#include "contract/signature.hpp"
#include "functions.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {
namespace {

using coll::Call;
using coll::CollectiveRow;
using coll::Divided;
using coll::Holds;
using coll::InPlace;
using coll::KnownTo;
using contract::Word;

// The data of one or more blocks, all of which must agree.
class Data {
 public:
  void add(int64_t count, const void* type) {
    const auto& t = *static_cast<const Datatype*>(type);
    const uint64_t one = t.signature.brief(static_cast<uint64_t>(count));
    bytes_ = bytes_ * kFactor + static_cast<uint64_t>(count * t.layout->size());
    hash_ = hash_ * kFactor + one;
    exact_ = exact_ && one != 0;
  }
  Word word() const { return contract::data_of(exact_ ? hash_ | 1 : 0, bytes_); }

 private:
  static constexpr uint64_t kFactor = 0xff51afd7ed558ccd;
  uint64_t bytes_ = 0, hash_ = 0;
  bool exact_ = true;
};

Word data(int64_t count, const void* type) {
  if (!type) return 0;
  Data one;
  one.add(count, type);
  return one.word();
}

Word data_in(const Call& call) {
  return data(call.in_count, call.in_type);
}
Word data_out(const Call& call) {
  return data(call.out_count, call.out_type);
}

// All blocks of the output, whose counts are the same on every rank.
Word data_of_all(const Call& call, int size) {
  Data all;
  for (int i = 0; i < size; ++i) all.add(call.out_counts[i], call.out_type);
  return all.word();
}

// The vector that a group divides as it likes.
Word data_in_all(const Call& call, const CollectiveRow& row, int size) {
  int64_t count = 0;
  if (row.divided == Divided::equally)
    count = call.out_count * size;
  else
    for (int i = 0; i < size; ++i) count += call.out_counts[i];
  return data(count, call.out_type);
}

// What every rank knows of the data alike.
Word data_known_to_all(const Call& call, const CollectiveRow& row, const Comm& comm) {
  if (row.divided != Divided::no && comm.is_inter()) return data_in_all(call, row, comm.size());
  if (row.divided == Divided::by_counts || has_arrays(row.output)) return data_of_all(call, comm.size());
  return row.is_told_by_input(comm.hidden.rank == call.root) ? data_in(call) : data_out(call);
}

// Of the rooted calls between two groups; whoever stands beside the root is in its group.
bool root_in_second(const Call& call) {
  return (call.root == coll::kRootElsewhere ? call.sides.rank : call.root) >= call.sides.first;
}

uint64_t pair_data(const Call& call, bool input, uint32_t block) {
  const Ints& counts = input ? call.in_counts : call.out_counts;
  const auto& types = input ? call.in_types : call.out_types;
  const void* type = types.empty() ? (input ? call.in_type : call.out_type) : types[block];
  // Without counts: the one block of the ranks that are not the root of gatherv and scatterv.
  return data(counts ? counts[static_cast<int>(block)] : input ? call.in_count : call.out_count, type);
}

int code_of(const Op* op) {
  if (!op) return 0;
  return op->predefined    ? static_cast<int>(reinterpret_cast<uintptr_t>(op->handle) & 0x3f)
         : op->commutative ? contract::kUserOp
                           : contract::kUserOpInOrder;
}

}  // namespace

void sign(Call& call, const Op* op, const Comm& comm) {
  const CollectiveRow& row = coll::row_of(call.kind);
  const bool between = comm.is_inter();
  // Between two groups each way has data of its own, which every pair compares, unless they are reduced or the root's.
  const bool in_pairs =
      row.known_to == KnownTo::pairs || (row.known_to == KnownTo::all && between && !row.reduces && !row.rooted());
  if (in_pairs) call.pair_data = pair_data;
  const Word data = in_pairs || row.known_to == KnownTo::nobody ? 0 : data_known_to_all(call, row, comm);
  Word word = contract::word_of(row.function, row.rooted() ? call.root : -1, code_of(op), data);
  if (row.rooted() && between && root_in_second(call)) word |= contract::kRootInSecondGroup;
  // MPI_IN_PLACE on some ranks only is wrong where the standard says "at all processes". Where Tutti gets along with
  // it, strict tells.
  const bool tells_in_place = row.in_place == InPlace::by_all_or_none || (row.in_place == InPlace::by_all && strict);
  call.signature = call.in_place && tells_in_place ? contract::in_place(word) : word;
}

std::optional<OwnBlock> mismatched_own_block(const Call& call, const Comm& comm) {
  if (comm.is_inter() || call.in_place) return std::nullopt;
  const CollectiveRow& row = coll::row_of(call.kind);
  const int rank = comm.rank();
  const bool has_both = row.has_input(rank == call.root, false) && row.has_output(rank == call.root, false);
  if (!has_both || row.over_edges || row.reduces) return std::nullopt;
  OwnBlock own{call.in_count, call.out_count, static_cast<const Datatype*>(call.in_type),
               static_cast<const Datatype*>(call.out_type)};
  if (has_arrays(row.input)) own.sent = call.in_counts[rank];
  if (has_arrays(row.output)) own.received = call.out_counts[rank];
  if (row.input == Holds::typed_arrays) {
    own.sent_type = static_cast<const Datatype*>(call.in_types[static_cast<size_t>(rank)]);
    own.received_type = static_cast<const Datatype*>(call.out_types[static_cast<size_t>(rank)]);
  }
  if (!own.sent_type || !own.received_type) return std::nullopt;  // a call of the library's own
  const int64_t bytes = own.sent * own.sent_type->layout->size();
  if (bytes != own.received * own.received_type->layout->size()) return own;
  if (bytes == 0 || !differ_in_types(*own.sent_type, *own.received_type)) return std::nullopt;
  return own;
}

}  // namespace tutti::mpi
