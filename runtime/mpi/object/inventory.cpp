// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/inventory.hpp"

#include <deque>
#include <new>
#include <unordered_map>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "exec/store.hpp"

namespace tutti::mpi {

void Object::free_handle() {
  if (immortal_) return;
  if (handles_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    tag_.store(without_handle(tag()), std::memory_order_relaxed);
    if (checking.keeps_what_is_gone) inventory::note_freed(*this);
  }
  release();
}

void Object::add_handle() {
  if (immortal_) return;
  retain();
  if (handles_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  tag_.store(with_handle(tag()), std::memory_order_relaxed);
  if (checking.keeps_what_is_gone) inventory::note_made(*this);
}

void Object::destroy_and_keep() {
  void* const memory = dynamic_cast<void*>(this);
  TUTTI_INVARIANT(memory == this && tag_at(reinterpret_cast<uintptr_t>(memory)) == tag(),
                  "an object does not begin with its handle");
  inventory::retire(*this);
  this->~Object();
  inventory::keep(memory);
}

namespace inventory {
namespace {

constexpr size_t kMostKept = 4096;  // objects that are gone

struct Store {
  Mutex mutex;
  std::unordered_map<const void*, History> histories TUTTI_GUARDED_BY(mutex);
  std::deque<void*> kept TUTTI_GUARDED_BY(mutex);
  void (*gone)(const Object&) = nullptr;
};

Store& store() {
  static auto* all = new Store;  // never destroyed: threads may free objects during exit
  return *all;
}

}  // namespace

void open(void (*gone)(const Object&)) {
  store().gone = gone;
  checking.keeps_what_is_gone = true;
}

void note_made(const Object& object) {
  const Tag tag = with_handle(object.tag());
  const Lock lock(store().mutex);
  store().histories[&object] = {.tag = tag, .made = here(), .is_persistent = object.is_persistent()};
}

void note_freed(const Object& object) {
  const Lock lock(store().mutex);
  const auto at = store().histories.find(&object);
  if (at == store().histories.end() || at->second.is_freed) return;
  at->second.is_freed = true;
  at->second.freed = here();
}

void retire(const Object& object) {
  note_freed(object);
  if (store().gone) store().gone(object);
}

void keep(void* memory) {
  void* released = nullptr;
  {
    const Lock lock(store().mutex);
    store().kept.push_back(memory);
    if (store().kept.size() > kMostKept) {
      released = store().kept.front();
      store().kept.pop_front();
      store().histories.erase(released);
    }
  }
  ::operator delete(released);
}

std::optional<History> history_of(const void* handle) {
  const Lock lock(store().mutex);
  const auto at = store().histories.find(handle);
  return at == store().histories.end() ? std::nullopt : std::optional(at->second);
}

std::vector<History> not_freed() {
  std::vector<History> all;
  const Lock lock(store().mutex);
  for (const auto& [handle, history] : store().histories)
    if (!history.is_freed) all.push_back(history);
  return all;
}

void mention(const void* handle, const char* what) {
  if (!checking.keeps_what_is_gone) return;
  const std::optional<History> known = history_of(handle);
  if (!known) return;
  const bool operation = known->tag == Tag::request;
  if (known->made.caller)
    mentions().push_back({fmt::format("the {} was {} by", what, operation ? "started" : "made"), known->made});
  if (known->is_freed && known->freed.caller)
    mentions().push_back({fmt::format("the {} was {} by", what, operation ? "completed" : "freed"), known->freed});
}

}  // namespace inventory
}  // namespace tutti::mpi
