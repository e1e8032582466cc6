// SPDX-License-Identifier: BSD-3-Clause
// Blocks in shares of shared memory (gatherv, scatterv, alltoallv, alltoallw), with ranks as
// threads in lanes of four windows with some words in each share: blocks of no length, short ones,
// and ones that are too long and go as messages, in one call; types with gaps, in place; back to
// back, with and without a large lane, and any number outstanding, by ranks that are ahead, behind or
// asleep. And blocks that sender and receiver count differently.
#include <gtest/gtest.h>
#include <mpi.h>

#include <random>
#include <tuple>

#include "ranks.hpp"

namespace tutti::coll {
namespace {

const std::shared_ptr<const Selection>& by_shared_memory() {
  static const auto selection = Selection::parse(
      "barrier shared\nbcast shared\ngatherv shared\nscatterv shared\nalltoallv shared\n"
      "alltoallw shared\n",
      "test");
  return *selection;
}

constexpr uint32_t kUntouched = 0xA5A5A5A5;

// The second has a gap behind each word.
const Layout* word(bool with_gaps) {
  static const LayoutRef dense = Layout::dense(4, 4), wide = Layout::resized(dense, 0, 8);
  return with_gaps ? wide.get() : dense.get();
}

uint64_t bytes_of_block(const Call& call, bool input, uint32_t block) {
  const Ints& counts = input ? call.in_counts : call.out_counts;
  const int64_t count = counts ? counts[static_cast<int64_t>(block)] : input ? call.in_count : call.out_count;
  return static_cast<uint64_t>(count) << 8;
}

// The call number `serial` of a random sequence that is the same on all ranks: its buffers, and
// whether what came out is right.
class Blocks {
 public:
  Blocks(int serial, uint64_t seed, int rank, int size)
      : serial_(serial), rank_(rank), size_(size), seed_(seed * 1000003 + static_cast<uint64_t>(serial)) {
    std::mt19937_64 random(seed_);
    constexpr Collective kKinds[] = {Collective::gatherv,   Collective::scatterv,  Collective::alltoallv,
                                     Collective::alltoallw, Collective::alltoallv, Collective::bcast};
    call_.kind = kKinds[random() % std::size(kKinds)];
    call_.root = static_cast<int>(random() % static_cast<uint64_t>(size));
    call_.signature = static_cast<uint64_t>(call_.kind) + 1;
    const bool in_place = random() % 3 == 0, at_root = rank == call_.root;
    switch (call_.kind) {
      case Collective::gatherv:
        call_.pair_data = bytes_of_block;
        call_.in_place = in_place && at_root;
        if (!call_.in_place) give_one();
        if (at_root) get_all();
        if (call_.in_place) fill(out_, out_first_[at(rank)], out_gaps_, rank, rank, count(rank, rank));
        break;
      case Collective::scatterv:
        call_.pair_data = bytes_of_block;
        call_.in_place = in_place && at_root;
        if (at_root) give_all();
        if (!call_.in_place) get_one();
        break;
      case Collective::alltoallv:
      case Collective::alltoallw:
        call_.pair_data = bytes_of_block;
        call_.in_place = in_place;
        if (!in_place) give_all();
        get_all();
        for (int to = 0; in_place && to < size; ++to)
          fill(out_, out_first_[at(to)], out_gaps_, rank, to, count(rank, to));
        break;
      default:
        out_.assign(1, at_root ? static_cast<uint32_t>(serial) : 0);
        call_.out = out_.data(), call_.out_count = 1, call_.out_layout = word(false);
        break;
    }
  }
  const Call& call() const { return call_; }

  bool right() const {
    const bool at_root = rank_ == call_.root;
    std::vector<uint32_t> expected(out_.size(), kUntouched);
    switch (call_.kind) {
      case Collective::gatherv:
        for (int from = 0; at_root && from < size_; ++from)
          fill(expected, out_first_[at(from)], out_gaps_, from, from, count(from, from));
        break;
      case Collective::scatterv:
        if (!call_.in_place) fill(expected, 0, out_gaps_, call_.root, rank_, count(rank_, rank_));
        break;
      case Collective::alltoallv:
      case Collective::alltoallw:
        for (int from = 0; from < size_; ++from)
          fill(expected, out_first_[at(from)], out_gaps_, from, rank_, count(from, rank_));
        break;
      default:
        expected.assign(1, static_cast<uint32_t>(serial_));
        break;
    }
    return out_ == expected;
  }

 private:
  static size_t at(int rank) { return static_cast<size_t>(rank); }
  // Words from one to the other, the same both ways, as in place demands.
  int count(int a, int b) const {
    constexpr int kCounts[] = {0, 0, 1, 2, 3, 5, 6, 13, 21, 22, 25, 26, 40, 700};
    std::mt19937_64 random(seed_ * 131 + static_cast<uint64_t>(std::min(a, b) * 97 + std::max(a, b)));
    return kCounts[(random(), random()) % std::size(kCounts)];
  }
  uint32_t value(int from, int to, int i) const {
    return static_cast<uint32_t>(serial_ * 7919 + from * 104729 + to * 1299709 + i);
  }
  void fill(std::vector<uint32_t>& memory, size_t first, bool gaps, int from, int to, int count) const {
    for (int i = 0; i < count; ++i) memory[first + at(i) * (gaps ? 2 : 1)] = value(from, to, i);
  }
  // Of a block each: a word between two.
  size_t lay_out(bool gaps, std::vector<int>& counts, std::vector<int>& places, std::vector<size_t>& first) {
    size_t words = 0;
    for (int i = size_ - 1; i >= 0; --i) {
      first.insert(first.begin(), words);
      const bool own = call_.kind == Collective::gatherv || call_.kind == Collective::scatterv;
      counts.insert(counts.begin(), own ? count(i, i) : count(rank_, i));
      const size_t step = gaps ? 2 : 1;
      places.insert(places.begin(), static_cast<int>(call_.kind == Collective::alltoallw ? words * 4 : words / step));
      words += (at(counts.front()) + 1) * step;
    }
    return words;
  }
  void give_one() {
    in_.assign(at(count(rank_, rank_)) * 2 + 1, 0);
    fill(in_, 0, in_gaps_, rank_, rank_, count(rank_, rank_));
    call_.in = in_.data(), call_.in_count = count(rank_, rank_), call_.in_layout = word(in_gaps_);
  }
  void get_one() {
    out_.assign(at(count(rank_, rank_)) * 2 + 1, kUntouched);
    call_.out = out_.data(), call_.out_count = count(rank_, rank_), call_.out_layout = word(out_gaps_);
  }
  void give_all() {
    in_.assign(lay_out(in_gaps_, in_counts_, in_places_, in_first_), 0);
    for (int to = 0; to < size_; ++to) fill(in_, in_first_[at(to)], in_gaps_, rank_, to, in_counts_[at(to)]);
    call_.in = in_.data(), call_.in_layout = word(in_gaps_);
    call_.in_counts = Ints(in_counts_.data()), call_.in_displacements = Ints(in_places_.data());
    in_layouts_.assign(at(size_), call_.in_layout);
    call_.in_layouts = in_layouts_;
  }
  void get_all() {
    out_.assign(lay_out(out_gaps_, out_counts_, out_places_, out_first_), kUntouched);
    call_.out = out_.data(), call_.out_layout = word(out_gaps_);
    call_.out_counts = Ints(out_counts_.data()), call_.out_displacements = Ints(out_places_.data());
    out_layouts_.assign(at(size_), call_.out_layout);
    call_.out_layouts = out_layouts_;
  }

  const int serial_, rank_, size_;
  const uint64_t seed_;
  const bool in_gaps_ = (serial_ + rank_) % 2 == 0, out_gaps_ = (serial_ + rank_) % 3 == 0;
  std::vector<uint32_t> in_, out_;
  std::vector<int> in_counts_, in_places_, out_counts_, out_places_;
  std::vector<size_t> in_first_, out_first_;
  std::vector<const Layout*> in_layouts_, out_layouts_;
  Call call_;
};

// Also as --stress makes them: ending with a meeting, or lingering by chance.
enum class Under { nothing, sync, random };
class Shares : public testing::TestWithParam<std::tuple<int, Under>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  exec::Stress stress(uint64_t seed) const {
    const Under under = std::get<1>(GetParam());
    return {.synchronising = under == Under::sync, .chance = under == Under::random ? seed * 77 : 0};
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, Shares,
                         testing::Combine(testing::Values(2, 3, 4, 7),
                                          testing::Values(Under::nothing, Under::sync, Under::random)));

TEST_P(Shares, BackToBack) {
  const int size = ranks();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Ranks ranks(std::vector<int>(static_cast<size_t>(size)), seed, seed != 3);
    ranks.run([&](engine::Channel& channel) {
      exec::Planner planner(by_shared_memory(), stress(seed));
      for (int serial = 0; serial < 200; ++serial) {
        Blocks blocks(serial, seed, channel.rank, size);
        auto execution = prepare(channel, planner, blocks.call());
        ASSERT_TRUE(execution);
        (*execution)->run();
        ASSERT_EQ((*execution)->mpi_class, MPI_SUCCESS);
        ASSERT_TRUE(blocks.right()) << name_of(blocks.call().kind) << " " << serial << "\n"
                                    << to_string((*execution)->plan());
        keep(planner, *std::move(execution));
      }
    });
  }
}

// Bursts of nonblocking calls, then a blocking one; some ranks fall asleep or come late.
TEST_P(Shares, Outstanding) {
  const int size = ranks();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Ranks ranks(std::vector<int>(static_cast<size_t>(size)), seed);
    ranks.run([&](engine::Channel& channel) {
      exec::Planner planner(by_shared_memory(), stress(seed));
      std::mt19937_64 mine(seed * 31 + static_cast<uint64_t>(channel.rank));
      int serial = 0, left = 0;
      for (int burst = 0; burst < 8; ++burst) {
        std::vector<std::unique_ptr<Blocks>> calls;
        std::vector<std::unique_ptr<exec::Execution>> executions;
        for (int i = 0; i < 30; ++i) {
          calls.push_back(std::make_unique<Blocks>(serial++, seed, channel.rank, size));
          auto execution = prepare(channel, planner, calls.back()->call());
          ASSERT_TRUE(execution);
          (*execution)->owner = &left;
          (*execution)->on_complete = [](exec::Execution& e) { --*static_cast<int*>(e.owner); };
          ++left;
          executions.push_back(*std::move(execution));
          executions.back()->start();
          if (mine() % 4 == 0) channel.engine->progress();
          if (mine() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        Blocks last(serial++, seed, channel.rank, size);
        auto execution = prepare(channel, planner, last.call());
        ASSERT_TRUE(execution);
        (*execution)->run();
        ASSERT_TRUE(last.right());
        channel.engine->wait_until([&] { return left == 0; });
        for (const auto& call : calls) ASSERT_TRUE(call->right()) << name_of(call->call().kind);
      }
    });
  }
}

// Started again and again with other buffers, as persistent ones are.
TEST(SharesAgain, StartedWithOtherBuffers) {
  Ranks ranks(std::vector<int>(3), 1);
  ranks.run([&](engine::Channel& channel) {
    exec::Planner planner(by_shared_memory());
    const std::vector<int> counts = {1, 5, 300}, places = {0, 10, 20};
    std::vector<int> own(3, counts[static_cast<size_t>(channel.rank)]);
    Call call{.kind = Collective::alltoallv, .in_layout = word(false), .out_layout = word(true)};
    call.in_counts = Ints(own.data()), call.out_counts = Ints(counts.data());
    call.in_displacements = call.out_displacements = Ints(places.data());
    auto execution = prepare(channel, planner, call);
    ASSERT_TRUE(execution);
    for (uint32_t turn = 0; turn < 100; ++turn) {
      const std::vector<uint32_t> in(320, turn * 3 + static_cast<uint32_t>(channel.rank));
      std::vector<uint32_t> out(1000, kUntouched);
      (*execution)->binding().rebind(in.data(), out.data());
      finish(**execution, *channel.engine);
      for (size_t from = 0; from < 3; ++from)
        for (int i = 0; i < counts[from]; ++i) {
          const size_t at = static_cast<size_t>(places[from] + i) * 2;
          ASSERT_EQ(out[at], turn * 3 + from);
          ASSERT_EQ(out[at + 1], kUntouched);
        }
    }
  });
}

// Where the two count differently, what was sent decides how it comes: never does one wait for what
// the other will not send, and the next call is fine.
TEST(SharesAgain, CountsThatDiffer) {
  constexpr int kCounts[] = {0, 1, 7, 8, 9, 24, 25, 26, 400};  // 25 words fit in a share
  for (const Collective kind : {Collective::gatherv, Collective::scatterv, Collective::alltoallv})
    for (const int sent : kCounts)
      for (const int expected : kCounts) {
        Ranks ranks(std::vector<int>(2), 1);
        ranks.run([&](engine::Channel& channel) {
          exec::Planner planner(by_shared_memory());
          const bool sends = channel.rank == 0;
          const int root = kind == Collective::gatherv ? 1 : 0;
          const std::vector<uint32_t> in(400, 7);
          std::vector<uint32_t> out(400, kUntouched);
          const std::vector<int> given = {0, sends ? sent : 0}, got = {sends ? 0 : expected, 0}, places = {0, 0};
          Call call{.kind = kind, .root = root, .in = in.data(), .out = out.data()};
          call.in_layout = call.out_layout = word(false);
          call.in_count = sends ? sent : 0, call.out_count = sends ? 0 : expected;
          call.in_counts = Ints(given.data()), call.out_counts = Ints(got.data());
          call.in_displacements = call.out_displacements = Ints(places.data());
          call.pair_data = bytes_of_block;
          auto execution = prepare(channel, planner, call);
          ASSERT_TRUE(execution);
          finish(**execution, *channel.engine);
          const bool truncated = !sends && sent > expected;
          EXPECT_EQ((*execution)->mpi_class, truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS)
              << name_of(kind) << ": " << sent << " sent, " << expected << " expected";
          for (int i = 0; !sends && i < 400; ++i)
            ASSERT_EQ(out[static_cast<size_t>(i)], i < std::min(sent, expected) ? 7 : kUntouched);
          Blocks next(1, 1, channel.rank, 2);
          auto other = prepare(channel, planner, next.call());
          ASSERT_TRUE(other);
          finish(**other, *channel.engine);
          EXPECT_TRUE(next.right());
        });
      }
}

}  // namespace
}  // namespace tutti::coll
