// SPDX-License-Identifier: BSD-3-Clause
// What is known of objects beside themselves, under --check=strict alone: where each handle was
// given out, and where it was freed. The memory of what is gone is kept for some time, so that a
// stale handle is recognised, and is not by chance that of a new object. Any thread.
#pragma once

#include <optional>
#include <vector>

#include "mpi/object/incident.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::mpi::inventory {

// From now on; once, before a program can make anything. `gone` is told of each object before its
// end, by the thread that gives up the last reference.
void open(void (*gone)(const Object&));

struct History {
  Tag tag = Tag::freed;
  CallSite made, freed;  // freed.function is 0: it is not
  bool is_freed = false;
  bool is_persistent = false;  // a request
};

void note_made(const Object& object);

void note_freed(const Object& object);
// Object's own: it is about to end; its memory is free.
void retire(const Object& object);
void keep(void* memory);

// The handle of an object that a program gets.
template <class T>
typename HandleOf<T>::type hand_out(T& object) {
  if (checking.keeps_what_is_gone) [[unlikely]]
    note_made(object);
  return handle_of(object);
}

// Of a handle that was given out; nullopt: it is none, or forgotten.
std::optional<History> history_of(const void* handle);

// Of all handles that nobody has freed or completed.
std::vector<History> not_freed();

// What is known of the object as lines for the error to come: "the datatype was made by … at …".
void mention(const void* handle, const char* what);

}  // namespace tutti::mpi::inventory
