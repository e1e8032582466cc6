// SPDX-License-Identifier: BSD-3-Clause
// The members of a group in their order: the number of a process by rank; or ranks of a group, listed. No number
// stands twice. What follows one another in equal steps takes no memory beside the object, however many there
// are: all processes of a job, every other one, one row of a grid. A few such pieces take a few words, and only
// what is not regular is a list. Immutable, cheap to copy (a copy shares the list), read by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tutti {

class ProcessList {
 public:
  class Builder;
  class Iterator;

  ProcessList() = default;
  ProcessList(const std::vector<int>& numbers);
  ProcessList(std::initializer_list<int> numbers) : ProcessList(std::vector<int>(numbers)) {}
  // first, first + stride, …
  static ProcessList range(int first, int count, int stride = 1) {
    ProcessList list;
    list.first_ = first;
    list.stride_ = stride;
    list.size_ = count;
    return list;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // On the way of each message: one branch, which a communicator always takes the same way.
  int operator[](int rank) const {
    if (!rest_) [[likely]]
      return first_ + rank * stride_;
    return irregular(rank);
  }
  int front() const { return (*this)[0]; }
  // -1: it is not here. Of a list that is not regular this is a search; many of them are ProcessRanks'.
  int rank_of(int process) const;
  bool contains(int process) const { return rank_of(process) >= 0; }

  bool is_regular() const { return !rest_; }
  Iterator begin() const;
  Iterator end() const;
  std::vector<int> to_vector() const;
  // The numbers of the ranks that `ranks` has, in its order.
  ProcessList at(const ProcessList& ranks) const;
  // Its pieces in their order, of which a list that is not regular may have many: visit(first, count, stride).
  template <class Visit>
  void each_range(Visit&& visit) const;

  bool operator==(const ProcessList& other) const;

 private:
  friend class ProcessRanks;
  // The numbers of the ranks from `rank` to where the next piece begins.
  struct Piece {
    int rank, first, stride;
    bool operator==(const Piece&) const = default;
  };
  // Of what is not regular as a whole: either.
  struct Rest {
    std::vector<Piece> pieces;
    std::vector<int> list;
  };
  static int rank_in(int process, int first, int stride, int count);
  int irregular(int rank) const;
  int count_of(const std::vector<Piece>& pieces, size_t at) const {
    return (at + 1 < pieces.size() ? pieces[at + 1].rank : size_) - pieces[at].rank;
  }

  int first_ = 0, stride_ = 1, size_ = 0;
  std::shared_ptr<const Rest> rest_;  // nullptr: the numbers are first_, first_ + stride_, …
};

class ProcessList::Iterator {
 public:
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;  // for algorithms from before ranges
  using iterator_concept = std::forward_iterator_tag;

  Iterator() = default;
  Iterator(const ProcessList& list, int rank) : list_(&list), rank_(rank) {}
  int operator*() const { return (*list_)[rank_]; }
  Iterator& operator++() {
    ++rank_;
    return *this;
  }
  Iterator operator++(int) { return {*list_, rank_++}; }
  bool operator==(const Iterator& other) const { return rank_ == other.rank_; }

 private:
  const ProcessList* list_ = nullptr;
  int rank_ = 0;
};
inline ProcessList::Iterator ProcessList::begin() const {
  return {*this, 0};
}
inline ProcessList::Iterator ProcessList::end() const {
  return {*this, size_};
}

template <class Visit>
void ProcessList::each_range(Visit&& visit) const {
  if (!rest_) {
    if (size_ > 0) visit(first_, size_, stride_);
    return;
  }
  for (size_t i = 0; i < rest_->pieces.size(); ++i)
    visit(rest_->pieces[i].first, count_of(rest_->pieces, i), rest_->pieces[i].stride);
  for (const int number : rest_->list) visit(number, 1, 1);
}

// Takes the numbers one by one, and finds the pieces among them. Lists that are equal are built alike.
class ProcessList::Builder {
 public:
  void add(int process);
  void add(const ProcessList& all) {
    all.each_range([this](int first, int count, int stride) { add_range(first, count, stride); });
  }
  // first, first + stride, …: no matter how many.
  void add_range(int first, int count, int stride);
  int size() const { return size_; }
  ProcessList take();

 private:
  std::vector<Piece> pieces_;
  int size_ = 0, last_ = 0;
};

// From processes back to ranks, for as many look-ups as will come: few search the list, many are worth a table
// where the list is not regular. Refers to the list.
class ProcessRanks {
 public:
  ProcessRanks(const ProcessList& list, int64_t lookups);
  int operator()(int process) const {  // -1: it is not in the list
    if (table_.empty()) return list_.rank_of(process);
    const auto found = table_.find(process);
    return found == table_.end() ? -1 : found->second;
  }

 private:
  const ProcessList& list_;
  std::unordered_map<int, int> table_;
};

}  // namespace tutti
