// SPDX-License-Identifier: BSD-3-Clause
// The shared-memory transport's inside, for its files: setting up, progress and sleep
// (shared_memory.cpp), what goes out (shared_memory_out.cpp), what comes in (shared_memory_in.cpp),
// how its bytes are fetched where they do not come by themselves (shared_memory_fetch.cpp) and how
// both sides copy one message between their memories (shared_memory_join.cpp).
#pragma once

#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "base/fifo.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/shared/node_segment.hpp"
#include "transport/shared/peer_memory.hpp"
#include "transport/shared/shared_copy.hpp"
#include "transport/shm/copy_choice.hpp"
#include "transport/shm/distance.hpp"
#include "transport/shm/records.hpp"
#include "transport/shm/ring.hpp"
#include "transport/shm/shared_memory.hpp"

namespace tutti::transport {

inline constexpr int64_t kLongestInline = 2 << 10;      // a record of its own up to here
inline constexpr int64_t kLongestEager = 32 << 10;      // from here on announced…
inline constexpr int64_t kLongestMiddling = 128 << 10;  // …unless its receiver wishes, up to here
inline constexpr int64_t kLeastRead = 8 << 10;          // from here on, if the receiver is far
inline constexpr int64_t kEagerPiece = 2 << 10;         // of a middling message
inline constexpr int64_t kStreamPiece = 32 << 10;       // of a long one
inline constexpr int64_t kStreamChunk = 256 << 10;      // asked for at a time while both copy
inline constexpr int64_t kReadPiece = 1 << 20;          // read from a peer's memory in one pass
inline constexpr int64_t kTurnPiece = 64 << 10;         // while threads take turns
// A message alone that is longer than this is copied by both sides, if both are there; and its
// pieces. What the sender has written lies in its own cache: of shorter ones the receiver gains
// less by its help than it loses when it reads them (64 KiB: 2.7 instead of 3.1 us; received and
// added up 8.8 instead of 4.4).
inline constexpr int64_t kLongestAlone = kLongestMiddling;
inline constexpr int64_t kLeastJointPiece = 32 << 10, kMostJointPiece = 64 << 10;
inline constexpr int kRecordsPerPass = 32;  // from one peer

// Which of a peer's choices is for a message of that length, and which of its wishes, a bit each.
// Only of what is longer than kLongestEager, and not than kLongestMiddling.
inline int choice_for(int64_t bytes) {
  return bytes > 2 * kLongestEager;
}
inline bool has_choice(int64_t bytes) {
  return bytes > kLongestEager && bytes <= kLongestMiddling;
}

struct Peer;

// A long or middling message on its way in.
struct Incoming {
  Peer* peer = nullptr;
  int64_t bytes = 0, arrived = 0;
  uint64_t outgoing = 0;  // the sender's name for it; 0: it comes by itself
  uint64_t address = 0;   // where it lies at the sender's; 0: not to be read
  Fetch* fetch = nullptr;
  std::unique_ptr<std::byte[]> kept;  // what came before fetch()
  bool dropped = false;
  bool among_others = false;  // of long ones from the same sender
  bool streams = false;       // through the ring
  bool joins = false;         // both copy: read by Joint's rules when its turn comes
  int64_t asked = 0;          // the sender has been asked for what comes before
  PutTimes put;               // through the ring
  uint64_t begun = 0;         // when, by the time stamp counter, if its copying shall be measured
  int idle = 0;               // passes since a fragment came, or for the last piece
  // Among those that stream from its peer; among those that nobody uses, `next` alone.
  Incoming *next = nullptr, *previous = nullptr;
};

// What did not fit into the ring yet.
struct Held {
  Outgoing* outgoing = nullptr;  // nullptr: a control record
  int64_t offset = 0;            // bytes of a message that are written
  RecordWord word;
  uint64_t body[3] = {};
  Held* next = nullptr;
};

// The part of a long message that its receiver has asked for.
struct Stream {
  Outgoing* outgoing;
  uint64_t incoming;
  int64_t offset, end;
  bool large;  // through the large ring
};

// A large ring that I have borrowed for what comes from a peer.
struct Loan {
  int index = -1;  // -1: none
  RingReader in;
  int64_t due = 0;     // bytes that I have asked for and that have not come
  bool known = false;  // to the peer
};

// A message that this side sends and helps to copy.
struct Helping {
  uint64_t message = 0;  // Joint's number of it; 0: none
  const std::byte* from = nullptr;
};

struct Peer {
  Peer(int id, int i, Desk& d, double slow_copy)
      : process(id), index(i), desk(&d), memory(d), distance(slow_copy) {}
  int process, index;  // the index is the one in the segment
  bool connected = false;
  uint32_t next_order = 0;  // of the messages from it
  Desk* desk;
  RingReader in;
  RingWriter out;
  Arrival same;         // a message without a head, as the last head says that was to be kept
  KeptHead kept, last;  // and which that is at the other side; that of the last short message
  uint64_t told = 0;    // what the last head that was sent says of its ring
  // No message fits before it is connected.
  int64_t longest_inline = -1, longest_eager = 0, longest_middling = 0;
  Incoming* middling = nullptr;  // the one whose fragments follow
  int announced_in = 0;          // long messages from it, and to it, whose bytes have not all moved
  int announced_out = 0;
  int64_t asked =
      0;          // bytes that it has been asked to stream while both copy, and that are not here
  int reads = 0;  // so many are read before it is asked to stream again: it has let me wait
  Held* held = nullptr;  // the first and last of what is kept back
  Held* last_held = nullptr;
  Fifo<Stream> streams;
  bool gave_way = false;  // their sender has stopped for another thread, though there may be room
  Incoming* joint = nullptr;    // the one from it that both copy at this moment
  uint64_t joint_messages = 0;  // so far
  Helping helping;
  PeerMemory memory;
  Distance distance;           // by what is sent to it
  CopyChoice choices[2];       // by choice_for(), of what it sends
  uint32_t wishes = 0;         // that it has been told of
  int64_t middling_bytes = 0;  // of those of middle length that have come through its ring
  SharedCopy copy;             // of what is streamed to it
  // The first and last of those that stream from it, in the order of asking: so those of which
  // something has been asked come first.
  Incoming* streaming = nullptr;
  Incoming* last_streaming = nullptr;
  Loan loan;
  RingWriter large;  // that it has borrowed for what I stream to it
};

// With what it says of the ring in the other direction, and of messages to come.
[[gnu::always_inline]] inline size_t read_head(Peer& from, const std::byte* record, uint8_t flags,
                                               Header& header) {
  if (flags & kSame) {
    header.context = from.same.header.context;
    header.source = from.same.header.source;
    header.tag = from.same.header.tag;
    return kHeadOfSame;
  }
  uint64_t read;
  const size_t length = read_head(record, flags, header, read);
  from.out.reader_is_at(read);
  if (flags & kKept)
    from.same.header = {.context = header.context,
                        .source = header.source,
                        .tag = header.tag,
                        .process = from.process};
  return length;
}
inline uint8_t write_head(std::byte* record, const Header& header, uint64_t ticket, Peer& to) {
  to.told = to.in.position();
  return write_head(record, header, ticket, to.told);
}

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
  void forget_name() const override { segment_->forget_name(); }
  Error connect(int peer) override;
  Error connect_or_end(int peer);
  std::function<void()> parting() const override {
    return [segment = segment_] { segment->part(); };
  }
  std::unique_ptr<Area> area_for(const AreaKey& key, const std::vector<int>& processes,
                                 int rank) override;

  void set_receiver(Receiver& receiver) override { receiver_ = &receiver; }
  void send(int peer, Outgoing& outgoing) override;
  bool send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) override;
  Taken take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) override;
  void notify(int peer, const Header& header) override;
  void fetch(void* rendezvous, Fetch& fetch) override;
  void discard(void* rendezvous) override;
  bool progress() override;
  void spread() override;
  int descriptor() const override { return epoll_; }
  bool arm(bool by_flags) override;
  void disarm() override { doorbell_.disarm(); }
  bool flushed() override { return held_ == 0; }

 private:
  Peer& at(int process) {
    return peers_[static_cast<size_t>(index_of_[static_cast<size_t>(process)])];
  }
  void find_openings();
  void move(int here, int there);
  void say_place(int cpu);
  // RingReader::ready() behind the marker, if there is one.
  uint64_t ready(Peer& from) {
    const uint64_t word = from.in.ready();
    return word == kToTheStart ? ready_at_start(from) : word;
  }
  [[gnu::noinline]] uint64_t ready_at_start(Peer& from);
  bool drain(Peer& from);
  void handle(Peer& from, RecordWord word, const std::byte* record);
  void message(Peer& from, RecordWord word, const std::byte* record);
  void same_message(Peer& from, RecordWord word, const std::byte* record);
  void middling(Peer& from, Header& header, const std::byte* record, size_t head, size_t length);
  void announced(Peer& from, Header& header, const std::byte* body, bool another_follows);
  void fragment(Peer& from, const std::byte* record, int64_t length);
  void absorb(Incoming& incoming, int64_t offset, const std::byte* data, int64_t length);
  void finish(Incoming& incoming);
  enum class Read : uint8_t { waits, goes_on, done };
  Read read_on(Incoming& incoming);
  bool read_all();
  void learn(Incoming& incoming, CopyChoice::Way way);
  void wish(Peer& from);
  bool should_stream(Incoming& incoming);
  void ask(Incoming& incoming, int chunks);
  bool borrow(Peer& from);
  bool drain_loan(Peer& from);
  RingWriter& ring_of(Peer& to, const Stream& stream) { return stream.large ? to.large : to.out; }
  void ask_for_more(Peer& from);
  void stream_goes_on(Incoming& incoming);
  void read_the_rest(Incoming& incoming);
  void add_streaming(Incoming& incoming);
  void remove_streaming(Incoming& incoming);
  void look_after_streams();
  void look_after_streams(Peer& from);
  void ask_no_more(Peer& from);

  bool should_join(const Incoming& incoming) const;
  void begin_joint(Incoming& incoming);
  Read join_on(Incoming& incoming);
  bool read_piece(Incoming& incoming, int64_t offset, int64_t length);
  void finish_read(Incoming& incoming);
  void start_help(Peer& to, const std::byte* body);
  bool help_on(Peer& to);

  bool put_inline(Peer& to, const Header& header, const Payload& payload);
  bool put_middling(Peer& to, Outgoing& outgoing, int64_t& offset);
  bool put_announcement(Peer& to, const Outgoing& outgoing);
  bool put_fragment(Peer& to, const Payload& payload, int64_t offset, int64_t length,
                    PutTimes times);
  bool put_piece(Peer& to, const Stream& stream, int64_t length);
  bool put(Peer& to, Outgoing& outgoing, int64_t& offset);
  bool should_be_read(Peer& to, const Outgoing& outgoing);
  bool should_be_announced(Peer& to, const Outgoing& outgoing);
  void start_stream(Peer& to, const std::byte* body, Way way);
  bool put_control(Peer& to, RecordWord word, const uint64_t (&body)[3]);
  void control(Peer& to, RecordType type, uint16_t value, uint64_t a, uint64_t b = 0,
               uint64_t c = 0);
  void commit(Peer& to, RecordWord word) {
    to.out.commit(word);
    Doorbell::ring_if_asleep(*to.desk);
  }
  bool send_same(Peer& to, uint16_t pattern, const std::byte* data, size_t bytes);
  void hold(Peer& to, const Held& what);
  bool catch_up(Peer& to);
  bool stream_on(Peer& to);
  bool has_room(Peer& to);

  Incoming& new_incoming(Peer& from, const Announcement& announcement);
  void give_back(Incoming& incoming);

  const std::unique_ptr<uint64_t> token_;       // peers try to read it
  const std::shared_ptr<NodeSegment> segment_;  // areas outlive the transport
  const bool read_peers_, both_copy_;
  const int me_;               // my index among the node's processes
  Desk& desk_;                 // mine
  std::vector<int> index_of_;  // by process id; -1: not on this node
  std::vector<Peer> peers_;
  std::vector<Peer*> inboxes_;  // whose rings towards me are open
  uint32_t openings_seen_ = 0;
  Receiver* receiver_ = nullptr;
  int loans_ = 0;                     // peers of whom I have one
  int64_t held_ = 0;                  // records kept back and streams under way, all peers
  std::vector<Incoming*> reading_;    // from their senders' memory, piece by piece
  int64_t streaming_ = 0;             // those that both copy, of all peers
  Incoming* spare_incoming_ = nullptr;
  Held* spare_held_ = nullptr;
  Doorbell doorbell_;
  const int epoll_;  // holds the doorbell's socket once there is one
  bool in_epoll_ = false;
  std::chrono::steady_clock::time_point moves_from_{};  // the next move is not before this
  bool has_place_ = false;                              // the first one
  std::vector<int> others_, allowed_;  // spread()'s; nothing is allocated while it waits
  const std::function<void(int, const Error&)> no_way_;
};

}  // namespace tutti::transport
