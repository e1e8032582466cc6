/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked into programs that mpicc builds with -fsanitize=memory. MemorySanitizer does not see what the libraries below a
 * program write, and would say of all that they hand to functions of libc, in whatever thread, that it has no value: so it
 * does not look at what such functions are given. What the program itself does with a value it sees as ever. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

extern void __msan_scoped_disable_interceptor_checks(void);
extern int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

struct start {
  void* (*run)(void*);
  void* argument;
};

static void* run_unlooked(void* given) {
  const struct start start = *(struct start*)given;
  free(given);
  __msan_scoped_disable_interceptor_checks();
  return start.run(start.argument);
}

/* Before that of the sanitizer, which is weak. */
__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*run)(void*), void* argument) {
  struct start* const start = malloc(sizeof *start);
  int failed;
  if (!start) return EAGAIN;
  start->run = run;
  start->argument = argument;
  failed = __interceptor_pthread_create(thread, attributes, run_unlooked, start);
  if (failed) free(start);
  return failed;
}

/* Libraries begin before the program's own constructors. */
static void begin(void) {
  __msan_scoped_disable_interceptor_checks();
}
__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = begin;
