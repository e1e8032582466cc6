// SPDX-License-Identifier: BSD-3-Clause
// Whether two files are one, and whether somebody has one open.
#include "io/identity.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "io/open_mark.hpp"

namespace tutti::io {
namespace {

constexpr uint32_t kExt = 0xef53, kNfs = 0x6969, kLustre = 0x0bd00bd0;

TEST(Differ, OnOneMachineByDeviceAndNumber) {
  const Identity a{7, 1, 100, kExt, System::local};
  for (const bool written : {false, true}) {
    EXPECT_EQ(differ(a, a, written), Differ::no);
    EXPECT_EQ(differ(a, {7, 1, 101, kExt, System::local}, written), Differ::certain);
    EXPECT_EQ(differ(a, {7, 2, 100, kExt, System::local}, written), Differ::certain);
  }
}

TEST(Differ, OverlaysAreCertainOnceTheyAreWritten) {
  const Identity a{7, 1, 100, 0, System::overlay}, b{7, 2, 100, 0, System::overlay};
  EXPECT_EQ(differ(a, b, false), Differ::no);
  EXPECT_EQ(differ(a, b, true), Differ::certain);
  EXPECT_EQ(differ(a, {7, 1, 100, kExt, System::local}, false), Differ::no);
}

TEST(Differ, MemoryIsNoDisk) {
  const Identity a{7, 1, 100, kExt, System::local}, b{7, 1, 100, 0x01021994, System::memory};
  EXPECT_EQ(differ(b, b, true), Differ::no);
  EXPECT_EQ(differ(a, {7, 2, 100, 0x01021994, System::memory}, false), Differ::certain);
  EXPECT_EQ(differ(b, {8, 1, 100, 0x01021994, System::memory}, true), Differ::by_machine);
}

TEST(Differ, EachMachineHasItsOwnDiskAndMayHaveCopies) {
  const Identity a{7, 1, 100, kExt, System::local}, b{8, 1, 100, kExt, System::local};
  EXPECT_EQ(differ(a, b, false), Differ::no);
  EXPECT_EQ(differ(a, b, true), Differ::by_machine);
}

TEST(Differ, NetworkFilesByNumberAlone) {
  const Identity a{7, 1, 100, kNfs, System::network};
  for (const uint64_t machine : {uint64_t{7}, uint64_t{8}}) {
    EXPECT_EQ(differ(a, {machine, 2, 100, kNfs, System::network}, true), Differ::no);
    EXPECT_EQ(differ(a, {machine, 1, 101, kNfs, System::network}, false), Differ::no);
    EXPECT_EQ(differ(a, {machine, 1, 101, kNfs, System::network}, true),
              machine == 7 ? Differ::certain : Differ::by_machine);
    EXPECT_EQ(differ(a, {machine, 1, 101, kLustre, System::network}, true), Differ::no);
    // The server of a file system has it on a disk.
    EXPECT_EQ(differ(a, {machine, 1, 101, kExt, System::local}, true), Differ::no);
  }
}

TEST(Differ, NothingIsSaidOfWhatIsNotKnown) {
  const Identity a{7, 1, 100, kExt, System::local};
  EXPECT_EQ(differ(a, {}, true), Differ::no);
  EXPECT_EQ(differ(a, {0, 2, 101, kExt, System::local}, true), Differ::no);
  EXPECT_EQ(differ({7, 1, 100, 1, System::unknown}, {7, 2, 101, 1, System::unknown}, true), Differ::no);
  const int device = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(identity_of(device).system, System::unknown);
  ::close(device);
}

// A file of a test, open for reading and writing, in memory: what a temporary folder is on may be unknown.
class Marked : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = ::mkstemp(path_.data());
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(identity_of(fd_).system, System::memory);
  }
  void TearDown() override {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  std::string path_ = "/dev/shm/open-mark-XXXXXX";
  int fd_ = -1;
};

TEST_F(Marked, TellsWhoHasItOpen) {
  EXPECT_FALSE(find_opener(path_));
  OpenMark first, second;
  first.set(fd_, 3);
  second.set(fd_, 3);
  for (int i = 0; i < 50; ++i) {  // also if many have asked
    const std::optional<Opener> found = find_opener(path_);
    ASSERT_TRUE(found) << i;
    EXPECT_EQ(found->process, ::getpid());
    EXPECT_EQ(found->rank, 3);
  }
  first.remove();
  EXPECT_TRUE(find_opener(path_));
  second.remove();
  EXPECT_FALSE(find_opener(path_));
}

TEST_F(Marked, IsFoundByAnyNameButALink) {
  const std::string hard = path_ + ".hard", symbolic = path_ + ".symbolic";
  ASSERT_EQ(::link(path_.c_str(), hard.c_str()), 0);
  ASSERT_EQ(::symlink(path_.c_str(), symbolic.c_str()), 0);
  OpenMark mark;
  mark.set(fd_, 0);
  EXPECT_TRUE(find_opener(hard));
  EXPECT_FALSE(find_opener(symbolic));
  EXPECT_FALSE(find_opener(path_ + ".none"));
  ::unlink(hard.c_str());
  ::unlink(symbolic.c_str());
}

TEST_F(Marked, GoesAlthoughAChildHasInheritedIt) {
  OpenMark mark;
  mark.set(fd_, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_TRUE(find_opener(path_));
  mark.remove();
  EXPECT_FALSE(find_opener(path_));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(Marked, GoesWithAProcessThatIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    OpenMark mark;
    mark.set(fd_, 1);
    char byte = 0;
    if (::write(ready[1], &byte, 1) == 1) ::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::optional<Opener> found = find_opener(path_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->process, child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(find_opener(path_));
  ::close(ready[0]);
  ::close(ready[1]);
}

// Locks are the program's: a mark is in nobody's way, and a lock is no mark.
TEST_F(Marked, HasNothingToDoWithLocks) {
  struct flock all{};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  OpenMark mark;
  mark.set(fd_, 0);
  const int other = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(::fcntl(other, F_OFD_SETLK, &all), 0);
  mark.remove();
  EXPECT_FALSE(find_opener(path_));
  ::close(other);
}

}  // namespace
}  // namespace tutti::io
