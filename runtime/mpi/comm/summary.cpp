// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/summary.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "coll/call.hpp"
#include "contract/signature.hpp"
#include "mpi/comm/collective_call.hpp"

namespace tutti::mpi {
namespace {

template <class Operation>
void apply(const Reduction&, const void* left, const void* right, void* into, int64_t count) {
  const auto *one = static_cast<const uint64_t*>(left), *other = static_cast<const uint64_t*>(right);
  std::transform(one, one + count, other, static_cast<uint64_t*>(into), Operation());
}

struct Larger {
  uint64_t operator()(uint64_t one, uint64_t other) const { return std::max(one, other); }
};

Error numbers_of_all(Comm& comm, Function function, std::span<uint64_t> numbers, const Reduction& reduction) {
  const std::vector<uint64_t> mine(numbers.begin(), numbers.end());
  const LayoutRef layout = Layout::dense(sizeof(uint64_t), alignof(uint64_t));
  const auto count = static_cast<int64_t>(numbers.size());
  return run(comm, {.kind = coll::Collective::allreduce,
                    .in = mine.data(),
                    .out = numbers.data(),
                    .in_count = count,
                    .out_count = count,
                    .in_layout = layout.get(),
                    .out_layout = layout.get(),
                    .reduction = reduction,
                    .signature = contract::word_of(function)});
}

}  // namespace

Error reduce_to_all(Comm& comm, Function function, const Layout& layout, const Reduction& reduction, const void* mine,
                    void* all) {
  return run(comm, {.kind = coll::Collective::allreduce,
                    .in = mine,
                    .out = all,
                    .in_count = 1,
                    .out_count = 1,
                    .in_layout = &layout,
                    .out_layout = &layout,
                    .reduction = reduction,
                    .signature = contract::word_of(function)});
}

Error largest_of_all(Comm& comm, Function function, std::span<uint64_t> numbers) {
  return numbers_of_all(comm, function, numbers, {.apply = apply<Larger>});
}

Error sum_of_all(Comm& comm, Function function, std::span<uint64_t> numbers) {
  return numbers_of_all(comm, function, numbers, {.apply = apply<std::plus<>>});
}

}  // namespace tutti::mpi
