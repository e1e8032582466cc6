/* SPDX-License-Identifier: BSD-3-Clause */
/* As Open MPI 5 does MPI_Comm_spawn by PMIx: rank 0 spawns, both sides tell each other who they are by published names,
   connect, read what the other side has published, and part by a fence of all. The arguments say what is spawned:
   COUNT [THEN [PROGRAM]]; THEN is what the children do once they are connected: "part", "crash", "wait" (for ever) or
   "fail" (once they have parted); what a parent does stands behind a '/': "wait/crash", or "part/leave", before they are
   connected, or "part/late", which spawns when it is asked to end. TEST_KEY is a further key of PMIx_Spawn, "NAME=value",
   and TEST_REQUIRES says that it is required. */
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

static unsigned size_of(const char* nspace) {
  pmix_proc_t all;
  PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
  pmix_value_t* value = NULL;
  check(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "the size of a job");
  const unsigned size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return size;
}

/* What the other side has published under that name, once it has; gone as soon as it is read. */
static void exchange(const char* mine, const char* theirs, char* other) {
  pmix_info_t info[2];
  pmix_persistence_t once = PMIX_PERSIST_FIRST_READ;
  PMIX_INFO_LOAD(&info[0], mine, me.nspace, PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &once, PMIX_PERSIST);
  check(PMIx_Publish(info, 2), "PMIx_Publish");
  pmix_pdata_t found;
  PMIX_PDATA_CONSTRUCT(&found);
  PMIX_LOAD_KEY(found.key, theirs);
  int seconds = 60;
  PMIX_INFO_LOAD(&info[0], PMIX_WAIT, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
  check(PMIx_Lookup(&found, 1, info, 2), "PMIx_Lookup");
  snprintf(other, PMIX_MAX_NSLEN + 1, "%s", found.value.data.string);
  if (strcmp(found.proc.nspace, other) != 0) exit(8);
}

static void end_as(const char* how) {
  if (strcmp(how, "crash") == 0) raise(SIGKILL);
  if (strcmp(how, "wait") == 0)
    for (;;) pause();
}

static void talk(const char* other, const char* then) {
  pmix_proc_t both[2];
  const int first = strcmp(me.nspace, other) < 0;
  PMIX_LOAD_PROCID(&both[0], first ? me.nspace : other, PMIX_RANK_WILDCARD);
  PMIX_LOAD_PROCID(&both[1], first ? other : me.nspace, PMIX_RANK_WILDCARD);
  check(PMIx_Connect(both, 2, NULL, 0), "PMIx_Connect");
  const unsigned size = size_of(other);
  for (unsigned rank = 0; rank < size; ++rank) {
    pmix_proc_t whose;
    PMIX_LOAD_PROCID(&whose, other, rank);
    pmix_value_t* value = NULL;
    check(PMIx_Get(&whose, "tutti.test", NULL, 0, &value), "what the other side has published");
    char expected[PMIX_MAX_NSLEN + 16];
    snprintf(expected, sizeof expected, "%u of %s", rank, other);
    if (strcmp(value->data.string, expected) != 0) exit(8);
    PMIX_VALUE_RELEASE(value);
  }
  end_as(then);
  check(PMIx_Fence(both, 2, NULL, 0), "PMIx_Fence");
  printf("rank %u of %u has met %u\n", me.rank, size_of(me.nspace), size);
  fflush(stdout);
}

/* One process tells the others of its job, by a fence. */
static void spread(const char* name, char* text, int root) {
  pmix_value_t value;
  value.type = PMIX_STRING;
  value.data.string = text;
  if (root) check(PMIx_Put(PMIX_GLOBAL, name, &value), "PMIx_Put");
  check(PMIx_Commit(), "PMIx_Commit");
  pmix_proc_t all;
  PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
  pmix_info_t info;
  bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  check(PMIx_Fence(&all, 1, &info, 1), "PMIx_Fence of a job");
  pmix_proc_t first;
  PMIX_LOAD_PROCID(&first, me.nspace, 0);
  pmix_value_t* found = NULL;
  check(PMIx_Get(&first, name, NULL, 0, &found), name);
  snprintf(text, PMIX_MAX_NSLEN + 1, "%s", found->data.string);
  PMIX_VALUE_RELEASE(found);
}

static char** list(const char* first, const char* second, const char* third) {
  char** out = calloc(4, sizeof *out);
  out[0] = strdup(first);
  if (second) out[1] = strdup(second);
  if (third) out[2] = strdup(third);
  return out;
}

static void spawn(const char* self, int count, const char* then, const char* program) {
  pmix_app_t apps[2];
  for (int i = 0; i < 2; ++i) {
    PMIX_APP_CONSTRUCT(&apps[i]);
    apps[i].cmd = strdup(program ? program : self);
    apps[i].argv = list(apps[i].cmd, "child", then);
    apps[i].env = list(i == 0 ? "TEST_APP=first" : "TEST_APP=second", NULL, NULL);
    apps[i].maxprocs = i == 0 ? count : 1;
    apps[i].cwd = strdup("/");
  }
  pmix_info_t key;
  char name[64] = "";
  const char* const pair = getenv("TEST_KEY");
  if (pair) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(pair, "="), pair);
    PMIX_INFO_LOAD(&key, name, strchr(pair, '=') + 1, PMIX_STRING);
    if (getenv("TEST_REQUIRES")) PMIX_INFO_REQUIRED(&key);
  }
  pmix_nspace_t nspace;
  const pmix_status_t status = PMIx_Spawn(&key, pair ? 1 : 0, apps, program ? 1 : 2, nspace);
  if (status != PMIX_SUCCESS) {
    printf("no spawn: %s\n", PMIx_Error_string(status));
    fflush(stdout);
    check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    exit(5);
  }
  if (size_of(nspace) != (unsigned)count + 1) exit(7);
}

int main(int argc, char** argv) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  const int is_late = argc > 2 && strstr(argv[2], "/late");
  if (is_late) sigprocmask(SIG_BLOCK, &end, NULL);
  check(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  char other[PMIX_MAX_NSLEN + 1] = "", own[PMIX_MAX_NSLEN + 16];
  snprintf(own, sizeof own, "%u of %s", me.rank, me.nspace);
  pmix_value_t value;
  value.type = PMIX_STRING;
  value.data.string = own;
  check(PMIx_Put(PMIX_GLOBAL, "tutti.test", &value), "PMIx_Put");
  const int is_child = argc > 1 && strcmp(argv[1], "child") == 0;
  const char* then = argc > 2 ? argv[2] : "part";
  char how[64];
  snprintf(how, sizeof how, "%s", then);
  char* const slash = strchr(how, '/');
  if (slash) *slash = '\0';
  if (is_child) {
    char folder[64] = "";
    pmix_value_t* parent = NULL;
    check(PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &parent), "PMIX_PARENT_ID");
    if (parent->type != PMIX_PROC || parent->data.proc->rank != 0) return 6;
    if (me.rank == 0) exchange("tutti.accept", "tutti.connect", other);
    spread("tutti.other", other, me.rank == 0);
    if (strcmp(other, parent->data.proc->nspace) != 0) return 6;
    if (!getcwd(folder, sizeof folder)) return 6;
    printf("child %u of %s in %s\n", me.rank, getenv("TEST_APP"), folder);
    fflush(stdout);
    talk(other, how);
    if (strcmp(how, "fail") == 0) exit(3);
  } else {
    int signal = 0;
    if (is_late) {
      printf("is here\n");
      fflush(stdout);
      sigwait(&end, &signal);
    }
    if (me.rank == 0) {
      spawn(argv[0], argc > 1 ? atoi(argv[1]) : 1, then, argc > 3 ? argv[3] : NULL);
      exchange("tutti.connect", "tutti.accept", other);
    }
    spread("tutti.other", other, me.rank == 0);
    if (!slash || strcmp(slash + 1, "leave") != 0) talk(other, slash ? slash + 1 : "part");
  }
  check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
