// SPDX-License-Identifier: BSD-3-Clause
// PMIx (4.2) asks for the user's home folder when it starts, and crashes where nobody names one: in
// a container whose user has any number, no entry among the users and no HOME. While one of these
// exists there is an answer. It changes the environment: no other thread may use that meanwhile.
#pragma once

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace tutti {

class SomeHome {
 public:
  SomeHome() : given_(!std::getenv("HOME") && !::getpwuid(::geteuid())) {
    if (given_) ::setenv("HOME", "/", 1);
  }
  ~SomeHome() {
    if (given_) ::unsetenv("HOME");
  }
  SomeHome(const SomeHome&) = delete;
  SomeHome& operator=(const SomeHome&) = delete;

 private:
  bool given_;
};

}  // namespace tutti
