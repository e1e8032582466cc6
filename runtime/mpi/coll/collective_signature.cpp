// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/collective_signature.hpp"

#include "contract/signature.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {
namespace {

using coll::Call;
using coll::Collective;
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

// The vector that they divide: between two groups each does so as it likes.
Word data_in_all(const Call& call, int size) {
  int64_t count = 0;
  for (int i = 0; i < size; ++i) count += call.out_counts[i];
  return data(count, call.out_type);
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
  const bool between = comm.is_inter();
  const bool at_root = comm.hidden.rank == call.root;
  const auto word = [&](Function function, Word data = 0) {
    return contract::word_of(function, -1, code_of(op), data);
  };
  const auto rooted = [&](Function function, Word data = 0) {
    const Word word = contract::word_of(function, call.root, code_of(op), data);
    return between && root_in_second(call) ? word | contract::kRootInSecondGroup : word;
  };
  const auto in_pairs = [&](Word word) {
    call.pair_data = pair_data;
    return word;
  };
  // MPI_IN_PLACE on some ranks only is wrong where the standard says "at all processes". To Tutti it makes a difference
  // in the alltoalls alone: in the others it is told by strict.
  const auto all_in_place = [&](Word word, bool matters) {
    return call.in_place && (matters || strict) ? contract::in_place(word) : word;
  };
  // Between two groups each way has data of its own, which every pair compares, unless they are reduced.
  call.signature = [&]() -> Word {
    switch (call.kind) {
      case Collective::barrier:
        return word(Function::Barrier);
      case Collective::bcast:
        return rooted(Function::Bcast, data_out(call));
      case Collective::gather:
        return rooted(Function::Gather, at_root ? data_out(call) : data_in(call));
      case Collective::gatherv:
        return in_pairs(rooted(Function::Gatherv));
      case Collective::scatter:
        return rooted(Function::Scatter, at_root ? data_in(call) : data_out(call));
      case Collective::scatterv:
        return in_pairs(rooted(Function::Scatterv));
      case Collective::allgather:
        return between ? in_pairs(word(Function::Allgather))
                       : all_in_place(word(Function::Allgather, data_out(call)), false);
      case Collective::allgatherv:
        return between ? in_pairs(word(Function::Allgatherv))
                       : all_in_place(word(Function::Allgatherv, data_of_all(call, comm.size())), false);
      case Collective::alltoall:
        return between ? in_pairs(word(Function::Alltoall))
                       : all_in_place(word(Function::Alltoall, data_out(call)), true);
      case Collective::alltoallv:
        return in_pairs(all_in_place(word(Function::Alltoallv), true));
      case Collective::alltoallw:
        return in_pairs(all_in_place(word(Function::Alltoallw), true));
      case Collective::reduce:
        return rooted(Function::Reduce, data_out(call));
      case Collective::allreduce:
        return all_in_place(word(Function::Allreduce, data_out(call)), false);
      case Collective::reduce_scatter:
        return word(Function::Reduce_scatter,
                    between ? data_in_all(call, comm.size()) : data_of_all(call, comm.size()));
      case Collective::reduce_scatter_block:
        return word(Function::Reduce_scatter_block,
                    between ? data(call.out_count * comm.size(), call.out_type) : data_out(call));
      case Collective::scan:
        return word(Function::Scan, data_out(call));
      case Collective::exscan:
        return word(Function::Exscan, data_out(call));
      case Collective::neighbor_allgather:
        return in_pairs(word(Function::Neighbor_allgather));
      case Collective::neighbor_allgatherv:
        return in_pairs(word(Function::Neighbor_allgatherv));
      case Collective::neighbor_alltoall:
        return in_pairs(word(Function::Neighbor_alltoall));
      case Collective::neighbor_alltoallv:
        return in_pairs(word(Function::Neighbor_alltoallv));
      case Collective::neighbor_alltoallw:
        return in_pairs(word(Function::Neighbor_alltoallw));
    }
    return 0;
  }();
}

std::optional<OwnBlock> mismatched_own_block(const Call& call, const Comm& comm) {
  if (comm.is_inter() || call.in_place) return std::nullopt;
  const int rank = comm.rank();
  OwnBlock own{call.in_count, call.out_count, static_cast<const Datatype*>(call.in_type),
               static_cast<const Datatype*>(call.out_type)};
  switch (call.kind) {
    case Collective::gather:
    case Collective::scatter:
      if (rank != call.root) return std::nullopt;
      break;
    case Collective::gatherv:
      if (rank != call.root) return std::nullopt;
      own.received = call.out_counts[rank];
      break;
    case Collective::scatterv:
      if (rank != call.root) return std::nullopt;
      own.sent = call.in_counts[rank];
      break;
    case Collective::allgather:
    case Collective::alltoall:
      break;
    case Collective::allgatherv:
      own.received = call.out_counts[rank];
      break;
    case Collective::alltoallw:
      own.sent_type = static_cast<const Datatype*>(call.in_types[static_cast<size_t>(rank)]);
      own.received_type = static_cast<const Datatype*>(call.out_types[static_cast<size_t>(rank)]);
      [[fallthrough]];
    case Collective::alltoallv:
      own.sent = call.in_counts[rank];
      own.received = call.out_counts[rank];
      break;
    default:  // the two sides are of one type and one count
      return std::nullopt;
  }
  if (!own.sent_type || !own.received_type) return std::nullopt;  // a call of the library's own
  const int64_t bytes = own.sent * own.sent_type->layout->size();
  if (bytes != own.received * own.received_type->layout->size()) return own;
  if (bytes == 0 || !differ_in_types(*own.sent_type, *own.received_type)) return std::nullopt;
  return own;
}

}  // namespace tutti::mpi
