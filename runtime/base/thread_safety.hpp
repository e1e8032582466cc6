// SPDX-License-Identifier: BSD-3-Clause
// Words that say which lock or which right a function needs, and what guards a field. clang proves them where it
// compiles with -Wthread-safety (tests/unit/owners.sh); for other compilers they are nothing, and for none do they
// cost anything at run time.
//
// clang follows one function at a time: it begins with what the function says that it needs, adds what it takes on
// its way, and asks at each call and each field whether that is enough. A lambda is a function of its own, and what
// is called through a pointer says nothing: such a one begins by claiming what its caller has (TUTTI_ASSERTS).
#pragma once

#ifdef __clang__
#define TUTTI_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TUTTI_THREAD_SAFETY(attribute)
#endif

// A class whose objects can be held, and one that holds such an object for a scope.
#define TUTTI_CAPABILITY(name) TUTTI_THREAD_SAFETY(capability(name))
#define TUTTI_SCOPED_CAPABILITY TUTTI_THREAD_SAFETY(scoped_lockable)

// Of a field: touched only by who holds that.
#define TUTTI_GUARDED_BY(what) TUTTI_THREAD_SAFETY(guarded_by(what))

// Of a function: its caller holds that; must not hold it, since the function takes it itself; holds it afterwards;
// holds it no more; holds it if this is what it returned.
#define TUTTI_REQUIRES(...) TUTTI_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define TUTTI_EXCLUDES(...) TUTTI_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
#define TUTTI_ACQUIRES(...) TUTTI_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define TUTTI_RELEASES(...) TUTTI_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define TUTTI_TRY_ACQUIRES(...) TUTTI_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))

// Of a function that returns a reference to that: its calls mean the same.
#define TUTTI_RETURNS_LOCK(what) TUTTI_THREAD_SAFETY(lock_returned(what))

// Of a function that does nothing: from here on it is taken for granted that this is held.
#define TUTTI_ASSERTS(what) TUTTI_THREAD_SAFETY(assert_capability(what))

// Of a function that clang cannot follow, for instance since what it takes depends on a condition.
#define TUTTI_NOT_PROVEN TUTTI_THREAD_SAFETY(no_thread_safety_analysis)
