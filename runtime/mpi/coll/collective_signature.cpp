// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/collective_signature.hpp"

#include "contract/signature.hpp"
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

// What this rank sends itself must be what it expects from itself. If it is not, its word is one
// that no other rank has.
Word agreed(Word expected, Word own) {
  if (own == 0 || contract::compare(expected, own) == contract::Difference::none) return expected;
  return contract::data_of(own * 31 + expected, own ^ ~expected);
}

Word data_in(const Call& call) {
  return call.in_place ? 0 : data(call.in_count, call.in_type);
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

uint64_t pair_data(const Call& call, bool input, uint32_t block) {
  const Ints& counts = input ? call.in_counts : call.out_counts;
  const auto& types = input ? call.in_types : call.out_types;
  const void* type = types.empty() ? (input ? call.in_type : call.out_type) : types[block];
  // Without counts: the one block of the ranks that are not the root of gatherv and scatterv.
  return data(counts  ? counts[static_cast<int>(block)]
              : input ? call.in_count
                      : call.out_count,
              type);
}

int code_of(const Op* op) {
  if (!op) return 0;
  return op->predefined ? static_cast<int>(reinterpret_cast<uintptr_t>(op->handle) & 0x3f)
                        : contract::kUserOp;
}

}  // namespace

void sign(Call& call, const Op* op, const Comm& comm) {
  if (comm.is_inter()) return;
  const bool at_root = comm.rank() == call.root;
  const auto word = [&](Function function, Word data = 0) {
    return contract::word_of(function, -1, code_of(op), data);
  };
  const auto rooted = [&](Function function, Word data = 0) {
    return contract::word_of(function, call.root, code_of(op), data);
  };
  const auto in_pairs = [&](Word word) {
    call.pair_data = pair_data;
    return word;
  };
  call.signature = [&]() -> Word {
    switch (call.kind) {
      case Collective::barrier:
        return word(Function::Barrier);
      case Collective::bcast:
        return rooted(Function::Bcast, data_out(call));
      case Collective::gather:
        return rooted(Function::Gather,
                      at_root ? agreed(data_out(call), data_in(call)) : data_in(call));
      case Collective::gatherv:
        return in_pairs(rooted(Function::Gatherv));
      case Collective::scatter:
        return rooted(Function::Scatter, at_root ? agreed(data(call.in_count, call.in_type),
                                                          call.in_place ? 0 : data_out(call))
                                                 : data_out(call));
      case Collective::scatterv:
        return in_pairs(rooted(Function::Scatterv));
      case Collective::allgather:
        return word(Function::Allgather, agreed(data_out(call), data_in(call)));
      case Collective::allgatherv: {
        const bool own = !call.in_place;
        const Word all = data_of_all(call, comm.size());
        if (own && contract::compare(data(call.out_counts[comm.rank()], call.out_type),
                                     data_in(call)) != contract::Difference::none)
          return word(Function::Allgatherv, contract::data_of(~all, all ^ 1));
        return word(Function::Allgatherv, all);
      }
      case Collective::alltoall:
        return word(Function::Alltoall, agreed(data_out(call), data_in(call)));
      case Collective::alltoallv:
        return in_pairs(word(Function::Alltoallv));
      case Collective::alltoallw:
        return in_pairs(word(Function::Alltoallw));
      case Collective::reduce:
        return rooted(Function::Reduce, data_out(call));
      case Collective::allreduce:
        return word(Function::Allreduce, data_out(call));
      case Collective::reduce_scatter:
        return word(Function::Reduce_scatter, data_of_all(call, comm.size()));
      case Collective::reduce_scatter_block:
        return word(Function::Reduce_scatter_block, data_out(call));
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

}  // namespace tutti::mpi
