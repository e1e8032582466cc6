// SPDX-License-Identifier: BSD-3-Clause
// The executor: every algorithm of every collective over the loopback, with types that have gaps, a
// negative lower bound, or differ between ranks; then what is particular to executions.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <optional>

#include "ranks.hpp"

// One test asks for more memory than there is, and expects no for an answer.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace tutti::coll {
namespace {

// The data: an item is the function x → a x + b over 32-bit numbers. To compose two is associative
// but does not commute, so the order of operands shows.
struct Item {
  uint32_t a = 1, b = 0;
  bool operator==(const Item&) const = default;
};
Item then(const Item& first, const Item& second) {
  return {first.a * second.a, second.a * first.b + second.b};
}
Item item(int rank, int64_t i) {
  const auto r = static_cast<uint32_t>(rank), n = static_cast<uint32_t>(i);
  return {2 * (r * 7919 + n) + 3, r * 1000003 + n * 17 + 1};
}

// A datatype whose element holds `items`, the words of each at known displacements.
struct Type {
  LayoutRef layout;
  int items;
  std::vector<int64_t> words;  // displacements, two an item
};

const std::vector<Type>& types() {
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
      for (int w = 0; w < 2; ++w)
        std::memset(copy.data() + (static_cast<uint8_t*>(at(i, w)) - bytes_.data()), 0xA5, 4);
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

void compose(const Reduction& self, const void* in, const void* right_in, void* inout,
             int64_t count) {
  const auto& type = *static_cast<const Type*>(self.datatype);
  for (int64_t i = 0; i < count; ++i)
    for (size_t w = 0; w < type.words.size(); w += 2) {
      const auto word = [&](const void* base, size_t n) {
        return reinterpret_cast<uint32_t*>(
            reinterpret_cast<uintptr_t>(base) +
            static_cast<uintptr_t>(i * type.layout->extent() + type.words[w + n]));
      };
      const Item left{*word(in, 0), *word(in, 1)}, right{*word(right_in, 0), *word(right_in, 1)};
      const Item both = then(left, right);
      *word(inout, 0) = both.a, *word(inout, 1) = both.b;
    }
}
// Adds: commutes.
void add(const Reduction& self, const void* in, const void* right, void* inout, int64_t count) {
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
      : c_(c), rank_(rank), size_(size), at_root_(rank == c.root) {
    // Reductions: the same type on all ranks, another from case to case.
    const bool reduces = c.kind >= Collective::reduce;
    const auto pick = static_cast<size_t>(reduces ? c.items + c.root : rank);
    in_type_ = &types()[pick % 4];
    out_type_ = reduces ? in_type_ : &types()[(pick + 1 + static_cast<size_t>(c.items)) % 4];
    call_.kind = c.kind;
    call_.root = c.root;
    switch (c.kind) {
      case Collective::barrier:
        break;
      case Collective::bcast:
        bcast();
        break;
      case Collective::gather:
      case Collective::gatherv:
        gather();
        break;
      case Collective::scatter:
      case Collective::scatterv:
        scatter();
        break;
      case Collective::allgather:
      case Collective::allgatherv:
        gather();
        break;
      case Collective::alltoall:
      case Collective::alltoallv:
      case Collective::alltoallw:
        alltoall();
        break;
      default:
        reduction();
        break;
    }
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
  bool v() const {
    return c_.kind == Collective::gatherv || c_.kind == Collective::scatterv ||
           c_.kind == Collective::allgatherv || c_.kind == Collective::alltoallv ||
           c_.kind == Collective::alltoallw;
  }
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
    const bool w = c_.kind == Collective::alltoallw;
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
    const bool everybody = c_.kind == Collective::allgather || c_.kind == Collective::allgatherv;
    const bool receives = everybody || at_root_;
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
        for (int64_t i = 0; i < items(r); ++i)
          expect(first[static_cast<size_t>(r)] + i, item(r, i));
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
        for (int64_t i = 0; i < items(r); ++i)
          in_->put(first[static_cast<size_t>(r)] + i, item(r, i));
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
    const bool scatters =
        c_.kind == Collective::reduce_scatter || c_.kind == Collective::reduce_scatter_block;
    const auto block = [&](int r) {
      return c_.kind == Collective::reduce_scatter ? c_.items * ((r * 2 + 1) % 3) : c_.items;
    };
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
    call_.in_place = c_.in_place && (c_.kind != Collective::reduce || at_root_);
    call_.reduction = {c_.commutative ? add : compose, c_.commutative, nullptr,
                       const_cast<Type*>(in_type_)};
    if (c_.kind != Collective::reduce || at_root_) make_out(call_.in_place ? vector : result);
    if (!call_.in_place) make_in(vector);
    Memory& source = call_.in_place ? *out_ : *in_;
    for (int64_t i = 0; i < vector; ++i) source.put(i, item(rank_, i));
    if (c_.kind == Collective::reduce_scatter)
      call_.out_counts = Ints(out_counts_.data());
    else
      call_.out_count = call_.in_count = source.elements(c_.items);
    if (c_.kind == Collective::reduce && !at_root_) call_.out_count = 0;

    int end = size_;
    if (c_.kind == Collective::scan) end = rank_ + 1;
    if (c_.kind == Collective::exscan) end = rank_;
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
  const int rank_, size_;
  const bool at_root_;
  const Type *in_type_, *out_type_;
  Call call_;
  std::optional<Memory> in_, out_;
  std::vector<int> in_counts_, in_displacements_, out_counts_, out_displacements_;
  std::vector<const Layout*> in_layouts_, out_layouts_;
  std::vector<std::pair<int64_t, Item>> expected_;
};

Case long_case(Collective kind, int64_t items, bool commutative) {
  return {kind, items, 1, false, commutative || kind < Collective::reduce};
}

std::vector<Case> cases(Collective kind, int size) {
  std::vector<Case> all;
  const bool reduces = kind >= Collective::reduce;
  for (const int64_t items : {0, 2, 6, 250})
    for (const int root : {0, size - 1})
      for (const bool in_place : {false, true})
        for (const bool commutative : {true, false}) {
          if (!commutative && !reduces) continue;
          if (in_place && kind <= Collective::bcast) continue;
          all.push_back({kind, items, root, in_place, commutative});
        }
  if (size == 3 && kind != Collective::barrier)  // several segments of a pipeline
    for (const bool commutative : {true, false}) all.push_back(long_case(kind, 60000, commutative));
  return all;
}

class Execute : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Collectives, Execute, testing::Range(0, kCollectives), [](auto& info) {
  return std::string(name_of(static_cast<Collective>(info.param)));
});

// By this algorithm. Parts that are broadcasts go in pieces.
std::shared_ptr<const Selection> selection_of(Collective kind, const Algorithm& algorithm) {
  const auto selection = Selection::parse(
      std::string(name_of(kind)) + " " + std::string(algorithm.name) + "\nbcast scatter_ring", "test");
  EXPECT_TRUE(selection);
  return *selection;
}
bool is_in_memory(const Algorithm& algorithm) {
  return algorithm.needs == Needs::shared_memory || algorithm.needs == Needs::shared_slot;
}

void expect_right(const Case& c, const Algorithm& algorithm, engine::Channel& channel, Planner& planner) {
  Part part(c, channel.rank, channel.size());
  auto execution = prepare(channel, planner, part.call());
  ASSERT_TRUE(execution);
  finish(**execution, *channel.engine);
  EXPECT_EQ((*execution)->mpi_class, MPI_SUCCESS);
  EXPECT_EQ(part.check(), "") << name_of(c.kind) << " " << algorithm.name << ", rank " << channel.rank
                              << " of " << channel.size() << ", items " << c.items << ", root " << c.root
                              << ", in place " << c.in_place << ", commutative " << c.commutative << "\n"
                              << to_string((*execution)->plan());
}

TEST_P(Execute, EveryAlgorithmGivesTheRightAnswer) {
  const auto kind = static_cast<Collective>(GetParam());
  using Places = std::vector<int>;  // by rank: its node
  for (const Places& places : {Places(1), Places(2), Places(3), Places(5), Places(8),
                               Places{0, 1, 1, 0, 1}, Places{0, 0, 0, 1, 1, 1, 1, 2}}) {
    const auto size = static_cast<int>(places.size());
    const bool one_node = places == Places(places.size()),
               in_order = std::ranges::is_sorted(places);
    Ranks ranks(places, static_cast<uint64_t>(size));
    for (const Algorithm& algorithm : algorithms(kind)) {
      if (one_node == (algorithm.needs == Needs::nodes)) continue;
      if (is_in_memory(algorithm) && size == 1) continue;
      if (algorithm.needs == Needs::power_of_two && (size & (size - 1)) != 0) continue;
      const auto selection = selection_of(kind, algorithm);
      ranks.run([&](engine::Channel& channel) {
        Planner planner(selection);
        for (const Case& c : cases(kind, size)) {
          if (!c.commutative && (algorithm.needs == Needs::commutative || !in_order)) continue;
          expect_right(c, algorithm, channel, planner);
        }
      });
    }
  }
}

// Where another thread of the process sleeps in its call all the time, each long step is cut.
TEST_P(Execute, LongStepsInPiecesGiveTheRightAnswer) {
  const auto kind = static_cast<Collective>(GetParam());
  if (kind == Collective::barrier) return;
  for (const std::vector<int>& places : {std::vector(4, 0), {0, 0, 1, 1}}) {
    Ranks ranks(places, 1);
    const bool one_node = places.back() == 0;
    for (const Algorithm& algorithm : algorithms(kind)) {
      if (one_node == (algorithm.needs == Needs::nodes)) continue;
      const auto selection = selection_of(kind, algorithm);
      ranks.run([&](engine::Channel& channel) {
        bool over = false;
        std::thread other([&] {
          const engine::Engine::Guard own(*channel.engine);
          channel.engine->wait_until([&] { return over; });
        });
        Planner planner(selection);
        for (const bool commutative : {true, false})
          if (commutative || algorithm.needs != Needs::commutative)
            expect_right(long_case(kind, 20000, commutative), algorithm, channel, planner);
        over = true;
        channel.engine->leave();
        other.join();
        channel.engine->enter();
      });
    }
  }
}

Call sum_call(std::vector<uint32_t>& in, std::vector<uint32_t>& out) {
  static const LayoutRef word = Layout::dense(4, 4);
  Call call;
  call.kind = Collective::allreduce;
  call.in = in.data(), call.out = out.data();
  call.in_count = call.out_count = static_cast<int64_t>(in.size());
  call.in_layout = call.out_layout = word.get();
  call.reduction.apply = [](const Reduction&, const void* left, const void* right, void* into,
                            int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint32_t*>(into)[i] =
          static_cast<const uint32_t*>(left)[i] + static_cast<const uint32_t*>(right)[i];
  };
  return call;
}

// A reduction at which another thread asks for the engine in each piece: it gets its turn before the
// next one, but for the one that comes in the pass in which the message did.
struct Turns {
  engine::Engine* engine = nullptr;
  std::atomic<int> taken{0};
  int pieces = 0, seen = -1, in_vain = 0;

  static void add(const Reduction& self, const void* left, const void*, void* into, int64_t count) {
    auto& turns = *static_cast<Turns*>(self.datatype);
    ++turns.pieces;
    if (turns.taken == turns.seen) ++turns.in_vain;
    while (!turns.engine->ownership().contended()) std::this_thread::yield();
    turns.seen = turns.taken;
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint32_t*>(into)[i] += static_cast<const uint32_t*>(left)[i];
  }
};
TEST(Executions, LongReductionsLetOtherThreadsInBetweenPieces) {
  constexpr size_t kWords = 1 << 18;
  for (const char* algorithm : {"recursive_doubling", "ring", "halving_doubling"}) {
    const auto selection = Selection::parse(std::string("allreduce ") + algorithm, "test");
    ASSERT_TRUE(selection);
    Ranks ranks(std::vector<int>(2), 1);
    ranks.run([&](engine::Channel& channel) {
      Turns turns{.engine = channel.engine};
      std::atomic<bool> over{false};
      std::thread other([&] {
        while (!over) {
          const engine::Engine::Guard own(*channel.engine);
          ++turns.taken;
        }
      });
      Planner planner(*selection);
      std::vector<uint32_t> in(kWords, 1), out(kWords);
      Call call = sum_call(in, out);
      call.reduction = {Turns::add, true, nullptr, &turns};
      auto execution = prepare(channel, planner, call);
      ASSERT_TRUE(execution);
      finish(**execution, *channel.engine);
      over = true;
      channel.engine->leave();
      other.join();
      channel.engine->enter();
      EXPECT_EQ(out, std::vector<uint32_t>(kWords, 2)) << algorithm;
      EXPECT_GE(turns.pieces, 8) << algorithm;
      EXPECT_LE(turns.in_vain, 1) << algorithm << ", of " << turns.pieces << " pieces";
    });
  }
}

// More than a mailbox of them, of three kinds, all under way before the first is waited for.
TEST(Executions, AnyNumberIsOutstandingOnOneChannel) {
  constexpr int kMany = 5000;
  Ranks ranks(3);
  ranks.run([&](engine::Channel& channel) {
    Planner planner;
    std::vector<std::unique_ptr<Execution>> executions;
    std::vector<std::vector<uint32_t>> in(kMany), out(kMany);
    int left = 3 * kMany;
    const auto begin = [&](const Call& call) {
      auto execution = prepare(channel, planner, call);
      ASSERT_TRUE(execution);
      (*execution)->owner = &left;
      (*execution)->on_complete = [](Execution& e) { --*static_cast<int*>(e.owner); };
      executions.push_back(std::move(*execution));
      start(*executions.back());
    };
    std::vector<uint32_t> told(kMany);
    for (int i = 0; i < kMany; ++i) {
      const auto at = static_cast<size_t>(i);
      in[at].assign(i % 7 == 0 ? 100 : 2, static_cast<uint32_t>(i * 10 + channel.rank));
      out[at].assign(in[at].size(), 0);
      begin(sum_call(in[at], out[at]));
      Call bcast;
      bcast.kind = Collective::bcast;
      bcast.root = i % 3;
      if (bcast.root == channel.rank) told[at] = static_cast<uint32_t>(i) + 5;
      bcast.out = &told[at], bcast.out_count = 4, bcast.out_layout = &Layout::bytes();
      begin(bcast);
      begin({.kind = Collective::barrier});
    }
    channel.engine->wait_until([&] { return left == 0; });
    for (int i = 0; i < kMany; ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_EQ(told[at], static_cast<uint32_t>(i) + 5);
      for (const uint32_t value : out[at]) ASSERT_EQ(value, static_cast<uint32_t>(30 * i + 3));
    }
  });
}

TEST(Executions, StartAgain) {
  Ranks ranks(5);
  ranks.run([&](engine::Channel& channel) {
    Planner planner;
    std::vector<uint32_t> in(40), out(40);
    auto execution = prepare(channel, planner, sum_call(in, out));
    ASSERT_TRUE(execution);
    for (uint32_t round = 0; round < 200; ++round) {
      in.assign(40, round + static_cast<uint32_t>(channel.rank));
      finish(**execution, *channel.engine);
      EXPECT_FALSE((*execution)->running());
      EXPECT_EQ((*execution)->serial(), round);
      for (const uint32_t value : out) ASSERT_EQ(value, 5 * round + 10);
    }
  });
}

TEST(Executions, DestroyThemselvesWhenComplete) {
  Ranks ranks(4);
  ranks.run([&](engine::Channel& channel) {
    Planner planner;
    int left = 100;
    for (int i = 0; i < 100; ++i) {
      auto execution = prepare(channel, planner, {.kind = Collective::barrier});
      ASSERT_TRUE(execution);
      Execution* raw = execution->release();
      raw->owner = &left;
      raw->on_complete = [](Execution& e) {
        --*static_cast<int*>(e.owner);
        delete &e;
      };
      start(*raw);
    }
    channel.engine->wait_until([&] { return left == 0; });
  });
}

TEST(Executions, TruncationIsTheReceiversErrorAndTheNextCallIsFine) {
  for (const int64_t bytes : {100, 5000}) {
    Ranks ranks(4);
    ranks.run([&](engine::Channel& channel) {
      Planner planner;
      std::vector<uint8_t> data(static_cast<size_t>(bytes), channel.rank == 0 ? 1 : 0);
      Call call;
      call.kind = Collective::bcast;
      call.out = data.data(), call.out_layout = &Layout::bytes();
      call.out_count = channel.rank == 3 ? bytes / 2 : bytes;
      auto execution = prepare(channel, planner, call);
      ASSERT_TRUE(execution);
      finish(**execution, *channel.engine);
      EXPECT_EQ((*execution)->mpi_class, channel.rank == 3 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      std::vector<uint32_t> in(3, 1), out(3);
      auto next = prepare(channel, planner, sum_call(in, out));
      ASSERT_TRUE(next);
      finish(**next, *channel.engine);
      EXPECT_EQ((*next)->mpi_class, MPI_SUCCESS);
      EXPECT_EQ(out, std::vector<uint32_t>(3, 4));
    });
  }
}

TEST(Executions, MemoryThatCannotBeHadIsAnError) {
  Ranks ranks(2);
  ranks.run([&](engine::Channel& channel) {
    Planner planner;
    std::vector<uint32_t> one(1);
    Call call = sum_call(one, one);
    call.in_count = call.out_count = int64_t{1} << 60;
    auto execution = prepare(channel, planner, call);
    ASSERT_FALSE(execution);
    EXPECT_EQ(execution.error().mpi_class(), MPI_ERR_NO_MEM);
    EXPECT_NE(execution.error().message().find("allreduce"), std::string::npos);
  });
}

TEST(PlannerTest, KeepsAPlanAndForgetsTheOldest) {
  Planner planner;
  Shape shape;
  shape.kind = Collective::barrier;
  shape.size = 8;
  const auto first = planner.plan(shape);
  EXPECT_EQ(first, planner.plan(shape));
  Shape large;
  large.kind = Collective::alltoallv;
  large.size = 5000;
  for (int i = 0; i < 8; ++i) {
    large.rank = i;
    (void)planner.plan(large);
    if (i == 2) {
      EXPECT_EQ(first, planner.plan(shape));  // in use: it stays
    }
  }
  EXPECT_NE(first, planner.plan(shape));
  EXPECT_GT(first->steps.size(), 0u);
}

}  // namespace
}  // namespace tutti::coll
