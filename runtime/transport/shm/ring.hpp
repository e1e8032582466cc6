// SPDX-License-Identifier: BSD-3-Clause
// A ring of records in shared memory, for one writer and one reader, which may be two processes.
// Owns where records lie and when they become visible; refuses to know what they say.
//
// Records start on cache lines. The first word of a record is zero until the record is complete,
// and the writer clears the words behind a record before it completes it, so that what an earlier
// lap left there is never taken for a record, and the reader writes nothing but its position, now
// and then, and what it says of a long message that both copy. A record never wraps: a marker
// sends the reader to the start where a record does not fit before the end, and already after a few
// lines where one record at a time is on its way. For a ping-pong that uses the same few lines over
// and over takes half as long as one that goes through all of the ring: 105 ns instead of 215 for
// 1 KiB between near cores, 365 instead of 850 between far ones. Where many are on their way it is
// the other way round: lines that have left the small caches come faster.
//
// A line costs what it takes to travel, so small records that follow each other share lines: where
// the record before says so, the next one lies either behind it in the same line or at the start of
// the next one, and the reader looks at both places.
//
// Why acquire and release do, on any processor. Each word has one writer. What a record says, and what was stored before it,
// cleared words and markers among it, is there for whoever has read the record's first word: released here, acquired there.
// So the reader, which looks behind a record only when it has read that one, never finds there what an earlier lap left. And the
// writer writes where the reader was only when it has acquired a position that the reader released after its last look there,
// be it `consumed` or one that came with a message the other way. A position that is old only leaves less room. The test
// weak_orders tries it: the same code over memory in which a load may return each value that this allows. Hence Memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "transport/shared/ring_memory.hpp"

namespace tutti::transport {

constexpr size_t whole_words(size_t bytes) {
  return (bytes + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
}

// In RecordWord::flags, the ring's own: the next record may lie behind this one in the same line.
inline constexpr uint8_t kMayFollow = 0x80;

// The first word of a record. Never zero, since `length` counts the word itself.
struct RecordWord {
  uint32_t length = 0;  // of the record in bytes, this word included
  uint8_t type = 0;
  uint8_t flags = 0;
  uint16_t value = 0;  // the record's own use

  uint64_t packed() const {
    return length | static_cast<uint64_t>(type) << 32 | static_cast<uint64_t>(flags) << 40 |
           static_cast<uint64_t>(value) << 48;
  }
  static RecordWord of(uint64_t packed) {
    return {static_cast<uint32_t>(packed), static_cast<uint8_t>(packed >> 32), static_cast<uint8_t>(packed >> 40),
            static_cast<uint16_t>(packed >> 48)};
  }
};

inline constexpr uint64_t kToTheStart = ~uint64_t{0};

template <class Memory>
class WriterOfRing {
 public:
  WriterOfRing() = default;
  WriterOfRing(Memory& memory, size_t size) : memory_(&memory), capacity_(Memory::capacity(size)), known_(capacity_) {}

  Joint& joint() const { return memory_->joint; }

  // A record that always fits into a ring that has been read to its end.
  size_t longest_record() const { return (capacity_ / 4) & ~(kLine - 1); }

  // Room for a record of `bytes`, at most longest_record(); nullptr as long as the ring is full.
  std::byte* reserve(size_t bytes) {
    const size_t need = whole_lines(bytes) + kLine;  // and the word behind it
    if (offset_ + need > known_ && !find_room(need)) [[unlikely]]
      return nullptr;
    fetch(need - kLine);
    return memory_->records + offset_;
  }

  // The reader has made room since reserve() looked last.
  bool room_has_grown() const { return memory_->consumed.load(std::memory_order_acquire) > consumed_; }

  // The reader has come to `position` or further: what its RingReader::position() said, by another
  // way than the ring's own memory, which is left where it is.
  void reader_is_at(uint64_t position) {
    if (position > consumed_) note(position);
  }

  // Bytes that have been written and that the reader has not said to have left.
  size_t unread() const {
    if (!memory_) return 0;
    const uint64_t left = std::max(consumed_, memory_->consumed.load(std::memory_order_acquire));
    const uint64_t written = lap_ + (rest_ ? rest_ : offset_);
    return written > left ? written - left : 0;
  }

  // The reader has read all there is, as far as is known: it looks at the line where the next
  // record begins.
  bool all_is_read() const { return consumed_ >= lap_ + (rest_ ? rest_ : offset_); }

  // Room for a record of at most a line, which commit_small() is to show: behind the last one, if
  // it was such a record, too, and there is room in its line.
  std::byte* reserve_small(size_t bytes) {
    if (rest_ && rest_ % kLine + bytes <= kLine) return memory_->records + rest_;
    return reserve(bytes);
  }
  void commit_small(std::byte* record, RecordWord word) {
    const auto at = static_cast<size_t>(record - memory_->records);
    const size_t end = at + whole_words(word.length);
    rest_ = 0;
    if (end % kLine != 0 && end % kLine + (end - at) <= kLine) {  // the next one is likely as long
      memory_->word(end).store(0, std::memory_order_relaxed);
      word.flags |= kMayFollow;
      rest_ = end;
    }
    if (at != offset_) return memory_->word(at).store(word.packed(), std::memory_order_release);
    alone_ = false;
    show(word, offset_ + kLine);
    make_ready(kLine);
  }

  // The same for a long one, behind which nothing is written any more: of a ring that the reader
  // may give to others when it has read the last record.
  void commit_last(RecordWord word) {
    const size_t length = whole_lines(word.length);
    alone_ = false;
    rest_ = 0;
    show(word, offset_ + length);
    fetch(length);
  }

  // Shows the record reserved last to the reader.
  void commit(RecordWord word) {
    const size_t length = whole_lines(word.length), behind = offset_ + length;
    // The only one on its way; if so was the last one, the reader answers each of them.
    const bool was_alone = std::exchange(alone_, all_is_read());
    if (alone_ && was_alone && behind >= kShortLap && offset_ >= length + kLine) {
      if (!start_is_clear_) clear_start();
      memory_->word(behind).store(kToTheStart, std::memory_order_relaxed);
      memory_->word(offset_).store(word.packed(), std::memory_order_release);
      turn(behind);
    } else {
      show(word, behind);
      if (alone_ && !start_is_clear_ && consumed_ > lap_) clear_start();
    }
    rest_ = 0;
    make_ready(length);
  }

 private:
  static constexpr size_t kAhead = 4 * kLine, kFetchedAhead = 12 * kLine;
  static constexpr size_t kShortLap = 8 * kLine;  // the shortest that is worth a marker

  // The record at offset_, which ends before the line at `behind`.
  void show(RecordWord word, size_t behind) {
    if (behind >= cleared_) clear_line(behind);
    memory_->word(offset_).store(word.packed(), std::memory_order_release);
    offset_ = behind;
  }

  // For the next record, which is likely as long as the last one. The next words are cleared ahead:
  // a store to a line that the reader holds takes as long as the message itself, and would hold up
  // the next one's. And their lines are fetched further ahead, or that store holds up all that the
  // core stores behind it, the program's own included.
  void make_ready(size_t length) {
    fetch(length);
    if (cleared_ < offset_ + kAhead && offset_ + kAhead + kLine <= known_) clear_line(cleared_);
    if (offset_ + kFetchedAhead + kLine <= known_)
      cpu::prefetch_for_writing(memory_->records + offset_ + kFetchedAhead);
  }

  void note(uint64_t position) {
    consumed_ = position;
    known_ = position >= lap_ ? capacity_ : std::min<size_t>(capacity_, position - lap_before_);
  }

  // Looks what the reader has left, and goes back to the start where the rest is too short.
  [[gnu::noinline]] bool find_room(size_t need) {
    reader_is_at(memory_->consumed.load(std::memory_order_acquire));
    if (offset_ + need <= known_) return true;
    // The reader must be in this lap, and far enough from its start.
    if (offset_ + need <= capacity_ || consumed_ < lap_ + need) return false;
    clear_start();
    memory_->word(offset_).store(kToTheStart, std::memory_order_release);
    turn(offset_);
    return true;
  }

  // The lap ends at `end`, where the marker is, which is one line more for the reader to leave.
  void turn(size_t end) {
    lap_before_ = lap_;
    lap_ += end + kLine;
    offset_ = 0;
    rest_ = 0;
    cleared_ = kLine;
    start_is_clear_ = false;
    note(consumed_);
  }

  // The reader still holds the lines from the last lap. They come over all at once, not one by one
  // as the record is written; and those of the next record, which is likely as long as this one,
  // while the program does something else, with the line behind it, which is cleared.
  // The first line is left where it is: the reader looks at it all the time.
  void fetch(size_t length) const {
    if (length <= kLine || offset_ + length + kLine > capacity_) return;
    const std::byte* next = memory_->records + offset_;
    if (length > cpu::kLongestFetch) {
      cpu::prefetch_for_writing(next + length);
      length = cpu::kLongestFetch;
    }
    for (size_t at = kLine; at <= length; at += kLine) cpu::prefetch_for_writing(next + at);
  }

  void clear_start() {
    memory_->word(0).store(0, std::memory_order_relaxed);
    start_is_clear_ = true;
  }
  void clear_line(size_t offset) {
    memory_->word(offset).store(0, std::memory_order_relaxed);
    cleared_ = offset + kLine;
  }

  Memory* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t offset_ = 0;            // of the next record; a line is left behind it, always
  size_t rest_ = 0;              // of the next one if it is small: in the last one's line; 0: none
  size_t cleared_ = kLine;       // no line from offset_ to here shows a record
  size_t known_ = 0;             // the reader has left everything before it
  uint64_t lap_ = 0;             // bytes before this one, since the beginning
  uint64_t lap_before_ = 0;      // bytes before the last one
  uint64_t consumed_ = 0;        // as last seen: never in a lap before the last one
  bool alone_ = true;            // the record before: everything in front of it had been read
  bool start_is_clear_ = false;  // the reader is past this lap's first record, its word is zero
};

template <class Memory>
class ReaderOfRing {
 public:
  ReaderOfRing() = default;
  ReaderOfRing(Memory& memory, size_t size)
      : memory_(&memory), capacity_(Memory::capacity(size)), tell_at_(capacity_ / 4) {}

  bool exists() const { return memory_ != nullptr; }
  Joint& joint() const { return memory_->joint; }

  // The next record's first word; zero: there is none yet; kToTheStart: go_to_start() is due.
  uint64_t ready() {
    // In this order: what lies in the next line came after all that lies in this one.
    const uint64_t next = memory_->word(offset_).load(std::memory_order_acquire);
    at_ = offset_;
    if (rest_ == 0) return next;
    const uint64_t behind = memory_->word(rest_).load(std::memory_order_acquire);
    if (behind == 0) return next;
    at_ = rest_;
    return behind;
  }
  // Steps behind the marker. The writer has been told of room, it may be waiting for it.
  void go_to_start() {
    lap_ += offset_ + kLine;
    offset_ = rest_ = 0;
    tell();
  }
  // The record of which ready() has told.
  const std::byte* record() const { return memory_->records + at_; }
  // The first word of the record behind one of this length that is not small; zero: there is none
  // yet.
  uint64_t ready_behind(uint32_t length) const {
    const uint64_t word = memory_->word(offset_ + whole_lines(length)).load(std::memory_order_acquire);
    return word == kToTheStart ? memory_->word(0).load(std::memory_order_acquire) : word;
  }
  // While the record is handled, the one behind it may come nearer.
  void prefetch_behind(uint32_t length) const {
    cpu::prefetch(memory_->records + offset_ + (at_ == offset_ ? whole_lines(length) : 0));
  }

  // Steps behind the record. True: the writer has been told of room, it may be waiting for it.
  bool consume(RecordWord word) {
    rest_ = word.flags & kMayFollow ? at_ + whole_words(word.length) : 0;
    if (at_ == offset_) offset_ += whole_lines(word.length);
    if (offset_ < tell_at_) [[likely]]
      return false;
    tell();
    return true;
  }

  // What has been left, in bytes since the beginning; for RingWriter::reader_is_at().
  uint64_t position() const { return lap_ + (rest_ ? rest_ : offset_); }

 private:
  void tell() {
    tell_at_ = offset_ + capacity_ / 4;
    memory_->consumed.store(position(), std::memory_order_release);
  }

  Memory* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t offset_ = 0;   // of the next record that begins a line
  size_t rest_ = 0;     // where the next one may lie as well; 0: nowhere
  size_t at_ = 0;       // one of the two, as ready() has found
  size_t tell_at_ = 0;  // the writer is told again when so much of this lap has been read
  uint64_t lap_ = 0;    // bytes before this one
};

using RingWriter = WriterOfRing<RingMemory>;
using RingReader = ReaderOfRing<RingMemory>;

}  // namespace tutti::transport
