// SPDX-License-Identifier: BSD-3-Clause
// Accesses to a file in memory that is short, interrupted, full or broken.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cerrno>
#include <cstring>

#include "io/file_bytes.hpp"
#include "io/testing/faulty.hpp"

namespace tutti::io {
namespace {

struct Opened {
  explicit Opened(Faulty::Faults faults) {
    auto made = std::make_unique<Faulty>(faults);
    storage = made.get();
    file = std::make_unique<FileBytes>("a file", std::move(made));
  }
  Faulty* storage;
  std::unique_ptr<FileBytes> file;
};

std::vector<std::byte> pattern(size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(1 + (i * 7 + seed + i / 251) % 255);
  return bytes;
}

Payload dense(std::vector<std::byte>& memory) {
  return {memory.data(), static_cast<int64_t>(memory.size()), &Layout::bytes()};
}

TEST(FileAccess, ShortAndInterruptedCallsGoOn) {
  for (unsigned seed = 1; seed < 40; ++seed) {
    Opened opened({.seed = seed, .most_at_once = 13, .interrupted_of = 3});
    const View view{3, Layout::resized(Layout::dense(5), 0, 5 + static_cast<int64_t>(seed % 9))};
    std::vector<std::byte> out = pattern(2000, seed), in(2500);
    const Transferred written = opened.file->write({view, 7, dense(out), 2000});
    ASSERT_FALSE(written.error) << written.error.message();
    ASSERT_EQ(written.bytes, 2000);
    const Transferred read = opened.file->read({view, 7, dense(in), 2500});
    ASSERT_FALSE(read.error) << read.error.message();
    ASSERT_EQ(read.bytes, 2000);  // the file ends there
    ASSERT_EQ(std::memcmp(in.data(), out.data(), 2000), 0);
    ASSERT_EQ(in[2000], std::byte{0});
  }
}

TEST(FileAccess, MemoryWithGapsIsLeftAloneBetweenThem) {
  Opened opened({});
  const LayoutRef every_third = Layout::resized(Layout::dense(1), 0, 3);
  const View view{0, Layout::resized(Layout::dense(4), 0, 6)};
  const int64_t count = 3 << 20;  // several staging buffers
  std::vector<std::byte> out = pattern(static_cast<size_t>(3 * count), 5), in(out.size(), std::byte{0xee});
  ASSERT_EQ(opened.file->write({view, 2, {out.data(), count, every_third.get()}, count}).bytes, count);
  ASSERT_EQ(opened.file->read({view, 2, {in.data(), count, every_third.get()}, count}).bytes, count);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(in[i], i % 3 ? std::byte{0xee} : out[i]) << i;
}

// Large pieces of memory go to the storage as they are, so many in a call; what it moves of them
// may end in any one, and small ones or a file in small pieces are copied together as before.
TEST(FileAccess, LargePiecesOfMemoryAreGatheredAndScattered) {
  constexpr int64_t piece = 5000, apart = 6200, count = 1500, bytes = piece * count;
  const LayoutRef gaps = Layout::resized(Layout::dense(piece), 0, apart);
  const View plain{5}, large{5, Layout::resized(Layout::dense(20'000), 0, 24'000)};
  for (const View* view : {&plain, &large})
    for (const int64_t most : {int64_t{4000}, int64_t{300'000}, INT64_MAX}) {
      Opened opened({.seed = 3, .most_at_once = most, .interrupted_of = most == INT64_MAX ? 0 : 4});
      std::vector<std::byte> out = pattern(static_cast<size_t>(apart * count), 4), in(out.size(), std::byte{0xee});
      const Transferred written = opened.file->write({*view, 700, {out.data(), count, gaps.get()}, bytes});
      ASSERT_FALSE(written.error) << written.error.message();
      ASSERT_EQ(written.bytes, bytes);
      const int64_t runs = view == &plain ? 2 : 376;  // 1024 pieces at most in a call
      if (most == INT64_MAX) {
        EXPECT_EQ(opened.storage->writes, runs);
      }
      // The file ends before what is asked for.
      const Transferred read = opened.file->read({*view, 700 + piece / 2, {in.data(), count, gaps.get()}, bytes});
      ASSERT_FALSE(read.error) << read.error.message();
      ASSERT_EQ(read.bytes, bytes - piece / 2);
      for (int64_t i = 0; i < apart * count; ++i) {
        const int64_t packed = i / apart * piece + i % apart;
        const bool there = i % apart < piece && packed < bytes - piece / 2;
        const int64_t from = packed + piece / 2, at = from / piece * apart + from % piece;
        ASSERT_EQ(in[static_cast<size_t>(i)], there ? out[static_cast<size_t>(at)] : std::byte{0xee}) << i;
      }
      for (int64_t i = 0; i < bytes; ++i)
        ASSERT_EQ(opened.storage->data[static_cast<size_t>(view->offset_of(700 + i))],
                  out[static_cast<size_t>(i / piece * apart + i % piece)])
            << i;
    }
  // Pieces of 2 KiB are scattered, but not gathered.
  Opened small({});
  const LayoutRef narrow = Layout::resized(Layout::dense(2048), 0, apart);
  std::vector<std::byte> memory = pattern(static_cast<size_t>(apart * count), 6);
  const Access access{plain, 0, {memory.data(), count, narrow.get()}, 2048 * count};
  EXPECT_EQ(small.file->write(access).bytes, 2048 * count);
  EXPECT_EQ(small.storage->writes, 3);  // a MiB each
  EXPECT_EQ(small.file->read(access).bytes, 2048 * count);
  EXPECT_EQ(small.storage->reads, 2);
  Opened full({.room = 100'000});
  std::vector<std::byte> out = pattern(static_cast<size_t>(apart * count), 4);
  const Transferred written = full.file->write({plain, 0, {out.data(), count, gaps.get()}, bytes});
  EXPECT_EQ(written.bytes, 99'995);
  EXPECT_EQ(written.error.message(), "a file: writing 7400005 bytes at offset 100000: No space left on device");
  Opened broken({.fails_at = 2, .error = EIO});
  EXPECT_EQ(broken.file->write({plain, 0, {out.data(), count, gaps.get()}, bytes}).bytes, 1024 * piece);
  const Transferred failed = broken.file->read({plain, 0, {out.data(), count, gaps.get()}, bytes});
  EXPECT_EQ(failed.bytes, 1024 * piece);  // all there is
}

// Only a read may touch what lies between pieces.
TEST(FileAccess, HolesAreNeitherWrittenNorReadOneByOne) {
  Opened opened({});
  opened.storage->data.assign(100'000, std::byte{9});
  const View view{0, Layout::resized(Layout::dense(2), 0, 4)};
  std::vector<std::byte> out = pattern(20'000, 1), in(20'000);
  ASSERT_EQ(opened.file->write({view, 0, dense(out), 20'000}).bytes, 20'000);
  for (size_t i = 0; i < 40'000; ++i)
    ASSERT_EQ(opened.storage->data[i], i % 4 < 2 ? out[i / 4 * 2 + i % 4] : std::byte{9}) << i;
  ASSERT_EQ(opened.file->read({view, 0, dense(in), 20'000}).bytes, 20'000);
  ASSERT_EQ(in, out);
  EXPECT_LE(opened.storage->reads, 4);
  // Too far apart to be worth reading what is between.
  const View sparse{0, Layout::resized(Layout::dense(2), 0, 1000)};
  opened.storage->reads = 0;
  ASSERT_EQ(opened.file->read({sparse, 0, dense(in), 100}).bytes, 100);
  EXPECT_EQ(opened.storage->reads, 50);
}

TEST(FileAccess, AnErrorSaysWhatWhereAndWhy) {
  Opened full({.room = 1000});
  const View plain;
  std::vector<std::byte> out = pattern(4000, 2);
  const Transferred written = full.file->write({plain, 0, dense(out), 4000});
  EXPECT_EQ(written.bytes, 1000);
  EXPECT_EQ(written.error.mpi_class(), MPI_ERR_NO_SPACE);
  EXPECT_EQ(written.error.message(), "a file: writing 3000 bytes at offset 1000: No space left on device");
  EXPECT_EQ(full.file->reserve(5000).mpi_class(), MPI_ERR_NO_SPACE);

  Opened broken({.most_at_once = 10, .fails_at = 5, .error = EIO});
  const Transferred failed = broken.file->write({plain, 0, dense(out), 4000});
  EXPECT_EQ(failed.error.mpi_class(), MPI_ERR_IO);
  EXPECT_EQ(failed.bytes, static_cast<int64_t>(broken.storage->data.size()));

  Opened unreadable({.fails_at = 2, .error = EIO});
  unreadable.storage->data.assign(4000, std::byte{1});
  const View sparse{0, Layout::resized(Layout::dense(2), 0, 1000)};
  std::vector<std::byte> in(8);
  const Transferred read = unreadable.file->read({sparse, 0, dense(in), 8});
  EXPECT_EQ(read.bytes, 2);
  EXPECT_EQ(read.error.message(), "a file: reading 2 bytes at offset 1000: Input/output error");
}

TEST(FileAccess, ClosingTellsOfWritesThatWereLost) {
  Opened lost({.close_error = EDQUOT});
  const Error said = lost.file->close();
  EXPECT_EQ(said.mpi_class(), MPI_ERR_QUOTA);
  EXPECT_EQ(said.message(), "a file: closing it: Disk quota exceeded");
  EXPECT_EQ(lost.storage->closes, 1);
  Opened kept({});
  EXPECT_FALSE(kept.file->close());
}

TEST(FileAccess, ClassesOfTheSystemsReasons) {
  EXPECT_EQ(class_of(ENOENT), MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(class_of(EEXIST), MPI_ERR_FILE_EXISTS);
  EXPECT_EQ(class_of(EACCES), MPI_ERR_ACCESS);
  EXPECT_EQ(class_of(EROFS), MPI_ERR_READ_ONLY);
  EXPECT_EQ(class_of(EDQUOT), MPI_ERR_QUOTA);
  EXPECT_EQ(class_of(ETXTBSY), MPI_ERR_FILE_IN_USE);
  EXPECT_EQ(class_of(EISDIR), MPI_ERR_BAD_FILE);
  EXPECT_EQ(class_of(EIO), MPI_ERR_IO);
}

TEST(FileAccess, AtomicOnesLockAndUnlockAlsoIfTheyFail) {
  Opened opened({.fails_at = 1, .error = EIO});
  const View plain;
  std::vector<std::byte> out = pattern(100, 3);
  EXPECT_TRUE(opened.file->write({plain, 0, dense(out), 100, true}).error);
  EXPECT_FALSE(opened.file->write({plain, 0, dense(out), 100, true}).error);
  EXPECT_FALSE(opened.file->read({plain, 0, dense(out), 100, false}).error);
  EXPECT_EQ(opened.storage->locks, 2);
  EXPECT_EQ(opened.storage->unlocks, 2);
}

// Tiles that reach into each other: positions 0 to 7 lie at 0, 1, 12, 13, 8, 9, 20, 21.
TEST(FileAccess, AtomicOnesLockAllThatTheyMove) {
  Opened opened({});
  const View woven{0, Layout::resized(Layout::repeat(Layout::dense(2), 2, 12), 0, 8)};
  std::vector<std::byte> out = pattern(8, 3);
  const auto check = [&](int64_t position, int64_t bytes, int64_t at, int64_t length) {
    EXPECT_FALSE(opened.file->write({woven, position, dense(out), bytes, true}).error);
    EXPECT_EQ(opened.storage->locked_at, at) << position << ", " << bytes;
    EXPECT_EQ(opened.storage->locked_bytes, length) << position << ", " << bytes;
  };
  check(0, 2, 0, 2);
  check(0, 4, 0, 14);
  check(2, 4, 8, 6);
  check(2, 8, 8, 14);
  check(0, 6, 0, 14);
}

// As lfs_getstripe's counterpart in the kernel writes it: a magic number, a pattern, an object, a
// size and a count.
TEST(Stripes, OfLustre) {
  unsigned char attribute[56] = {0xd0, 0x0b, 0xd1, 0x0b};
  const uint32_t bytes = 4 << 20;
  const uint16_t count = 12;
  std::memcpy(attribute + 24, &bytes, 4);
  std::memcpy(attribute + 28, &count, 2);
  EXPECT_EQ(stripes_of_lustre(attribute, sizeof attribute).bytes, 4 << 20);
  EXPECT_EQ(stripes_of_lustre(attribute, sizeof attribute).count, 12);
  attribute[2] = 0xd3;
  EXPECT_EQ(stripes_of_lustre(attribute, sizeof attribute).count, 12);
  EXPECT_EQ(stripes_of_lustre(attribute, 29).count, 0);
  EXPECT_EQ(stripes_of_lustre(nullptr, 0).count, 0);
  attribute[0] = 0;
  EXPECT_EQ(stripes_of_lustre(attribute, sizeof attribute).bytes, 0);
}

// However a view is put together, and however far its tiles reach.
TEST(Fingerprints, TellViewsApart) {
  const auto tiles = [](int64_t data, int64_t extent, int64_t displacement = 0) {
    return View{displacement, Layout::resized(Layout::dense(data), 0, extent)}.fingerprint();
  };
  EXPECT_EQ(View{}.fingerprint(), tiles(1, 1));
  EXPECT_EQ(tiles(4, 4), tiles(8, 8));
  EXPECT_NE(tiles(4, 4), tiles(4, 8));
  EXPECT_NE(tiles(4, 8), tiles(4, 8, 4));
  EXPECT_NE(tiles(4, 8), tiles(8, 16));
  EXPECT_EQ(tiles(4, int64_t{1} << 61), tiles(4, int64_t{1} << 61));
  EXPECT_NE(tiles(0, 8), tiles(4, 8));
}

}  // namespace
}  // namespace tutti::io
