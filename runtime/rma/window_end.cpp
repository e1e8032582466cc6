// SPDX-License-Identifier: BSD-3-Clause
#include "rma/window_end.hpp"

namespace tutti::rma {

void WindowEnd::flush(int rank) {
  if (rank == kAll) return origin_.begins_flush_of_all([this](int each) TUTTI_ENGINE_OWNED { messages_.flush(each); });
  if (origin_.begins_flush(rank)) messages_.flush(rank);
}

void WindowEnd::lock(int rank, bool exclusive) {
  origin_.begins_lock(rank);
  messages_.lock(rank, exclusive);
}

void WindowEnd::unlock(int rank) {
  origin_.begins_unlock(rank);
  messages_.unlock(rank);
}

std::span<const int> WindowEnd::holders(int rank) {
  if (origin_.begins_holders(rank)) messages_.ask_holders(rank);
  return origin_.holders(rank);
}

}  // namespace tutti::rma
