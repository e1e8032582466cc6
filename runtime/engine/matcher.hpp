// SPDX-License-Identifier: BSD-3-Clause
// Matching (the standard, section 3.5): posted receives against messages that have arrived. Owns
// the unexpected messages, never the receives. Both sides are hashed by (context, source, tag,
// serial), so that any number of either costs the same. Receives with a wildcard are hashed with the
// wildcard in its place, one table for each kind. For them the messages are kept in a list per
// context, in the order of arrival; once they are so many that looking through it takes long, also in
// tables by tag and by source, until none is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/pooled.hpp"
#include "engine/operation.hpp"

namespace tutti::engine {

// A message without a receive yet.
struct Unexpected final : Pooled<Unexpected> {
  transport::Header header;
  void* rendezvous = nullptr;          // a long one's, still with the sender
  SendOperation* from_self = nullptr;  // a long one that this process sends to itself

  // A short one's bytes.
  const std::byte* data() const { return far_ ? far_.get() : near_; }
  std::byte* make_room(int64_t bytes) {
    if (bytes > static_cast<int64_t>(sizeof near_))
      far_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
    return far_ ? far_.get() : near_;
  }

  Match match() const { return {header.context, header.source, header.tag, header.serial}; }

  // The matcher's own.
  struct Links {  // in a table
    uint64_t hash;
    Unexpected *next, *previous;
  };
  Links exact, by_tag, by_source, by_ticket;  // the last three only where there are many
  Unexpected* next_arrived = nullptr;         // in its context, users' channels only
  Unexpected* previous_arrived = nullptr;

 private:
  std::unique_ptr<std::byte[]> far_;
  std::byte near_[64];  // most messages fit
};

// How tables look at their items: by which match, and which links are theirs.
struct PostedAccess {
  using Item = RecvOperation;
  static Match key(const Item& item) { return item.match; }
  static Item& links(Item& item) { return item; }
};
struct ExactAccess {
  using Item = Unexpected;
  static Match key(const Item& item) { return item.match(); }
  static Item::Links& links(Item& item) { return item.exact; }
};
struct TagAccess {
  using Item = Unexpected;
  static Match key(const Item& item) { return {item.header.context, kAnySource, item.header.tag, item.header.serial}; }
  static Item::Links& links(Item& item) { return item.by_tag; }
};
struct SourceAccess {
  using Item = Unexpected;
  static Match key(const Item& item) { return {item.header.context, item.header.source, kAnyTag, item.header.serial}; }
  static Item::Links& links(Item& item) { return item.by_source; }
};
struct TicketAccess {
  using Item = Unexpected;
  static Match key(int process, uint64_t ticket) {  // neighbours where tickets are
    return {ticket >> 6, process, static_cast<int32_t>(ticket & 63), 0};
  }
  static Match key(const Item& item) { return key(item.header.process, item.header.ticket); }
  static Item::Links& links(Item& item) { return item.by_ticket; }
};

// FIFO queues of items by their match, in one table of intrusive lists.
template <class Access>
class HashedQueues {
  using T = typename Access::Item;

 public:
  HashedQueues() : buckets_(64) {}

  [[gnu::always_inline]] void push(T& item, const Match& match) {
    if (++count_ > buckets_.size() * 2) grow();
    if (!(match == last_pushed_)) {
      last_pushed_ = match;
      last_hash_ = hash(match);
    }
    links(item).hash = last_hash_;
    append(bucket_of(last_hash_), item);
  }
  T* find(const Match& match) const {
    if (count_ == 0) return nullptr;
    if (likely_ && Access::key(*likely_) == match) return likely_;
    return search(match);
  }
  [[gnu::always_inline]] void remove(T& item) {
    auto& own = links(item);
    if (&item == likely_) likely_ = own.next && Access::key(*own.next) == Access::key(item) ? own.next : nullptr;
    Bucket& bucket = bucket_of(own.hash);
    (own.previous ? links(*own.previous).next : bucket.first) = own.next;
    (own.next ? links(*own.next).previous : bucket.last) = own.previous;
    --count_;
  }
  size_t count() const { return count_; }
  uint64_t tried() const { return tried_; }  // items that searches have looked at
  // All are gone, or belong here no more.
  void clear() {
    buckets_.assign(64, {});
    count_ = 0;
    likely_ = nullptr;
  }
  template <class Visit>
  void each(Visit&& visit) const TUTTI_ENGINE_OWNED {
    for (const Bucket& bucket : buckets_)
      for (T* item = bucket.first; item;) {
        T* following = links(*item).next;
        visit(*item);
        item = following;
      }
  }

 private:
  struct Bucket {
    T* first = nullptr;
    T* last = nullptr;
  };
  static auto& links(T& item) { return Access::links(item); }

  [[gnu::noinline]] T* search(const Match& match) const {
    for (T* item = bucket_of(hash(match)).first; item; item = links(*item).next) {
      ++tried_;
      if (Access::key(*item) == match) return likely_ = item;
    }
    return nullptr;
  }
  Bucket& bucket_of(uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  const Bucket& bucket_of(uint64_t hash) const { return buckets_[hash & (buckets_.size() - 1)]; }

  // Tags that follow each other have neighbouring buckets: where a table is larger than the caches,
  // one who counts through them does not miss with each.
  static uint64_t hash(const Match& m) {
    const auto tag = static_cast<uint32_t>(m.tag);
    uint64_t h = m.context * 0x9e3779b97f4a7c15u;
    h ^= (static_cast<uint64_t>(static_cast<uint32_t>(m.source)) << 32 | m.serial) * 0xc2b2ae3d27d4eb4fu;
    h ^= (tag >> 6) * 0x165667b19e3779f9u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return (h ^ h >> 32) + (tag & 63);
  }
  static void append(Bucket& bucket, T& item) {
    auto& own = links(item);
    own.next = nullptr;
    own.previous = bucket.last;
    (bucket.last ? links(*bucket.last).next : bucket.first) = &item;
    bucket.last = &item;
  }
  void grow() {
    std::vector<Bucket> old(buckets_.size() * 4);
    old.swap(buckets_);
    for (Bucket& bucket : old)
      for (T* item = bucket.first; item;) {
        T* following = links(*item).next;
        append(bucket_of(links(*item).hash), *item);
        item = following;
      }
  }

  std::vector<Bucket> buckets_;  // a power of two
  size_t count_ = 0;
  mutable uint64_t tried_ = 0;
  // Many in a row have the same match: neither is hashed again.
  mutable T* likely_ = nullptr;  // the first of its match; where it was removed, the next one
  Match last_pushed_;
  uint64_t last_hash_ = hash({});
};

class Matcher {
 public:
  Matcher() = default;
  ~Matcher();
  Matcher(const Matcher&) = delete;

  // Queues a receive that no unexpected message fits.
  [[gnu::always_inline]] void post(RecvOperation& receive) {
    receive.posted = true;
    receive.stamp = ++stamp_;
    if (is_wildcard(receive.match)) return post_wildcard(receive);
    exact_.push(receive, receive.match);
  }
  // The receive that a new message matches, taken out of the queues; nullptr if none.
  [[gnu::always_inline]] RecvOperation* match(const transport::Header& header) {
    const Match have{header.context, header.source, header.tag, header.serial};
    RecvOperation* const exact = exact_.find(have);
    if (wild_ > 0) [[unlikely]]
      return match_among_wildcards(have, exact);
    if (!exact) return nullptr;
    exact->posted = false;
    exact_.remove(*exact);
    return exact;
  }
  void withdraw(RecvOperation& receive);  // posted before

  void add(std::unique_ptr<Unexpected> message);
  // The earliest message that fits; `take` removes it and hands over ownership.
  Unexpected* find(const Match& wanted) const;
  Unexpected* take(const Match& wanted);
  std::unique_ptr<Unexpected> take_ticket(int process, uint64_t ticket) TUTTI_ENGINE_OWNED;

  // For those who look on: every posted receive, every unexpected message.
  template <class Visit>
  void each_posted(Visit&& visit) const TUTTI_ENGINE_OWNED {
    exact_.each(visit);
    for (const auto& table : wildcards_) table.each(visit);
  }
  template <class Visit>
  void each_unexpected(Visit&& visit) const TUTTI_ENGINE_OWNED {
    messages_.each(visit);
  }
  // From now on find() and take() with a wildcard choose by chance among the first that fit of each
  // sender, as the standard lets them.
  void shuffle(uint64_t seed) { chance_ = seed | 1; }
  // The senders of the messages that fit, by rank: of more than one, chance decides.
  std::vector<int32_t> senders(const Match& wanted) const;

  // True if a message that arrived now would be the one that a receive posted now takes: no message
  // and no other receive that would be first. `wanted` has no wildcard.
  bool is_next(const Match& wanted) const { return wild_ == 0 && !exact_.find(wanted) && !messages_.find(wanted); }

  bool is_empty() const { return posted() == 0 && messages_.count() == 0; }

  // Unexpected messages whose sender waits until they are matched or withdrawn.
  int64_t held() const { return held_; }
  size_t posted() const { return exact_.count() + wild_; }
  size_t unexpected() const { return messages_.count(); }
  // Receives and messages that searches have looked at so far; what is found at once, without a search, counts nothing.
  uint64_t tried() const {
    uint64_t sum = tried_ + exact_.tried() + messages_.tried() + by_tag_.tried() + by_source_.tried();
    for (const auto& table : wildcards_) sum += table.tried();
    return sum;
  }

 private:
  struct Arrivals {
    Unexpected* first = nullptr;
    Unexpected* last = nullptr;
  };
  RecvOperation* match_among_wildcards(const Match& have, RecvOperation* exact);
  static bool is_wildcard(const Match& match) { return match.source == kAnySource || match.tag == kAnyTag; }
  // Of a receive with a wildcard: its table.
  static size_t kind_of(const Match& match) { return match.source != kAnySource ? 0 : match.tag != kAnyTag ? 1 : 2; }
  void post_wildcard(RecvOperation& receive) {
    ++wild_;
    wildcards_[kind_of(receive.match)].push(receive, receive.match);
  }
  Unexpected* find_with_wildcard(const Match& wanted) const;
  void index() const;
  void remove(Unexpected& message);
  static bool somebody_waits(const Unexpected& message) {
    return message.rendezvous || message.from_self || message.header.answer;
  }

  HashedQueues<PostedAccess> exact_;
  HashedQueues<PostedAccess> wildcards_[3];  // any tag, any source, any of both
  HashedQueues<ExactAccess> messages_;
  std::unordered_map<uint64_t, Arrivals> arrivals_;  // by context, users' channels
  Unexpected* any_of(const Match& wanted, Unexpected* first) const;

  // Of the messages that wildcards may take, where there were many; and of those that may be withdrawn.
  mutable bool is_indexed_ = false, has_tickets_ = false;
  mutable HashedQueues<TagAccess> by_tag_;
  mutable HashedQueues<SourceAccess> by_source_;
  HashedQueues<TicketAccess> by_ticket_;

  mutable uint64_t tried_ = 0;   // in lists of arrivals
  mutable uint64_t chance_ = 0;  // 0: the earliest that fits
  uint64_t stamp_ = 0;
  int64_t held_ = 0;
  size_t wild_ = 0;  // receives with a wildcard that are posted
};

}  // namespace tutti::engine
