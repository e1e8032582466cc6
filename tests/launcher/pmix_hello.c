/* SPDX-License-Identifier: BSD-3-Clause */
/* A plain PMIx program: says who it is, as the runtime of a rank would ask. With "modex" each rank
   publishes a value, all meet in a collecting fence, and each reads every other's value; with
   "direct" they meet without collecting, so that values of other nodes are fetched one by one. */
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;

static void check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
  exit(9);
}

static pmix_value_t* get(pmix_rank_t rank, const char* key) {
  pmix_proc_t whose;
  PMIX_LOAD_PROCID(&whose, me.nspace, rank);
  pmix_value_t* value = NULL;
  check(PMIx_Get(&whose, key, NULL, 0, &value), key);
  return value;
}

static void exchange(unsigned size, int collect) {
  char text[512];
  memset(text, 'x', sizeof text);
  snprintf(text, sizeof text, "value of %u", me.rank);
  pmix_value_t value;
  value.type = PMIX_STRING;
  value.data.string = text;
  check(PMIx_Put(PMIX_GLOBAL, "tutti.test", &value), "PMIx_Put");
  check(PMIx_Commit(), "PMIx_Commit");
  pmix_proc_t all;
  PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
  pmix_info_t info;
  bool yes = collect != 0;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  check(PMIx_Fence(&all, 1, &info, 1), "PMIx_Fence");
  for (unsigned rank = 0; rank < size; ++rank) {
    pmix_value_t* found = get(rank, "tutti.test");
    char expected[64];
    snprintf(expected, sizeof expected, "value of %u", rank);
    if (strcmp(found->data.string, expected) != 0) {
      fprintf(stderr, "rank %u has '%s'\n", rank, found->data.string);
      exit(8);
    }
    PMIX_VALUE_RELEASE(found);
  }
  check(PMIx_Fence(&all, 1, NULL, 0), "second PMIx_Fence");
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "hello";
  check(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  const unsigned size = get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE)->data.uint32;
  const unsigned universe = get(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE)->data.uint32;
  const unsigned local_size = get(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE)->data.uint32;
  const char* peers = get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS)->data.string;
  const char* nodes = get(PMIX_RANK_WILDCARD, PMIX_NODE_LIST)->data.string;
  const char* map = get(PMIX_RANK_WILDCARD, PMIX_ANL_MAP)->data.string;
  const unsigned local_rank = get(me.rank, PMIX_LOCAL_RANK)->data.uint16;
  const unsigned app = get(me.rank, PMIX_APPNUM)->data.uint32;
  const char* host = get(size - 1, PMIX_HOSTNAME)->data.string;
  if (universe < size) return 7;
  if (strcmp(mode, "modex") == 0) exchange(size, 1);
  if (strcmp(mode, "direct") == 0) exchange(size, 0);
  printf("rank %u of %u, local %u of %u, peers %s, nodes %s, map %s, app %u, last on %s\n", me.rank, size, local_rank,
         local_size, peers, nodes, map, app, host);
  fflush(stdout);
  if (strcmp(mode, "abort") == 0) {
    if (me.rank == size - 1) PMIx_Abort(atoi(argv[2]), "as it was told to", NULL, 0);
    pause();
  }
  if (strcmp(mode, "leave") == 0) {
    if (me.rank == 0) _exit(0);
    pause();
  }
  if (strcmp(mode, "litter") == 0) { /* FILE: asks that it be removed at the end, which is none by PMIx_Finalize */
    pmix_info_t file;
    PMIX_INFO_LOAD(&file, PMIX_REGISTER_CLEANUP, argv[2], PMIX_STRING);
    pmix_info_t* results = NULL;
    size_t count = 0;
    check(PMIx_Job_control(&me, 1, &file, 1, &results, &count), "PMIx_Job_control");
    raise(SIGKILL);
  }
  check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
