// SPDX-License-Identifier: BSD-3-Clause
// Too little shared memory: a /dev/shm of a chosen size for a part of a test.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

namespace tutti::testing_shm {

// A /dev/shm of its own for this process and its children; false where that is not allowed.
inline bool small_shm(const char* size) {
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/dev/shm", "tmpfs", 0, size) == 0;
}

// Runs `body` in a process that may change its mount namespace; true if that could be done.
inline bool apart(const std::function<bool()>& prepare, const std::function<void()>& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (!prepare()) _exit(77);
    body();
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return false;
  EXPECT_EQ(status, 0);
  return true;
}

}  // namespace tutti::testing_shm
