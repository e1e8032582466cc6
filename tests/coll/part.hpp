// SPDX-License-Identifier: BSD-3-Clause
// One rank's part in one collective call, for tests of the executor: buffers of types that have gaps, a
// negative lower bound, or differ between ranks, the call, and what has to come out.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/preparation.hpp"

namespace tutti::coll {

// The data: an item is the function x → a x + b over 32-bit numbers. To compose two is associative
// but does not commute, so the order of operands shows.
struct Item {
  uint32_t a = 1, b = 0;
  bool operator==(const Item&) const = default;
};
inline Item then(const Item& first, const Item& second) {
  return {first.a * second.a, second.a * first.b + second.b};
}
inline Item item(int rank, int64_t i) {
  const auto r = static_cast<uint32_t>(rank), n = static_cast<uint32_t>(i);
  return {2 * (r * 7919 + n) + 3, r * 1000003 + n * 17 + 1};
}

// A datatype whose element holds `items`, the words of each at known displacements.
struct Type {
  LayoutRef layout;
  int items;
  std::vector<int64_t> words;  // displacements, two an item
};

inline const std::vector<Type>& types() {
  static const std::vector<Type> all = [] {
    const LayoutRef word = Layout::dense(4, 4);
    const LayoutRef odd = Layout::sequence({word, word}, {1, 1}, {8, -4});
    return std::vector<Type>{
        {Layout::dense(8, 4), 1, {0, 4}},
        {Layout::resized(Layout::dense(8, 4), 0, 20), 1, {0, 4}},
        {odd, 1, {8, -4}},
        {Layout::repeat(Layout::dense(8, 4), 2, 12), 2, {0, 4, 12, 16}},
    };
  }();
  return all;
}

// Items [0, n) in memory of their own, with a pattern in the gaps that must survive.
class Memory {
 public:
  Memory(const Type& type, int64_t items) : type_(type), items_(items) {
    bytes_.assign(static_cast<size_t>(kMargin * 2 + items * 24), 0xA5);
  }
  void* base() { return bytes_.data() + kMargin; }
  int64_t elements(int64_t items) const { return items / type_.items; }
  const Layout* layout() const { return type_.layout.get(); }
  void put(int64_t i, const Item& value) {
    std::memcpy(at(i, 0), &value.a, 4);
    std::memcpy(at(i, 1), &value.b, 4);
  }
  Item get(int64_t i) {
    Item value;
    std::memcpy(&value.a, at(i, 0), 4);
    std::memcpy(&value.b, at(i, 1), 4);
    return value;
  }
  bool gaps_survive() {
    std::vector<uint8_t> copy = bytes_;
    for (int64_t i = 0; i < items_; ++i)
      for (int w = 0; w < 2; ++w) std::memset(copy.data() + (static_cast<uint8_t*>(at(i, w)) - bytes_.data()), 0xA5, 4);
    return std::all_of(copy.begin(), copy.end(), [](uint8_t b) { return b == 0xA5; });
  }

 private:
  static constexpr int64_t kMargin = 64;
  void* at(int64_t i, int word) {
    const int64_t element = i / type_.items, part = i % type_.items;
    return static_cast<uint8_t*>(base()) + element * type_.layout->extent() +
           type_.words[static_cast<size_t>(2 * part + word)];
  }
  const Type& type_;
  const int64_t items_;
  std::vector<uint8_t> bytes_;
};

inline void compose(const Reduction& self, const void* in, const void* right_in, void* inout, int64_t count) {
  const auto& type = *static_cast<const Type*>(self.datatype);
  for (int64_t i = 0; i < count; ++i)
    for (size_t w = 0; w < type.words.size(); w += 2) {
      const auto word = [&](const void* base, size_t n) {
        return reinterpret_cast<uint32_t*>(reinterpret_cast<uintptr_t>(base) +
                                           static_cast<uintptr_t>(i * type.layout->extent() + type.words[w + n]));
      };
      const Item left{*word(in, 0), *word(in, 1)}, right{*word(right_in, 0), *word(right_in, 1)};
      const Item both = then(left, right);
      *word(inout, 0) = both.a, *word(inout, 1) = both.b;
    }
}
// Adds: commutes.
inline void add(const Reduction& self, const void* in, const void* right, void* inout, int64_t count) {
  const auto& type = *static_cast<const Type*>(self.datatype);
  for (int64_t i = 0; i < count; ++i)
    for (const int64_t at : type.words) {
      const auto offset = static_cast<uintptr_t>(i * type.layout->extent() + at);
      const auto word = [&](const void* base) {
        return reinterpret_cast<uint32_t*>(reinterpret_cast<uintptr_t>(base) + offset);
      };
      *word(inout) = *word(in) + *word(right);
    }
}

struct Case {
  Collective kind;
  int64_t items;  // of a block, or of a vector; even
  int root = 0;
  bool in_place = false, commutative = true;
};

// One rank's part in one case: buffers, call, check.
class Part {
 public:
  Part(const Case& c, int rank, int size)
      : c_(c), row_(row_of(c.kind)), rank_(rank), size_(size), at_root_(rank == c.root) {
    // Reductions: the same type on all ranks, another from case to case.
    const bool reduces = row_.reduces;
    const auto pick = static_cast<size_t>(reduces ? c.items + c.root : rank);
    in_type_ = &types()[pick % 4];
    out_type_ = reduces ? in_type_ : &types()[(pick + 1 + static_cast<size_t>(c.items)) % 4];
    call_.kind = c.kind;
    call_.root = c.root;
    if (reduces)
      reduction();
    else if (row_.input == Holds::nothing && row_.output != Holds::nothing)
      bcast();
    else if (row_.root == Root::gives)
      scatter();
    else if (row_.input == Holds::block)
      gather();
    else if (row_.input != Holds::nothing)
      alltoall();
  }
  const Call& call() const { return call_; }

  std::string check() {
    if (in_ && !in_->gaps_survive()) return "the input's gaps were written";
    if (out_ && !out_->gaps_survive()) return "the output's gaps were written";
    for (const auto& [i, value] : expected_)
      if (!(out_->get(i) == value)) return "item " + std::to_string(i) + " is wrong";
    return {};
  }

 private:
  bool v() const { return has_arrays(row_.input) || has_arrays(row_.output); }
  int64_t own_items(int rank) const { return v() ? c_.items * ((rank * 2 + 1) % 3) : c_.items; }
  int64_t pair_items(int a, int b) const { return v() ? c_.items * ((a + b) % 3) : c_.items; }

  void make_in(int64_t items) {
    in_.emplace(*in_type_, items);
    call_.in = in_->base();
    call_.in_layout = in_->layout();
  }
  void make_out(int64_t items) {
    out_.emplace(*out_type_, items);
    call_.out = out_->base();
    call_.out_layout = out_->layout();
  }
  void expect(int64_t i, const Item& value) { expected_.emplace_back(i, value); }
  // Blocks in falling order, two items apart.
  template <class Items>
  int64_t spread(Items&& items, const Type& type, std::vector<int64_t>& first) {
    first.assign(static_cast<size_t>(size_), 0);
    int64_t total = 0;
    for (int i = size_ - 1; i >= 0; --i) {
      first[static_cast<size_t>(i)] = total;
      total += items(i) + (v() ? 2 : 0);
    }
    if (!v())
      for (int i = 0; i < size_; ++i) first[static_cast<size_t>(i)] = i * c_.items;
    (void)type;
    return total;
  }
  template <class Items>
  void arrays(Items&& items, const Type& type, const std::vector<int64_t>& first, bool input) {
    std::vector<int>& counts = input ? in_counts_ : out_counts_;
    std::vector<int>& displacements = input ? in_displacements_ : out_displacements_;
    const bool w = row_.input == Holds::typed_arrays;
    for (int i = 0; i < size_; ++i) {
      counts.push_back(static_cast<int>(items(i) / type.items));
      const int64_t elements = first[static_cast<size_t>(i)] / type.items;
      displacements.push_back(static_cast<int>(w ? elements * type.layout->extent() : elements));
    }
    (input ? call_.in_counts : call_.out_counts) = Ints(counts.data());
    (input ? call_.in_displacements : call_.out_displacements) = Ints(displacements.data());
    if (!w) return;
    auto& layouts = input ? in_layouts_ : out_layouts_;
    layouts.assign(static_cast<size_t>(size_), type.layout.get());
    (input ? call_.in_layouts : call_.out_layouts) = layouts;
  }

  void bcast() {
    make_out(c_.items);
    call_.out_count = out_->elements(c_.items);
    for (int64_t i = 0; i < c_.items; ++i) {
      if (at_root_) out_->put(i, item(c_.root, i));
      expect(i, item(c_.root, i));
    }
  }
  void gather() {  // and allgather
    const bool receives = row_.has_output(at_root_, false);
    const auto items = [this](int i) { return own_items(i); };
    call_.in_place = c_.in_place && receives;
    std::vector<int64_t> first;
    if (receives) {
      make_out(spread(items, *out_type_, first));
      if (v())
        arrays(items, *out_type_, first, false);
      else
        call_.out_count = out_->elements(c_.items);
      for (int r = 0; r < size_; ++r)
        for (int64_t i = 0; i < items(r); ++i) expect(first[static_cast<size_t>(r)] + i, item(r, i));
    }
    if (!call_.in_place) {
      make_in(items(rank_));
      call_.in_count = in_->elements(items(rank_));
    }
    for (int64_t i = 0; i < items(rank_); ++i)
      if (call_.in_place)
        out_->put(first[static_cast<size_t>(rank_)] + i, item(rank_, i));
      else
        in_->put(i, item(rank_, i));
  }
  void scatter() {
    const auto items = [this](int i) { return own_items(i); };
    call_.in_place = c_.in_place && at_root_;
    if (at_root_) {
      std::vector<int64_t> first;
      make_in(spread(items, *in_type_, first));
      if (v())
        arrays(items, *in_type_, first, true);
      else
        call_.in_count = in_->elements(c_.items);
      for (int r = 0; r < size_; ++r)
        for (int64_t i = 0; i < items(r); ++i) in_->put(first[static_cast<size_t>(r)] + i, item(r, i));
    }
    if (call_.in_place) return;
    make_out(items(rank_));
    call_.out_count = out_->elements(items(rank_));
    for (int64_t i = 0; i < items(rank_); ++i) expect(i, item(rank_, i));
  }
  void alltoall() {
    const auto items = [this](int i) { return pair_items(rank_, i); };
    call_.in_place = c_.in_place;
    std::vector<int64_t> in_first, out_first;
    make_out(spread(items, *out_type_, out_first));
    if (v())
      arrays(items, *out_type_, out_first, false);
    else
      call_.out_count = out_->elements(c_.items);
    if (!c_.in_place) {
      make_in(spread(items, *in_type_, in_first));
      if (v())
        arrays(items, *in_type_, in_first, true);
      else
        call_.in_count = in_->elements(c_.items);
    }
    for (int r = 0; r < size_; ++r)
      for (int64_t i = 0; i < items(r); ++i) {
        if (c_.in_place)
          out_->put(out_first[static_cast<size_t>(r)] + i, item(rank_ * 100 + r, i));
        else
          in_->put(in_first[static_cast<size_t>(r)] + i, item(rank_ * 100 + r, i));
        expect(out_first[static_cast<size_t>(r)] + i, item(r * 100 + rank_, i));
      }
  }
  void reduction() {
    const bool scatters = row_.divided != Divided::no, by_counts = row_.divided == Divided::by_counts;
    const auto block = [&](int r) { return by_counts ? c_.items * ((r * 2 + 1) % 3) : c_.items; };
    const bool receives = row_.has_output(at_root_, false);
    int64_t vector = c_.items, mine = 0;
    if (scatters) {
      vector = 0;
      for (int r = 0; r < size_; ++r) {
        if (r == rank_) mine = vector;
        vector += block(r);
        out_counts_.push_back(static_cast<int>(block(r) / in_type_->items));
      }
    }
    const int64_t result = scatters ? block(rank_) : c_.items;
    call_.in_place = c_.in_place && receives;
    call_.reduction = {c_.commutative ? add : compose, c_.commutative, nullptr, const_cast<Type*>(in_type_)};
    if (receives) make_out(call_.in_place ? vector : result);
    if (!call_.in_place) make_in(vector);
    Memory& source = call_.in_place ? *out_ : *in_;
    for (int64_t i = 0; i < vector; ++i) source.put(i, item(rank_, i));
    if (by_counts)
      call_.out_counts = Ints(out_counts_.data());
    else
      call_.out_count = call_.in_count = source.elements(c_.items);
    if (!receives) call_.out_count = 0;

    int end = size_;
    if (row_.prefix == Prefix::inclusive) end = rank_ + 1;
    if (row_.prefix == Prefix::exclusive) end = rank_;
    if (end == 0 || !out_) return;
    for (int64_t i = 0; i < result; ++i) {
      Item total = item(0, mine + i);
      for (int r = 1; r < end; ++r) {
        const Item next = item(r, mine + i);
        total = c_.commutative ? Item{total.a + next.a, total.b + next.b} : then(total, next);
      }
      expect(i, total);
    }
  }

  const Case c_;
  const CollectiveRow& row_;
  const int rank_, size_;
  const bool at_root_;
  const Type *in_type_, *out_type_;
  Call call_;
  std::optional<Memory> in_, out_;
  std::vector<int> in_counts_, in_displacements_, out_counts_, out_displacements_;
  std::vector<const Layout*> in_layouts_, out_layouts_;
  std::vector<std::pair<int64_t, Item>> expected_;
};

}  // namespace tutti::coll
