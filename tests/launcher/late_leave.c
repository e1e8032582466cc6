/* SPDX-License-Identifier: BSD-3-Clause
 * Preloaded: the rank that LATE_RANK names leaves PMIx half a second late. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pmix.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t ninfo) {
  pmix_status_t (*leave)(const pmix_info_t[], size_t);
  *(void**)&leave = dlsym(RTLD_NEXT, "PMIx_Finalize");
  const char* late = getenv("LATE_RANK");
  const char* rank = getenv("PMIX_RANK");
  if (late && rank && strcmp(late, rank) == 0) usleep(500 * 1000);
  return leave(info, ninfo);
}
