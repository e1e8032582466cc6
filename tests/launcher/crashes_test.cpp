// SPDX-License-Identifier: BSD-3-Clause
// What is read of crashes: causes in words, whose record is the first, and records that are none.
#include "launcher/node/crashes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace tutti::launcher {
namespace {

crash::Record record_of(int signal, int code, uint64_t address = 0) {
  crash::Record record{};
  std::memcpy(record.magic, crash::kMagic, sizeof crash::kMagic);
  record.bytes = sizeof record;
  record.pid = 4242;
  record.signal = signal;
  record.code = code;
  record.address = address;
  record.pc = 0x1000;
  record.stack = 0x7fff'0000'0000;
  return record;
}

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "tutti-crashes-XXXXXX";
    path = ::mkdtemp(name.data()) ? name : "";
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void put(const std::string& name, const crash::Record& record, size_t bytes = sizeof(crash::Record)) const {
    std::ofstream(path + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(&record), static_cast<std::streamsize>(bytes));
  }
  std::string path;
};

TEST(Crashes, ACauseIsSaidInWords) {
  const auto said = [](const crash::Record& record, const char* words) {
    EXPECT_NE(cause_text(record).find(words), std::string::npos) << cause_text(record);
  };
  said(record_of(SIGSEGV, SEGV_MAPERR, 0x10), "signal 11 (Segmentation fault): nothing is mapped at address 0x10");
  said(record_of(SIGSEGV, SEGV_ACCERR, 0x10), "it may not do that at address 0x10");
  said(record_of(SIGSEGV, SEGV_MAPERR, 0x1000), "it went to address 0x1000, where no code is");
  said(record_of(SIGSEGV, SEGV_MAPERR, 0x7fff'0000'0000 - 8), "the stack is full");
  said(record_of(SIGSEGV, SEGV_ACCERR, 0x7fff'0000'0000 + 100), "the stack is full");
  said(record_of(SIGSEGV, SI_KERNEL), "an address that no memory can have");
  said(record_of(SIGBUS, BUS_ADRERR, 0x2000), "has become shorter");
  said(record_of(SIGFPE, FPE_INTDIV), "integer division by zero");
  crash::Record sent = record_of(SIGABRT, SI_TKILL);
  sent.sender = sent.pid;
  said(sent, "it called abort()");
  sent.sender = 7;
  said(sent, "process 7 sent it");
}

TEST(Crashes, TheFirstIsToldAndTheOthersAreCounted) {
  const Folder folder;
  crash::Record record = record_of(SIGSEGV, SEGV_MAPERR, 0x10);
  for (const int rank : {0, 2, 3}) {
    record.when = rank == 2 ? 100 : 200 + rank;
    folder.put("crash." + std::to_string(rank), record);
  }
  const std::optional<Crash> found = find_crash(folder.path, 3, "here");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 2);
  EXPECT_NE(found->text.find("rank 2 on here (process 4242) crashed: "), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("ranks 0 and 3 crashed after it"), std::string::npos) << found->text;
  EXPECT_FALSE(find_crash(folder.path, 1, "here"));
}

// Of several that crash at once the end of one may be told of while the first has yet to look at its stack.
TEST(Crashes, TheFirstMayStillBeWriting) {
  const Folder folder;
  crash::Record other = record_of(SIGSEGV, SEGV_MAPERR, 0x10), first = other;
  other.is_whole = 1;
  other.when = 200;
  folder.put("crash.0", other);
  first.pid = ::getpid();
  first.when = 100;
  folder.put("crash.1", first);
  std::thread writer([&] {
    ::usleep(50'000);
    first.is_whole = 1;
    first.frames = 1;
    first.frame[0] = {0x2a, 0, 0};
    std::strcpy(first.paths, "/nowhere/solver");
    const int fd = ::open((folder.path + "/crash.1").c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(::pwrite(fd, static_cast<const void*>(&first), sizeof first, 0), static_cast<ssize_t>(sizeof first));
    ::close(fd);
  });
  const std::optional<Crash> found = find_crash(folder.path, 0, "here");
  writer.join();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_NE(found->text.find("  at solver+0x2a\n"), std::string::npos) << found->text;
}

// It is gone, and writes no more; or it takes too long.
TEST(Crashes, TheFirstMayNeverBeWhole) {
  for (const bool is_there : {false, true}) {
    const Folder folder;
    crash::Record record = record_of(SIGSEGV, SEGV_MAPERR, 0x10);
    record.pid = is_there ? ::getpid() : INT_MAX;
    folder.put("crash.0", record);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(find_crash(folder.path, 0, "here"));
    EXPECT_EQ(std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(350), is_there);
  }
}

// Opening the file, which may be of a file system that is gone, would not return.
TEST(Crashes, PlacesInFilesOpenNoneOfThem) {
  const Folder folder;
  const std::string pipe = folder.path + "/solver";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  crash::Record record = record_of(SIGSEGV, SEGV_MAPERR, 0x10);
  record.frames = 1;
  record.frame[0] = {0x2a, 0, 0};
  std::strcpy(record.paths, pipe.c_str());
  folder.put("crash.1", record);
  const std::optional<Crash> found = find_crash(folder.path, 1, "here", Places::of_files);
  ASSERT_TRUE(found);
  EXPECT_NE(found->text.find("  at 0x2a of the file " + pipe), std::string::npos) << found->text;
  EXPECT_TRUE(find_crash(folder.path, 1, "here")) << "nor is one opened that is no plain file";
}

// Whoever has crashed may have written anything.
TEST(Crashes, ARecordIsNotTrusted) {
  const Folder folder;
  crash::Record record = record_of(SIGSEGV, SEGV_MAPERR, 0x10);
  folder.put("crash.0", record, sizeof record - 1);
  folder.put("crash.x", record);
  record.bytes = 7;
  folder.put("crash.1", record);
  std::filesystem::create_symlink("/dev/zero", folder.path + "/crash.2");
  for (const int rank : {0, 1, 2}) EXPECT_FALSE(find_crash(folder.path, rank, "here")) << rank;
  record.bytes = sizeof record;
  record.frames = 1 << 30;
  std::memset(record.paths, '/', sizeof record.paths);
  std::memset(record.comm.name, '\x1b', sizeof record.comm.name);
  record.comm.context = 1;
  record.call.number = 1;
  record.call.function = 0xffff;
  record.looks_function = ~uint64_t{0};
  for (crash::Place& place : record.frame) place = {1, 1 << 20, 0};
  record.frame[0] = {~uint64_t{0}, crash::kPaths - 2, 0};
  record.caller = {5, -7, 0};
  folder.put("crash.3", record);
  const std::optional<Crash> found = find_crash(folder.path, 3, "here");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tutti::launcher
