/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into a program of another user: says that it is the user of TUTTI_TEST_LIE. */
#include <stdlib.h>
#include <sys/types.h>

// clang-format off
static unsigned claimed(void) { return (unsigned)atoi(getenv("TUTTI_TEST_LIE")); }
__attribute__((visibility("default"))) uid_t getuid(void) { return claimed(); }
__attribute__((visibility("default"))) uid_t geteuid(void) { return claimed(); }
__attribute__((visibility("default"))) gid_t getgid(void) { return claimed(); }
__attribute__((visibility("default"))) gid_t getegid(void) { return claimed(); }
// clang-format on
