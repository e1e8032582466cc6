// SPDX-License-Identifier: BSD-3-Clause
// The ring by itself, and the copies into it.
#include "transport/shm/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "memory/shared_copy.hpp"
#include "transport/shm/copy_choice.hpp"

namespace tutti::transport {
namespace {

// ---- the ring

struct Ring {
  explicit Ring(size_t size) : size(size), memory(std::aligned_alloc(4096, size)) { std::memset(memory, 0, size); }
  ~Ring() { std::free(memory); }
  RingMemory& operator*() const { return *static_cast<RingMemory*>(memory); }
  const size_t size;
  void* const memory;
};

// The next record's first word; waits for it.
RecordWord next(RingReader& reader) {
  for (;; std::this_thread::yield()) {
    uint64_t packed = reader.ready();
    if (packed == kToTheStart) {
      reader.go_to_start();
      packed = reader.ready();
    }
    if (packed) return RecordWord::of(packed);
  }
}

// ThreadSanitizer tells of two accesses that nothing orders, even where they came in the right order: it needs few tries.
#ifdef __SANITIZE_THREAD__
constexpr uint32_t kRecords = 2000, kSmallRecords = 100'000;
#else
constexpr uint32_t kRecords = 6000, kSmallRecords = 1'000'000;
#endif

enum class Hears { nothing, at_times, always };

// Passes records of random lengths, so many per cent of them short, and looks at every byte. Of
// those of at most half a line some share lines. What the writer hears of the reader past the ring,
// as by the messages back, may be old.
void carry(size_t size, int share_of_short, Hears hears) {
  const Ring ring(size);
  RingWriter writer(*ring, size);
  RingReader reader(*ring, size);
  std::atomic<uint64_t> position{0};
  std::atomic<int> read{0};
  const auto length_of = [&, longest = writer.longest_record()](std::minstd_rand& random) {
    const bool is_short = static_cast<int>(random() % 100) < share_of_short;
    return 8 + random() % (is_short ? 100 : longest - 7);
  };
  std::thread other([&, random = std::minstd_rand(1), chance = std::minstd_rand(2)]() mutable {
    uint64_t heard = 0;
    for (uint32_t i = 0; i < kRecords; ++i) {
      const size_t length = length_of(random);
      if (hears != Hears::nothing && chance() % 8) writer.reader_is_at(heard);
      if (hears == Hears::always || (hears == Hears::at_times && chance() % 3 == 0)) {
        while (chance() % 4 && static_cast<uint32_t>(read.load()) < i) std::this_thread::yield();
        heard = position.load();
      }
      const bool shares = length <= kLine / 2 && chance() % 4;
      std::byte* record;
      while (!(record = shares ? writer.reserve_small(length) : writer.reserve(length))) std::this_thread::yield();
      std::memset(record + 8, 1 + i % 255, length - 8);
      const RecordWord word{.length = static_cast<uint32_t>(length), .type = 7, .value = static_cast<uint16_t>(i)};
      shares ? writer.commit_small(record, word) : writer.commit(word);
    }
  });
  std::minstd_rand random(1);
  for (uint32_t i = 0; i < kRecords; ++i) {
    const RecordWord word = next(reader);
    const size_t length = length_of(random);
    ASSERT_EQ(word.length, length) << "record " << i;
    ASSERT_EQ(word.type, 7);
    ASSERT_EQ(word.value, static_cast<uint16_t>(i));
    const std::byte* data = reader.record() + 8;
    ASSERT_TRUE(std::all_of(data, data + length - 8, [&](std::byte b) { return b == std::byte(1 + i % 255); }));
    reader.consume(word);
    position.store(reader.position());
    read.store(i + 1);
  }
  other.join();
}

// Every length, also where it does not fit before the end, and never a word of an earlier lap.
TEST(RingTest, CarriesRecordsOfAnyLengthInOrder) {
  for (const size_t size : {size_t{4096}, size_t{65536}})
    for (const int share_of_short : {0, 50, 95, 100})
      for (const Hears hears : {Hears::nothing, Hears::at_times, Hears::always}) {
        SCOPED_TRACE(testing::Message() << "ring of " << size << ", " << share_of_short << " % short, the writer hears "
                                        << static_cast<int>(hears));
        carry(size, share_of_short, hears);
        if (HasFatalFailure()) return;
      }
}

// Small records that nobody has read yet lie side by side, and the reader finds the next one
// wherever it is.
TEST(RingTest, SmallRecordsShareLines) {
  constexpr size_t kSize = 4096;
  const Ring ring(kSize);
  RingWriter writer(*ring, kSize);
  RingReader reader(*ring, kSize);
  const auto put = [&](size_t length) {
    std::byte* const record = writer.reserve_small(length);
    writer.commit_small(record, {.length = static_cast<uint32_t>(length), .type = 1});
    return record - (*ring).records;
  };
  const auto take = [&](size_t length, ptrdiff_t at) {
    const RecordWord word = RecordWord::of(reader.ready());
    EXPECT_EQ(word.length, length);
    EXPECT_EQ(reader.record() - (*ring).records, at);
    reader.consume(word);
  };
  EXPECT_EQ(put(16), 0);
  EXPECT_EQ(put(16), 16);
  EXPECT_FALSE(writer.all_is_read());
  take(16, 0);
  take(16, 16);
  EXPECT_EQ(reader.ready(), 0u);
  EXPECT_EQ(reader.position(), 32u);
  writer.reader_is_at(reader.position());
  EXPECT_TRUE(writer.all_is_read());
  EXPECT_EQ(put(13), 32);  // while the reader looks there
  EXPECT_EQ(put(20), 64);  // it does not fit
  EXPECT_EQ(put(24), 88);
  take(13, 32);
  take(20, 64);
  take(24, 88);
  ASSERT_NE(writer.reserve(200), nullptr);
  writer.commit({.length = 200, .type = 2});
  EXPECT_EQ(RecordWord::of(reader.ready()).length, 200u);
  EXPECT_EQ(reader.record() - (*ring).records, 128);
}

// The reader looks at two places while the writer goes on: were they looked at in the other order,
// it would take what lies in the next line for what comes next, where both have come between the
// looks. So two come at once, one to each place, when the reader has read all and looks.
TEST(RingTest, SmallRecordsStayInOrderWhileTheReaderLooks) {
  constexpr size_t kSize = 65536;
  const Ring ring(kSize);
  RingWriter writer(*ring, kSize);
  RingReader reader(*ring, kSize);
  std::atomic<uint32_t> read{0};
  std::thread other([&] {
    for (uint32_t i = 0; i < kSmallRecords; ++i) {
      if (i % 2) {  // the first of a line is there, its second and the next line's first are not
        for (int look = 1; read.load(std::memory_order_relaxed) < i; ++look)
          if (look % 1000 == 0) std::this_thread::yield();
      }
      std::byte* record;
      while (!(record = writer.reserve_small(24))) std::this_thread::yield();
      std::memcpy(record + 8, &i, sizeof i);
      writer.commit_small(record, {.length = 24, .type = 1});
    }
  });
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kSmallRecords; ++i) {
    uint64_t packed;
    for (int look = 1; (packed = reader.ready()) == 0; ++look)
      if (look % 1000 == 0) std::this_thread::yield();
    if (packed == kToTheStart) {
      reader.go_to_start();
      packed = RecordWord(next(reader)).packed();
    }
    uint32_t found;
    std::memcpy(&found, reader.record() + 8, sizeof found);
    wrong += found != i;
    if (wrong == 1 && found != i) ADD_FAILURE() << "record " << found << " instead of " << i;
    reader.consume(RecordWord::of(packed));
    read.store(i + 1, std::memory_order_relaxed);
    if (wrong > 100) break;  // what was passed by never comes
  }
  if (wrong) std::quick_exit(1);  // the other may wait for ever
  other.join();
}

// A line is the reader's as long as a record may still come there.
TEST(RingTest, NoLineIsWrittenAnewBeforeAllItsRecordsAreRead) {
  constexpr size_t kSize = 4096;
  const Ring ring(kSize);
  RingWriter writer(*ring, kSize);
  RingReader reader(*ring, kSize);
  int written = 0, read = 0;
  for (int round = 0; round < 1000; ++round) {
    for (std::byte* record; (record = writer.reserve_small(16)); ++written) {
      std::memset(record + 8, written % 251, 8);
      writer.commit_small(record, {.length = 16, .type = 1});
    }
    ASSERT_GT(written, read);
    for (int n = 1 + round % 7; n > 0 && read < written; --n, ++read) {
      const RecordWord word = next(reader);
      ASSERT_EQ(word.length, 16u);
      for (int i = 8; i < 16; ++i) ASSERT_EQ(reader.record()[i], std::byte(read % 251)) << read;
      reader.consume(word);
      writer.reader_is_at(reader.position());
    }
  }
}

// One record at a time, of which the writer hears that it has been read: the same lines again.
TEST(RingTest, StaysNearItsStartWhereTheReaderKeepsUp) {
  constexpr size_t kSize = 65536;
  for (const size_t length : {size_t{40}, size_t{300}, size_t{1056}}) {
    const Ring ring(kSize);
    RingWriter writer(*ring, kSize);
    RingReader reader(*ring, kSize);
    for (int i = 0; i < 1000; ++i) {
      std::byte* const record = writer.reserve(length);
      ASSERT_NE(record, nullptr);
      EXPECT_LT(record + length, (*ring).records + 3 * whole_lines(length) + 8 * kLine);
      writer.commit({.length = static_cast<uint32_t>(length), .type = 1});
      const RecordWord word = next(reader);
      ASSERT_EQ(word.length, length);
      ASSERT_EQ(reader.record(), record);
      reader.consume(word);
      writer.reader_is_at(reader.position());
    }
  }
}

// What is told by the ring's own memory is enough: a writer never waits for a reader who has read
// everything, whatever lap it is in.
// What has been written, less what the reader has said by either way.
TEST(RingTest, KnowsWhatHasNotBeenRead) {
  constexpr size_t kSize = 16 << 10, kLength = 100, kTaken = 2 * kLine;
  const Ring ring(kSize);
  EXPECT_EQ(RingWriter().unread(), 0U);
  RingWriter writer(*ring, kSize);
  RingReader reader(*ring, kSize);
  size_t written = 0, read = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(writer.reserve(kLength));
    const RecordWord word{.length = kLength, .type = 7, .value = static_cast<uint16_t>(i)};
    writer.commit(word);
    ++written;
    if (i % 5 < 4) {
      ASSERT_EQ(next(reader).value, static_cast<uint16_t>(read++));
      reader.consume(word);
    }
    if (i % 50 == 49) {
      while (read < written) {
        ASSERT_EQ(next(reader).value, static_cast<uint16_t>(read++));
        reader.consume(word);
      }
      writer.reader_is_at(reader.position());
      EXPECT_EQ(writer.unread(), 0U) << i;
    } else {
      EXPECT_GE(writer.unread(), (written - read) * kTaken) << i;
      EXPECT_LE(writer.unread(), kSize) << i;
    }
  }
}

TEST(RingTest, HasRoomForTheLongestWhereEverythingHasBeenRead) {
  for (const size_t size : {size_t{4096}, size_t{65536}}) {
    const Ring ring(size);
    RingWriter writer(*ring, size);
    RingReader reader(*ring, size);
    std::minstd_rand random(5);
    for (int i = 0; i < 20000; ++i) {
      const bool is_longest = random() % 16 == 0;
      const size_t length = is_longest ? writer.longest_record() : 8 + random() % 200;
      std::byte* const record = writer.reserve(length);
      ASSERT_NE(record, nullptr) << "record " << i << " of " << length << " bytes";
      writer.commit({.length = static_cast<uint32_t>(length), .type = 1});
      const RecordWord word = next(reader);
      ASSERT_EQ(word.length, length);
      reader.consume(word);
      if (reader.ready() == kToTheStart) reader.go_to_start();
      if (random() % 4 == 0) writer.reader_is_at(reader.position());
    }
  }
}

// A borrowed ring goes to the next pair when its last record has been read, while the writer of
// that may still be in commit_last(). (ThreadSanitizer tells if it is not so.)
TEST(RingTest, NothingIsWrittenBehindTheLastRecord) {
  constexpr size_t kSize = 16 << 10;
  constexpr int kTurns = 2000, kMost = 7;
  const Ring ring(kSize);
  std::atomic<int> turn{-1};
  std::atomic<bool> lost{false};
  const auto length_of = [](int number, int i) { return 64 + static_cast<size_t>(number * 7 + i * 13) % 40 * 90; };
  std::thread writers[2];
  for (int me = 0; me < 2; ++me)
    writers[me] = std::thread([&, me] {
      for (int mine = me; mine < kTurns; mine += 2) {
        while (turn.load(std::memory_order_acquire) < mine && !lost) std::this_thread::yield();
        RingWriter writer(*ring, kSize);
        for (int i = 0; i < 1 + mine % kMost; ++i) {
          const size_t length = length_of(mine, i);
          std::byte* record = nullptr;
          while (!lost && !(record = writer.reserve(length))) std::this_thread::yield();
          if (!record) return;
          std::memset(record + 8, 1 + (mine + i) % 255, length - 8);
          writer.commit_last({.length = static_cast<uint32_t>(length), .type = 1});
        }
      }
    });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  for (int number = 0; number < kTurns && !lost; ++number) {
    (*ring).clear();
    RingReader reader(*ring, kSize);
    turn.store(number, std::memory_order_release);
    for (int i = 0; i < 1 + number % kMost && !lost; ++i) {
      uint64_t packed = 0;
      for (; !lost && (packed == 0 || packed == kToTheStart); packed = reader.ready()) {
        if (packed == kToTheStart) reader.go_to_start();
        std::this_thread::yield();
        lost = std::chrono::steady_clock::now() > deadline;
      }
      const RecordWord word = RecordWord::of(packed);
      lost = lost || word.length != length_of(number, i);
      for (size_t at = 8; at < word.length && !lost; ++at)
        lost = reader.record()[at] != static_cast<std::byte>(1 + (number + i) % 255);
      reader.consume(word);
      EXPECT_FALSE(lost) << "record " << i << " of turn " << number;
    }
  }
  for (std::thread& writer : writers) writer.join();
}

// ---- the sooner way

// Of so many messages, how many went through the ring where one takes `ring` ticks that way and `reading` when it is
// read. Times vary by up to `noise` of a hundred to both sides.
int through_the_ring(CopyChoice& choice, int messages, int64_t reading, int64_t ring, int noise = 0) {
  static std::minstd_rand random(11);
  constexpr int64_t kBytes = 1000;
  int through_ring = 0;
  for (int i = 0; i < messages; ++i) {
    const CopyChoice::Way way = choice.way();
    const int64_t percent = 100 + (noise ? static_cast<int64_t>(random() % (2U * noise + 1)) - noise : 0);
    choice.learn(way, (way == CopyChoice::ring ? ring : reading) * percent, kBytes);
    through_ring += way == CopyChoice::ring;
  }
  return through_ring;
}
constexpr int kBothRuns = 2 * CopyChoice::kRun, kLongPause = CopyChoice::kLongestPause;
constexpr CopyChoice::Way kWays[] = {CopyChoice::reading, CopyChoice::ring};

// The first few go by the one and the other way, and from then on all but a few the one that costs less.
TEST(CopyChoiceTest, IsMadeAfterAFewMessages) {
  for (const CopyChoice::Way usual : kWays)
    for (const bool ring_is_better : {false, true}) {
      const int64_t reading = ring_is_better ? 450 : 100, ring = ring_is_better ? 100 : 450;
      CopyChoice choice(usual);
      EXPECT_TRUE(choice.is_new());
      EXPECT_EQ(choice.way(), usual);
      EXPECT_EQ(through_the_ring(choice, kBothRuns, reading, ring), CopyChoice::kRun);
      EXPECT_FALSE(choice.is_new());
      EXPECT_EQ(choice.way(), ring_is_better ? CopyChoice::ring : CopyChoice::reading);
      const int right = through_the_ring(choice, 10'000, reading, ring);
      EXPECT_GE(ring_is_better ? right : 10'000 - right, 9'900) << "what is slow is seldom tried";
    }
}

// What a message takes changes: where the program sends fresh data from now on, or cores have been moved apart.
TEST(CopyChoiceTest, FollowsWhatMessagesTake) {
  for (const CopyChoice::Way usual : kWays) {
    CopyChoice choice(usual);
    through_the_ring(choice, 3000, 100, 250);
    EXPECT_GT(through_the_ring(choice, 3000, 450, 250), 3000 - 3 * kLongPause) << "until it is tried the next time";
    EXPECT_LT(through_the_ring(choice, 3000, 100, 250), 3 * kLongPause);
    // What was the better way is slow all of a sudden.
    through_the_ring(choice, 3000, 1000, 250);
    EXPECT_LT(through_the_ring(choice, 100, 1000, 5000), 3 * CopyChoice::kRun) << "it is not waited for the next try";
    // A core that is away for a while says nothing of the way.
    choice.learn(CopyChoice::reading, 100'000'000, 1000);
    EXPECT_EQ(choice.way(), CopyChoice::reading);
  }
}

// A gain of some percent is none, and what wavers by so much does not make it waver.
TEST(CopyChoiceTest, IsLeftAloneWhereBothWaysTakeAboutTheSame) {
  for (const CopyChoice::Way usual : kWays)
    for (const int64_t ring : {97, 100, 103}) {
      CopyChoice choice(usual);
      const int through = through_the_ring(choice, 100'000, 100, ring, 3);
      EXPECT_LT(usual == CopyChoice::ring ? 100'000 - through : through, 2500) << ring;
    }
}

// Messages that went the way that was not asked for teach as well, but do not count as tries.
TEST(CopyChoiceTest, HearsOfOtherMessagesToo) {
  CopyChoice choice(CopyChoice::reading);
  for (int i = 0; i < 100; ++i) choice.learn(CopyChoice::ring, 100, 1000);
  EXPECT_TRUE(choice.is_new());
  EXPECT_EQ(choice.way(), CopyChoice::reading);
  EXPECT_EQ(through_the_ring(choice, kBothRuns, 450, 100), CopyChoice::kRun);
  EXPECT_EQ(choice.way(), CopyChoice::ring);
}

// ---- copies that pass by the caches

// Whatever way each of them takes: any length to and from any address, and nothing around it.
TEST(SharedCopyTest, CopiesWhatItIsToldTo) {
  constexpr size_t kRoom = 40 << 10;
  std::minstd_rand random(3);
  std::vector<std::byte> from(kRoom), to(kRoom);
  for (auto& b : from) b = std::byte(random());
  memory::SharedCopy copy;
  for (int i = 0; i < 3000; ++i) {
    const size_t bytes = i % 2 ? random() % 200 : memory::SharedCopy::kLeast + random() % (32 << 10);
    const size_t source = random() % 130, target = 64 + random() % 130;
    std::fill(to.begin(), to.end(), std::byte{0x5a});
    copy(to.data() + target, from.data() + source, bytes);
    ASSERT_EQ(std::memcmp(to.data() + target, from.data() + source, bytes), 0) << bytes;
    const auto untouched = [](std::byte b) { return b == std::byte{0x5a}; };
    ASSERT_TRUE(std::all_of(to.begin(), to.begin() + static_cast<ptrdiff_t>(target), untouched));
    ASSERT_TRUE(std::all_of(to.begin() + static_cast<ptrdiff_t>(target + bytes), to.end(), untouched));
  }
}

}  // namespace
}  // namespace tutti::transport
