// SPDX-License-Identifier: BSD-3-Clause
// The shared-memory transport's inside, for its files: setting up, progress and sleep
// (shared_memory.cpp), what goes out (shared_memory_out.cpp), what comes in (shared_memory_in.cpp),
// how its bytes are fetched where they do not come by themselves (shared_memory_fetch.cpp) and how
// both sides copy one message between their memories (shared_memory_join.cpp).
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/by_process.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/shared/node_segment.hpp"
#include "transport/shm/peer.hpp"
#include "transport/shm/shared_memory.hpp"

namespace tutti::transport {

inline constexpr int64_t kEagerPiece = 2 << 10;     // of a middling message
inline constexpr int64_t kStreamPiece = 32 << 10;   // of a long one
inline constexpr int64_t kStreamChunk = 256 << 10;  // asked for at a time while both copy
inline constexpr int64_t kReadPiece = 1 << 20;      // read from a peer's memory in one pass
inline constexpr int64_t kTurnPiece = 64 << 10;     // while threads take turns
inline constexpr int kRecordsPerPass = 32;          // from one peer

inline void put_into(const Payload& payload, int64_t offset, const std::byte* in, int64_t length) {
  if (payload.contiguous()) [[likely]] {
    std::memcpy(payload.data() + offset, in, static_cast<size_t>(length));
  } else {
    payload.unpack(offset, in, length);
  }
}

class SharedMemoryTransport final : public SharedMemory {
 public:
  SharedMemoryTransport(std::unique_ptr<NodeSegment> segment, std::unique_ptr<uint64_t> token,
                        const SharedMemoryOptions& options);
  ~SharedMemoryTransport() override;

  bool complete() const override { return segment_->complete(); }
  size_t peers() const override { return peers_.size(); }
  RingFigures rings() const override;
  void forget_name() const override { segment_->forget_name(); }
  Error connect(int peer) override;
  Error connect_or_end(int peer);
  std::function<void()> parting() const override {
    return [segment = segment_] { segment->part(); };
  }
  std::unique_ptr<Area> area_for(const AreaKey& key, const std::vector<int>& processes, int rank) override;

  void set_receiver(Receiver& receiver) override { receiver_ = &receiver; }
  void send(int peer, Outgoing& outgoing) override TUTTI_ENGINE_OWNED;
  bool send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) override TUTTI_ENGINE_OWNED;
  Taken take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) override TUTTI_ENGINE_OWNED;
  void notify(int peer, const Header& header) override TUTTI_ENGINE_OWNED;
  void fetch(void* rendezvous, Fetch& fetch) override TUTTI_ENGINE_OWNED;
  void discard(void* rendezvous) override TUTTI_ENGINE_OWNED;
  bool progress() override TUTTI_ENGINE_OWNED;
  void spread() override TUTTI_ENGINE_OWNED;
  int descriptor() const override { return epoll_; }
  bool arm(bool by_flags) override TUTTI_ENGINE_OWNED;
  void disarm() override TUTTI_ENGINE_OWNED { doorbell_.disarm(); }
  bool flushed() override TUTTI_ENGINE_OWNED { return held_ == 0; }

 private:
  Peer& at(int process) {
    Peer* const* const known = known_.find(process);
    return known ? **known : meet(process, index_of(process));
  }
  // Of a process of this node.
  int index_of(int process) const;
  [[gnu::noinline]] Peer& meet(int process, int index);
  void find_openings();
  void move(int here, int there);
  void say_place(int cpu);
  // RingReader::ready() behind the marker, if there is one.
  uint64_t ready(Peer& from) {
    const uint64_t word = from.in.ring.ready();
    return word == kToTheStart ? ready_at_start(from) : word;
  }
  [[gnu::noinline]] uint64_t ready_at_start(Peer& from);
  bool drain(Peer& from) TUTTI_ENGINE_OWNED;
  void handle(Peer& from, RecordWord word, const std::byte* record) TUTTI_ENGINE_OWNED;
  void message(Peer& from, RecordWord word, const std::byte* record) TUTTI_ENGINE_OWNED;
  void same_message(Peer& from, RecordWord word, const std::byte* record) TUTTI_ENGINE_OWNED;
  void middling(Peer& from, Header& header, const std::byte* record, size_t head, size_t length) TUTTI_ENGINE_OWNED;
  void announced(Peer& from, Header& header, const std::byte* body, bool another_follows) TUTTI_ENGINE_OWNED;
  void fragment(Peer& from, const std::byte* record, int64_t length) TUTTI_ENGINE_OWNED;
  void absorb(Incoming& incoming, int64_t offset, const std::byte* data, int64_t length) TUTTI_ENGINE_OWNED;
  void finish(Incoming& incoming) TUTTI_ENGINE_OWNED;
  enum class Read : uint8_t { waits, goes_on, done };
  Read read_on(Incoming& incoming) TUTTI_ENGINE_OWNED;
  bool read_all() TUTTI_ENGINE_OWNED;
  void learn_from_read(Incoming& incoming);
  void learn_from_ring(Incoming& incoming);
  void wish(Peer& from);
  Coming coming(Incoming& incoming);
  void ask(Incoming& incoming, int chunks) TUTTI_ENGINE_OWNED;
  bool borrow(Peer& from) TUTTI_ENGINE_OWNED;
  bool drain_loan(Peer& from) TUTTI_ENGINE_OWNED;
  RingWriter& ring_of(Peer& to, const Stream& stream) { return stream.large ? to.out.large : to.out.ring; }
  void ask_for_more(Peer& from) TUTTI_ENGINE_OWNED;
  void stream_goes_on(Incoming& incoming) TUTTI_ENGINE_OWNED;
  void read_the_rest(Incoming& incoming) TUTTI_ENGINE_OWNED;
  void add_streaming(Incoming& incoming);
  void remove_streaming(Incoming& incoming);
  void look_after_streams() TUTTI_ENGINE_OWNED;
  void look_after_streams(Peer& from) TUTTI_ENGINE_OWNED;
  void ask_no_more(Peer& from) TUTTI_ENGINE_OWNED;

  void begin_joint(Incoming& incoming) TUTTI_ENGINE_OWNED;
  Read join_on(Incoming& incoming) TUTTI_ENGINE_OWNED;
  bool read_piece(Incoming& incoming, int64_t offset, int64_t length) TUTTI_ENGINE_OWNED;
  void finish_read(Incoming& incoming) TUTTI_ENGINE_OWNED;
  void start_help(Peer& to, const std::byte* body) TUTTI_ENGINE_OWNED;
  bool help_on(Peer& to) TUTTI_ENGINE_OWNED;

  bool put_inline(Peer& to, const Header& header, const Payload& payload);
  bool put_middling(Peer& to, Outgoing& outgoing, int64_t& offset);
  bool put_announcement(Peer& to, const Outgoing& outgoing);
  bool put_fragment(Peer& to, const Payload& payload, int64_t offset, int64_t length, PutTimes times);
  bool put_piece(Peer& to, const Stream& stream, int64_t length) TUTTI_ENGINE_OWNED;
  bool put(Peer& to, Outgoing& outgoing, int64_t& offset) TUTTI_ENGINE_OWNED;
  Leaving leaving(Peer& to, const Outgoing& outgoing);
  void start_stream(Peer& to, const std::byte* body, Asked way) TUTTI_ENGINE_OWNED;
  bool put_control(Peer& to, RecordWord word, const uint64_t (&body)[3]);
  void control(Peer& to, RecordType type, uint16_t value, uint64_t a, uint64_t b = 0,
               uint64_t c = 0) TUTTI_ENGINE_OWNED;
  void commit(Peer& to, RecordWord word) {
    to.out.ring.commit(word);
    Doorbell::ring_if_asleep(*to.desk);
  }
  bool send_same(Peer& to, uint16_t pattern, const std::byte* data, size_t bytes);
  void hold(Peer& to, const Held& what) TUTTI_ENGINE_OWNED;
  bool catch_up(Peer& to) TUTTI_ENGINE_OWNED;
  bool stream_on(Peer& to) TUTTI_ENGINE_OWNED;
  bool has_room(Peer& to);

  Incoming& new_incoming(Peer& from, const Announcement& announcement) TUTTI_ENGINE_OWNED;
  void give_back(Incoming& incoming) TUTTI_ENGINE_OWNED;

  const std::unique_ptr<uint64_t> token_;       // peers try to read it
  const std::shared_ptr<NodeSegment> segment_;  // areas outlive the transport
  const bool read_peers_, both_copy_;
  const int me_;                      // my index among the node's processes
  Desk& desk_;                        // mine
  const std::vector<int> processes_;  // of the node, by index
  const Learnt nothing_learnt_;
  // Those that were spoken to, or have spoken: more may come while one is served.
  std::deque<Peer> peers_;
  ByProcess<Peer*> known_;
  std::vector<Peer*> inboxes_;  // whose rings towards me are open
  uint32_t openings_seen_ = 0;
  Receiver* receiver_ = nullptr;
  int loans_ = 0;                   // peers of whom I have one
  int64_t held_ = 0;                // records kept back and streams under way, all peers
  std::vector<Incoming*> reading_;  // from their senders' memory, piece by piece
  int64_t streaming_ = 0;           // those that both copy, of all peers
  Incoming* spare_incoming_ = nullptr;
  Held* spare_held_ = nullptr;
  Doorbell doorbell_;
  const int epoll_;  // holds the doorbell's socket once there is one
  bool in_epoll_ = false;
  std::chrono::steady_clock::time_point moves_from_{};  // the next move is not before this
  bool has_place_ = false;                              // the first one
  std::vector<int> others_, allowed_;                   // spread()'s; nothing is allocated while it waits
  const std::function<void(int, const Error&)> no_way_;
};

}  // namespace tutti::transport
