// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the tool information interface share: whether it is initialised, its handles,
// texts and enumerations, and the tables of variables and events, of which categories are made by
// the part of a name before its dot.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::mpi::tool {

// ---- for the library's others

// What a tool has written before MPI_Init: above every other layer of settings.
std::vector<GivenSetting> written_settings();

// ---- among the parts

// Of all that stands in this interface's own tables. Recursive, since a callback of an event, which is called with it,
// may call most of this interface.
RecursiveMutex& mutex();
bool is_initialized();
#define TUTTI_TOOL_READY                                                        \
  if (!tool::is_initialized())                                                  \
    return failure(MPI_T_ERR_NOT_INITIALIZED,                                   \
                   "MPI_T_init_thread has not been called, or not as often as " \
                   "MPI_T_finalize");                                           \
  const Lock tool_lock(tool::mutex())

[[gnu::cold]] Error bad_index(int index, size_t count, const char* of);
[[gnu::cold]] Error bad_name(const char* name, const char* of);
[[gnu::cold]] Error bad_handle(const char* what);
[[gnu::cold]] Error null_address(const char* argument);
inline bool within(int index, size_t count) {
  return index >= 0 && static_cast<size_t>(index) < count;
}

// The standard's rule for strings (15.3.3): as much as fits, and the length that all of it takes.
void give_text(std::string_view text, char* into, int* length);
template <class T>
void give(T* into, T value) {
  if (into) *into = value;
}

struct Enumeration {
  std::string name;
  std::vector<std::string> items;  // by value
};
MPI_T_enum handle_of(const Enumeration* enumeration);
const Enumeration* enumeration_of(MPI_T_enum handle) TUTTI_REQUIRES(mutex());
// nullptr: its values have no names.
const Enumeration* enumeration(const Setting& setting) TUTTI_REQUIRES(mutex());
const Enumeration* thread_levels();

// Handles that were given out and not freed.
template <class T>
class Handles {
 public:
  template <class Handle>
  T* find(Handle handle) const {
    auto* const object = reinterpret_cast<T*>(handle);
    return all_.contains(object) ? object : nullptr;
  }
  T* add(T* object) {
    all_.insert(object);
    return object;
  }
  void remove(T* object) {
    all_.erase(object);
    delete object;
  }
  const std::set<T*>& all() const { return all_; }

 private:
  std::set<T*> all_;
};

// Refers to what a program binds a handle to: with MPI_T_BIND_MPI_COMM the address of its MPI_Comm.
Error resolve_bound(int bind, void* object, Ref<Comm>& comm);

// Who has to listen while a handle of a variable is started, since nobody does else.
enum class Listens { nobody, traffic, calls, events };

struct PerformanceVariable {
  const char* name;
  int variable_class;
  MPI_Datatype type;  // MPI_UNSIGNED_LONG, MPI_DOUBLE, or MPI_INT with names
  int bind;
  bool continuous, readonly;
  const char* doc;
  int (*count)(const Comm*);
  // All values, as they are now.
  void (*read)(const Comm*, double* values);
  Listens listens = Listens::nobody;
};
std::span<const PerformanceVariable> performance_variables();

struct EventType {
  const char* name;
  const char* doc;
  int bind;
};
std::span<const EventType> event_types();

MPI_Info empty_info();

}  // namespace tutti::mpi::tool
