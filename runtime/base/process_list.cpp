// SPDX-License-Identifier: BSD-3-Clause
#include "base/process_list.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

ProcessList::ProcessList(const std::vector<int>& numbers) {
  Builder builder;
  for (const int number : numbers) builder.add(number);
  *this = builder.take();
}

int ProcessList::irregular(int rank) const {
  if (rest_->pieces.empty()) return rest_->list[static_cast<size_t>(rank)];
  const auto next = std::ranges::upper_bound(rest_->pieces, rank, {}, &Piece::rank);
  const Piece& piece = *std::prev(next);
  return piece.first + (rank - piece.rank) * piece.stride;
}

int ProcessList::rank_in(int process, int first, int stride, int count) {
  const int64_t way = int64_t{process} - first;
  if (way % stride != 0) return -1;
  const int64_t rank = way / stride;
  return rank >= 0 && rank < count ? static_cast<int>(rank) : -1;
}

int ProcessList::rank_of(int process) const {
  if (!rest_) return rank_in(process, first_, stride_, size_);
  const std::vector<Piece>& pieces = rest_->pieces;
  for (size_t i = 0; i < pieces.size(); ++i)
    if (const int rank = rank_in(process, pieces[i].first, pieces[i].stride, count_of(pieces, i)); rank >= 0)
      return pieces[i].rank + rank;
  const auto found = std::ranges::find(rest_->list, process);
  return found == rest_->list.end() ? -1 : static_cast<int>(found - rest_->list.begin());
}

std::vector<int> ProcessList::to_vector() const {
  std::vector<int> all;
  all.reserve(static_cast<size_t>(size_));
  for (const int process : *this) all.push_back(process);
  return all;
}

ProcessList ProcessList::at(const ProcessList& ranks) const {
  Builder numbers;
  ranks.each_range([&](int rank, int count, int step) {
    if (is_regular()) return numbers.add_range(first_ + rank * stride_, count, step * stride_);
    for (int i = 0; i < count; ++i) numbers.add((*this)[rank + i * step]);
  });
  return numbers.take();
}

bool ProcessList::operator==(const ProcessList& other) const {
  if (size_ != other.size_ || !rest_ != !other.rest_) return false;
  if (rest_ == other.rest_ && rest_) return true;
  if (rest_) return rest_->pieces == other.rest_->pieces && rest_->list == other.rest_->list;
  return size_ == 0 || (first_ == other.first_ && (size_ == 1 || stride_ == other.stride_));
}

void ProcessList::Builder::add(int process) {
  const int count = pieces_.empty() ? 0 : size_ - pieces_.back().rank;
  if (count == 1) {
    pieces_.back().stride = process - last_;
  } else if (count == 0 || process != last_ + pieces_.back().stride) {
    pieces_.push_back({size_, process, 1});
  }
  last_ = process;
  ++size_;
}

void ProcessList::Builder::add_range(int first, int count, int stride) {
  for (int i = 0; i < count; ++i) {
    add(first + i * stride);
    const Piece& piece = pieces_.back();
    if (size_ - piece.rank < 2 || piece.stride != stride) continue;
    size_ += count - 1 - i;
    last_ = first + (count - 1) * stride;
    return;
  }
}

ProcessList ProcessList::Builder::take() {
  if (pieces_.empty()) return {};
  ProcessList made = range(pieces_.front().first, size_, pieces_.front().stride);
  if (pieces_.size() > 1) {
    auto rest = std::make_shared<Rest>();
    rest->pieces = std::move(pieces_);
    rest->pieces.shrink_to_fit();
    made.rest_ = rest;
    // Finding a rank among pieces takes a search: it shall be worth half of the memory.
    if (2 * rest->pieces.size() * sizeof(Piece) > static_cast<size_t>(size_) * sizeof(int)) {
      auto listed = std::make_shared<Rest>();
      listed->list = made.to_vector();
      made.rest_ = std::move(listed);
    }
  }
  *this = {};
  return made;
}

ProcessRanks::ProcessRanks(const ProcessList& list, int64_t lookups) : list_(list) {
  // A search looks at each piece, or at each number.
  if (list.is_regular() || lookups < 8 || (list.rest_->list.empty() && list.rest_->pieces.size() < 8)) return;
  table_.reserve(static_cast<size_t>(list.size()));
  int rank = 0;
  for (const int process : list) table_.emplace(process, rank++);
}

}  // namespace tutti
