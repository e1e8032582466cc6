// SPDX-License-Identifier: BSD-3-Clause
// Types whose data lies in one run take the direct path, however they were made: the transport gets
// the user's own memory, to send from and to fetch into, and nothing packs. Seen by a transport
// that writes down what it is given.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "engine/engine.hpp"
#include "mpi/type/api_datatype.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {
namespace {

using transport::Arrival, transport::Fetch, transport::Header, transport::Outgoing;

class Notebook final : public transport::Transport {
 public:
  void set_receiver(transport::Receiver& receiver) override { receiver_ = &receiver; }
  bool send_now(int, const Header& header, uint64_t, const std::byte* data) override {
    now_ = data;
    now_bytes_ = header.bytes;
    return true;
  }
  void send(int, Outgoing& outgoing) override {
    sent_ = outgoing.payload;
    outgoing.sent(outgoing, {});
  }
  void fetch(void*, Fetch& fetch) override {
    into_ = fetch.into;
    fetch.fetched(fetch, {});
  }
  void notify(int, const Header&) override {}
  void discard(void*) override {}
  bool progress() override { return false; }
  ~Notebook() override { ::close(descriptor_); }
  int descriptor() const override { return descriptor_; }
  bool arm(bool) override { return false; }
  bool flushed() override { return true; }

  const int descriptor_ = ::eventfd(0, EFD_CLOEXEC);
  transport::Receiver* receiver_ = nullptr;
  const std::byte* now_ = nullptr;
  int64_t now_bytes_ = 0;
  Payload sent_, into_;
};

Datatype& of(MPI_Datatype handle) {
  return *resolve<Datatype>(handle);
}

// One for each constructor that can make a run of ints; `ints` is the length of an element.
struct Made {
  std::string how;
  MPI_Datatype type;
  int ints;
};
std::vector<Made> types_in_one_run(bool with_bounds) {
  std::vector<Made> out;
  const auto add = [&](const char* how, int ints, auto make) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_FALSE(make(&type)) << how;
    EXPECT_FALSE(type_commit(&type)) << how;
    out.push_back({how, type, ints});
  };
  Datatype& one = of(MPI_INT);
  const int lengths[] = {2, 3}, places[] = {0, 2}, sizes[] = {4, 6}, starts[] = {0, 0};
  const int rows[] = {2, 6}, row[] = {1, 0};
  const MPI_Aint addresses[] = {0, 8};
  const MPI_Datatype ints[] = {MPI_INT, MPI_INT};
  add("contiguous", 5, [&](auto t) { return type_contiguous(5, one, t); });
  add("contiguous of contiguous", 10, [&](auto t) { return type_contiguous(2, of(out[0].type), t); });
  add("vector without gaps", 12, [&](auto t) { return type_vector(4, 3, 3, one, t); });
  add("vector of one block", 3, [&](auto t) { return type_vector(1, 3, 99, one, t); });
  add("hvector", 3, [&](auto t) { return type_create_hvector(3, 1, 4, one, t); });
  add("indexed", 5, [&](auto t) { return type_indexed(2, lengths, places, one, t); });
  add("hindexed", 5, [&](auto t) { return type_create_hindexed(2, lengths, addresses, one, t); });
  add("indexed_block", 4, [&](auto t) { return type_create_indexed_block(2, 2, places, one, t); });
  add("struct", 5, [&](auto t) { return type_create_struct(2, lengths, addresses, ints, t); });
  add("subarray, whole", 24,
      [&](auto t) { return type_create_subarray(2, sizes, sizes, starts, MPI_ORDER_C, one, t); });
  add("dup", 5, [&](auto t) { return type_dup(of(out[0].type), t); });
  add("resized to itself", 1, [&](auto t) { return type_create_resized(one, 0, 4, t); });
  if (with_bounds) {  // in one run as a single element only
    add("subarray of rows", 12, [&](auto t) { return type_create_subarray(2, sizes, rows, row, MPI_ORDER_C, one, t); });
    add("resized with a gap", 1, [&](auto t) { return type_create_resized(one, 0, 16, t); });
  }
  return out;
}

struct Sent : engine::SendOperation {
  explicit Sent(const Payload& p) {
    payload = p, peer = 1, match = {2, 0, 0, 0};
    on_complete = [](engine::Operation&) {};
  }
};
struct Received : engine::RecvOperation {
  explicit Received(const Payload& p) {
    payload = p, match = {2, 1, 0, 0};
    on_complete = [](engine::Operation& o) { static_cast<Received&>(o).done = true; };
  }
  bool done = false;
};

class Direct : public testing::Test {
 protected:
  Direct() : engine_(notebook_, 0) {}

  void expect_direct(const Made& made, int64_t count) {
    SCOPED_TRACE(made.how + ", " + std::to_string(count));
    const Payload payload = of(made.type).payload(memory_.data(), count);
    const std::byte* const place =
        reinterpret_cast<std::byte*>(memory_.data()) + of(made.type).layout->true_lower_bound();
    ASSERT_TRUE(payload.contiguous());
    const engine::Engine::Guard own(engine_);
    notebook_.now_ = nullptr;
    notebook_.sent_ = notebook_.into_ = {};
    Sent send(payload);
    engine_.send(send);
    if (notebook_.now_) {  // short
      EXPECT_EQ(notebook_.now_, place);
      EXPECT_EQ(notebook_.now_bytes_, count * made.ints * 4);
    } else {
      ASSERT_TRUE(notebook_.sent_.contiguous());
      EXPECT_EQ(notebook_.sent_.data(), place);
      EXPECT_EQ(notebook_.sent_.bytes(), count * made.ints * 4);
    }
    // A long message on its way in.
    Received receive(payload);
    engine_.recv(receive);
    int token = 0;
    Arrival arrival{.header = {.context = 2, .source = 1, .order = arrivals_++, .process = 1, .bytes = payload.bytes()},
                    .rendezvous = &token};
    notebook_.receiver_->arrived(arrival);
    EXPECT_TRUE(receive.done);
    ASSERT_TRUE(notebook_.into_.contiguous());
    EXPECT_EQ(notebook_.into_.data(), place);
  }

  Notebook notebook_;
  engine::Engine engine_;
  uint32_t arrivals_ = 0;
  std::vector<int> memory_ = std::vector<int>(1 << 20);
};

TEST_F(Direct, OneElementAndManyShortAndLong) {
  for (const Made& made : types_in_one_run(false))
    for (const int64_t count : {int64_t{1}, int64_t{3}, int64_t{40000}}) expect_direct(made, count);
}

TEST_F(Direct, OneElementWithBoundsOfItsOwn) {
  for (const Made& made : types_in_one_run(true)) expect_direct(made, 1);
}

// What has gaps is no run, and must not be taken for one; nor is it packed on the way out: the
// transport gets its description.
TEST_F(Direct, GapsAreSeen) {
  MPI_Datatype gappy = MPI_DATATYPE_NULL, wide = MPI_DATATYPE_NULL, backwards = MPI_DATATYPE_NULL;
  ASSERT_FALSE(type_vector(3, 1, 2, of(MPI_INT), &gappy));
  ASSERT_FALSE(type_create_resized(of(MPI_INT), 0, 16, &wide));
  const int lengths[] = {1, 1}, places[] = {1, 0};
  ASSERT_FALSE(type_indexed(2, lengths, places, of(MPI_INT), &backwards));
  EXPECT_FALSE(of(gappy).payload(memory_.data(), 1).contiguous());
  EXPECT_FALSE(of(wide).payload(memory_.data(), 2).contiguous());
  EXPECT_FALSE(of(backwards).payload(memory_.data(), 1).contiguous());
  const engine::Engine::Guard own(engine_);
  Sent send(of(gappy).payload(memory_.data(), 1));
  engine_.send(send);
  EXPECT_EQ(notebook_.now_, nullptr);
  EXPECT_EQ(notebook_.sent_.base, memory_.data());
  EXPECT_EQ(notebook_.sent_.layout, of(gappy).layout.get());
}

// A short message of a run is copied once, from the message into the user's memory.
TEST_F(Direct, ShortMessagesArriveInPlace) {
  for (const Made& made : types_in_one_run(true)) {
    SCOPED_TRACE(made.how);
    std::ranges::fill(memory_, -1);
    const engine::Engine::Guard own(engine_);
    Received receive(of(made.type).payload(memory_.data(), 1));
    engine_.recv(receive);
    std::vector<int> data(static_cast<size_t>(made.ints));
    std::iota(data.begin(), data.end(), 7);
    const Arrival arrival{
        .header = {.context = 2, .source = 1, .order = arrivals_++, .process = 1, .bytes = made.ints * 4},
        .data = reinterpret_cast<const std::byte*>(data.data())};
    notebook_.receiver_->arrived(arrival);
    EXPECT_TRUE(receive.done);
    EXPECT_EQ(std::memcmp(receive.payload.data(), data.data(), data.size() * 4), 0);
  }
}

}  // namespace
}  // namespace tutti::mpi
