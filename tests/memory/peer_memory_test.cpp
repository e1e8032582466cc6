// SPDX-License-Identifier: BSD-3-Clause
// The kernel's copy between two processes: what it brings, and what becomes of it where it is refused, from the start or
// later.
#include "memory/peer_memory.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "refusing.hpp"

namespace tutti::memory {
namespace {

// A process with memory at the same addresses as this one's, which has been changed since.
class Other {
 public:
  static constexpr size_t kBytes = 100'000;
  Other() : mine_(kBytes, std::byte{1}) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      word_ = 77;
      for (size_t i = 0; i < kBytes; ++i) mine_[i] = theirs(i);
      const char go = 1;
      if (write(ready[1], &go, 1) == 1) pause();
      _exit(0);
    }
    char go;
    EXPECT_EQ(::read(ready[0], &go, 1), 1);
    close(ready[0]);
    close(ready[1]);
    known = {pid_, reinterpret_cast<uintptr_t>(&word_), 77};
  }
  ~Other() { end(); }
  void end() {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  static std::byte theirs(size_t i) { return static_cast<std::byte>(i * 7 + i / 253); }
  uint64_t address(size_t i) const { return reinterpret_cast<uintptr_t>(mine_.data() + i); }

  KnownWord known{};

 private:
  std::vector<std::byte> mine_;
  uint64_t word_ = 1;
  pid_t pid_ = 0;
};

#define TUTTI_SKIP_UNLESS_READABLE(memory) \
  if ((memory).reach() != Reach::kernel_copies) GTEST_SKIP() << "the kernel refuses it here"

TEST(PeerMemory, ReadsAndWrites) {
  const Other other;
  PeerMemory memory(other.known, true);
  TUTTI_SKIP_UNLESS_READABLE(memory);
  std::vector<std::byte> run(70'000);
  ASSERT_TRUE(memory.read(other.address(500), {run.data(), 70'000}, 0, 70'000));
  for (size_t i = 0; i < run.size(); ++i) ASSERT_EQ(run[i], Other::theirs(500 + i)) << i;
  // In two parts, into a layout with gaps.
  const LayoutRef gaps = Layout::resized(Layout::dense(5), 0, 9);
  std::vector<std::byte> gappy(9 * 16'000, std::byte{0xee});
  const Payload into{gappy.data(), 16'000, gaps.get()};
  ASSERT_TRUE(memory.read(other.address(0), into, 0, 50'003));
  ASSERT_TRUE(memory.read(other.address(50'003), into, 50'003, 29'997));
  for (size_t i = 0; i < gappy.size(); ++i) {
    const std::byte expected = i % 9 < 5 ? Other::theirs(i / 9 * 5 + i % 9) : std::byte{0xee};
    ASSERT_EQ(gappy[i], expected) << i;
  }
  const std::vector<std::byte> sent(3000, std::byte{0x5a});
  ASSERT_TRUE(memory.write(other.address(10), sent.data(), 3000));
  std::vector<std::byte> back(3002);
  ASSERT_TRUE(memory.read(other.address(9), {back.data(), 3002}, 0, 3002));
  EXPECT_EQ(back.front(), Other::theirs(9));
  EXPECT_EQ(back.back(), Other::theirs(3010));
  EXPECT_EQ(std::memcmp(back.data() + 1, sent.data(), sent.size()), 0);
  // Nothing, from nowhere.
  EXPECT_TRUE(memory.read(0, {}, 0, 0));
  EXPECT_TRUE(memory.write(0, nullptr, 0));
  EXPECT_EQ(memory.reach(), Reach::kernel_copies);
}

TEST(PeerMemory, IsReachedByMessagesAloneWhereItShallNotBeAsked) {
  const Other other;
  PeerMemory memory(other.known, false);
  EXPECT_EQ(memory.reach(), Reach::messages);
  EXPECT_EQ(memory.measure_rate(), 0);
}

// The number of a process may mean another one in another namespace.
TEST(PeerMemory, IsNotReachedByAWordThatIsAnotherOne) {
  const Other other;
  KnownWord wrong = other.known;
  ++wrong.value;
  PeerMemory stranger(wrong, true);
  EXPECT_EQ(stranger.reach(), Reach::messages);
}

TEST(PeerMemory, MemoryThatIsNotThereIsNotRead) {
  const Other other;
  PeerMemory memory(other.known, true);
  TUTTI_SKIP_UNLESS_READABLE(memory);
  void* const gone = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(gone, 4096);
  std::byte byte{};
  EXPECT_FALSE(memory.read(reinterpret_cast<uintptr_t>(gone), {&byte, 1}, 0, 1));
  EXPECT_EQ(memory.reach(), Reach::messages);
}

TEST(PeerMemory, EndsWithItsProcess) {
  Other other;
  PeerMemory memory(other.known, true);
  TUTTI_SKIP_UNLESS_READABLE(memory);
  other.end();
  std::byte byte{};
  EXPECT_FALSE(memory.is_gone());
  EXPECT_FALSE(memory.write(other.address(0), &byte, 1));
  EXPECT_EQ(memory.reach(), Reach::messages);
  EXPECT_TRUE(memory.is_gone());
  EXPECT_FALSE(memory.read(other.address(0), {&byte, 1}, 0, 1));
}

// What was allowed may be refused later: copies fail, in both directions, and it is not asked again.
void refused_later(const Other& other, bool reads) {
  PeerMemory memory(other.known, true);
  std::byte byte{};
  if (memory.reach() != Reach::kernel_copies || !memory.read(other.address(3), {&byte, 1}, 0, 1)) _exit(2);
  if (!testing_processes::refuse_kernel_copies()) _exit(2);
  if (memory.reach() != Reach::kernel_copies) _exit(3);  // nobody has told
  const bool done = reads ? memory.read(other.address(3), {&byte, 1}, 0, 1) : memory.write(other.address(3), &byte, 1);
  _exit(!done && memory.reach() == Reach::messages && memory.measure_rate() == 0 ? 0 : 1);
}

TEST(PeerMemory, MayBeRefusedLater) {
  const Other other;
  for (const bool reads : {true, false}) {
    const pid_t child = fork();
    if (child == 0) refused_later(other, reads);
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "the kernel refuses it here, or filters of system calls";
    EXPECT_EQ(WEXITSTATUS(status), 0) << (reads ? "read" : "write");
  }
}

}  // namespace
}  // namespace tutti::memory
