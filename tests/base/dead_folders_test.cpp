// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/dead_folders.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace tutti {
namespace {

namespace fs = std::filesystem;

class DeadFolders : public testing::Test {
 protected:
  DeadFolders() : base_(fs::path(testing::TempDir()) / ("dead_folders." + std::to_string(::getpid()))) {
    fs::create_directories(base_ / "tmp");
    fs::create_directories(base_ / "shm");
  }
  ~DeadFolders() override { fs::remove_all(base_); }

  fs::path made(const std::string& name) {
    fs::create_directory(base_ / "tmp" / name);
    return base_ / "tmp" / name;
  }
  // By a process that is killed while it holds the lock.
  fs::path dead(const std::string& name) {
    const fs::path folder = made(name);
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t maker = ::fork();
    if (maker == 0) {
      const FolderLock lock(folder);
      std::ofstream(folder / "data") << "x";
      [[maybe_unused]] const ssize_t n = ::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    remove();
    EXPECT_TRUE(fs::exists(folder / "data")) << "its maker lives";
    ::kill(maker, SIGKILL);
    ::waitpid(maker, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    return folder;
  }
  void remove() { remove_dead_folders(base_ / "tmp", base_ / "shm"); }

  fs::path base_;
};

TEST_F(DeadFolders, AreRemovedWithTheFilesOfTheirJob) {
  const fs::path folder = dead("tutti.0123456789ab.launcher");
  std::ofstream(base_ / "shm/tutti.0123456789ab.7") << "x";
  std::ofstream(base_ / "shm/tutti.ba9876543210.7") << "x";
  remove();
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_FALSE(fs::exists(base_ / "shm/tutti.0123456789ab.7"));
  EXPECT_TRUE(fs::exists(base_ / "shm/tutti.ba9876543210.7"));
}

TEST_F(DeadFolders, ThoseOfTheLivingStay) {
  const fs::path alive = made("tutti.0123456789ab.launcher");
  const FolderLock lock(alive);
  const fs::path other = dead("tutti.0123456789ab.1");
  remove();
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(other)) << "the job lives";
}

// A scheduler's TMPDIR goes with its job, and the folder with it.
TEST_F(DeadFolders, FilesInSharedMemoryHaveALockOfTheirOwn) {
  const std::string shm = base_ / "shm", job = "tutti.0123456789ab.launcher";
  const fs::path file = base_ / "shm/tutti.0123456789ab.cores.7", foreign = base_ / "shm/tutti.ba9876543210.7";
  for (const fs::path& path : {file, foreign}) std::ofstream(path) << "x";
  {
    const FolderLock lock = FolderLock::in_shared_memory(job, shm);
    remove();
    EXPECT_TRUE(fs::exists(file)) << "its maker lives";
    const fs::path folder = dead(job);
    remove();
    EXPECT_TRUE(fs::exists(folder)) << "one of its two locks is held";
    fs::remove_all(folder);
  }
  remove();
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(FolderLock::lock_in_shared_memory(job, shm)));
  EXPECT_TRUE(fs::exists(foreign)) << "nothing proves whose it is";
}

TEST_F(DeadFolders, WhatIsNotKnownToBeDeadStays) {
  const fs::path without_lock = made("tutti.0123456789aa.launcher");
  const fs::path of_another_machine = made("tutti.0123456789ac.launcher");
  std::ofstream(of_another_machine / "lock") << "00000000-0000-0000-0000-000000000000";
  const fs::path being_made = made("tutti.0123456789ad.launcher");
  std::ofstream(being_made / "lock") << "";
  const fs::path strange = made("tutti.0123456789ae.launcher");
  ASSERT_EQ(::symlink("/etc/hostname", (strange / "lock").c_str()), 0);
  std::vector<fs::path> others;
  for (const char* name : {"tutti.launcher", "tutti.0123456789a.x", "tutti.0123456789ab.",
                           "tutti.0123456789xy.launcher", "other.0123456789ab.launcher"}) {
    others.push_back(made(name));
    const FolderLock freed(others.back());
  }
  const fs::path target = dead("kept");
  fs::create_directory_symlink(target, base_ / "tmp/tutti.0123456789af.launcher");
  remove();
  for (const fs::path& path : {without_lock, of_another_machine, being_made, strange, target})
    EXPECT_TRUE(fs::exists(path)) << path;
  for (const fs::path& path : others) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_TRUE(fs::exists(target / "data"));
}

TEST_F(DeadFolders, ALockMovesWithItsHolder) {
  const fs::path folder = made("tutti.0123456789ab.launcher");
  {
    FolderLock first(folder);
    const FolderLock second = std::move(first);
    remove();
    EXPECT_TRUE(fs::exists(folder));
  }
  remove();
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace tutti
