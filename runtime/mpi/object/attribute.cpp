// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/attribute.hpp"

#include <mpi-ext.h>

#include <algorithm>
#include <map>

#include "base/mutex.hpp"

namespace tutti::mpi {

namespace {

constexpr int kFirstKey = 1 << 10;  // above the predefined keys, which the ABI numbers

// The keys of the process by number. One whose handle is freed stays until the last attribute under it
// is gone: until then programs may use it (section 7.7.2).
struct Keys {
  struct Entry {
    std::weak_ptr<Key> key;
    KeyRef held;  // by the handle; nullptr: freed
  };
  Mutex mutex;
  std::map<int, Entry> by_number TUTTI_GUARDED_BY(mutex);
  int next TUTTI_GUARDED_BY(mutex) = kFirstKey;
};

Keys& keys() {
  static Keys* all = new Keys;  // never destroyed: callbacks may run late
  return *all;
}

// The last reference to a key is gone. Not called with the mutex held.
void forget(const Key* key) {
  {
    const Lock lock(keys().mutex);
    keys().by_number.erase(key->number);
  }
  delete key;
}

const char* name_of(KeyKind kind) {
  switch (kind) {
    case KeyKind::comm:
      return "communicators";
    case KeyKind::type:
      return "datatypes";
    case KeyKind::win:
      return "windows";
  }
  return "";
}

Result<KeyRef> find_key(KeyKind kind, int number) {
  if (number == MPI_KEYVAL_INVALID)
    return failure(MPI_ERR_KEYVAL, "the key is MPI_KEYVAL_INVALID: freed, or never created");
  KeyRef key;  // perhaps the last one, if another thread lets go of it: outlives the lock
  {
    Keys& all = keys();
    const Lock lock(all.mutex);
    const auto found = all.by_number.find(number);
    if (found != all.by_number.end()) key = found->second.key.lock();
  }
  if (!key) return failure(MPI_ERR_KEYVAL, "{} is no key: freed, or never created", number);
  if (key->kind != kind)
    return failure(MPI_ERR_KEYVAL, "key {} was created for {}, not for {}", number, name_of(key->kind), name_of(kind));
  return key;
}

bool is_predefined_key(KeyKind kind, int number) {
  return (kind == KeyKind::comm && ((number >= MPI_TAG_UB && number <= MPI_UNIVERSE_SIZE) || number == MPIX_FT)) ||
         (kind == KeyKind::win && number >= MPI_WIN_BASE && number <= MPI_WIN_MODEL);
}

Error predefined_is_fixed(int number) {
  return failure(MPI_ERR_KEYVAL, "key {} is predefined: its attribute cannot be changed", number);
}

// All callbacks of a form have the same shape but for the handle's type, which is an address.
using CopyFunction = int(void* object, int key, void* extra_state, void* value, void* out, int* flag);
using DeleteFunction = int(void* object, int key, void* value, void* extra_state);

Error call_delete(const Key& key, void* object, void* value) {
  if (key.destroy == nullptr) return {};  // MPI_*_NULL_DELETE_FN
  const int code = reinterpret_cast<DeleteFunction*>(key.destroy)(object, key.number, value, key.extra_state);
  if (code == MPI_SUCCESS) return {};
  return failure(code, "the delete callback of key {} returned {}", key.number, code);
}

// MPI_*_NULL_COPY_FN and MPI_*_DUP_FN are no functions but these numbers.
constexpr uintptr_t kNullCopy = 0, kDup = 1;

Error call_copy(const Key& key, void* old_object, void* value, void*& copy, bool& copied) {
  const auto function = reinterpret_cast<uintptr_t>(key.copy);
  copied = function == kDup;
  copy = value;
  if (function == kNullCopy || function == kDup) return {};
  int flag = 0;
  copy = nullptr;
  const int code =
      reinterpret_cast<CopyFunction*>(key.copy)(old_object, key.number, key.extra_state, value, &copy, &flag);
  copied = code == MPI_SUCCESS && flag != 0;
  if (code == MPI_SUCCESS) return {};
  return failure(code, "the copy callback of key {} returned {}", key.number, code);
}

}  // namespace

int create_key(KeyKind kind, void* copy, void* destroy, void* extra_state) {
  Keys& all = keys();
  const Lock lock(all.mutex);
  const int number = all.next++;
  const KeyRef key(new Key{kind, number, copy, destroy, extra_state}, forget);
  all.by_number.emplace(number, Keys::Entry{key, key});
  return number;
}

Error free_key(KeyKind kind, int& number) {
  if (is_predefined_key(kind, number))
    return failure(MPI_ERR_KEYVAL, "key {} is predefined and cannot be freed", number);
  auto key = find_key(kind, number);
  if (!key) return std::move(key).error();
  KeyRef held;  // given up behind the lock
  {
    const Lock lock(keys().mutex);
    held.swap(keys().by_number.find(number)->second.held);
  }
  if (!held) return failure(MPI_ERR_KEYVAL, "key {} is freed already: only attributes still hold it", number);
  number = MPI_KEYVAL_INVALID;
  return {};
}

Error AttributeSet::set(void* object, int number, void* value) {
  if (is_predefined_key(kind_, number)) return predefined_is_fixed(number);
  auto key = find_key(kind_, number);
  if (!key) return std::move(key).error();
  void* old = nullptr;
  bool replaces = false;
  {
    const Lock lock(mutex_);
    for (const Item& item : items_)
      if (item.key == *key) replaces = true, old = item.value;
  }
  if (replaces)
    if (Error error = call_delete(**key, object, old)) return error;
  const Lock lock(mutex_);
  std::erase_if(items_, [&](const Item& item) { return item.key == *key; });
  items_.push_back({*key, value});
  return {};
}

Error AttributeSet::get(int number, void** value, bool& found) const {
  found = false;
  if (is_predefined_key(kind_, number)) {
    for (const auto& [key, address] : predefined_)
      if (key == number) found = true, *value = const_cast<void*>(address);
    return {};
  }
  auto key = find_key(kind_, number);
  if (!key) return std::move(key).error();
  const Lock lock(mutex_);
  for (const Item& item : items_)
    if (item.key == *key) found = true, *value = item.value;
  return {};
}

Error AttributeSet::remove(void* object, int number) {
  if (is_predefined_key(kind_, number)) return predefined_is_fixed(number);
  auto key = find_key(kind_, number);
  if (!key) return std::move(key).error();
  void* value = nullptr;
  bool found = false;
  {
    const Lock lock(mutex_);
    for (const Item& item : items_)
      if (item.key == *key) found = true, value = item.value;
  }
  if (!found) return failure(MPI_ERR_KEYVAL, "there is no attribute under key {} to delete", number);
  if (Error error = call_delete(**key, object, value)) return error;
  const Lock lock(mutex_);
  std::erase_if(items_, [&](const Item& item) { return item.key == *key; });
  return {};
}

Error AttributeSet::copy_all(void* old_object, const AttributeSet& from) {
  std::vector<Item> items;
  {
    const Lock lock(from.mutex_);
    items = from.items_;
  }
  copy_predefined(from);
  for (const Item& item : items) {
    void* copy = nullptr;
    bool copied = false;
    if (Error error = call_copy(*item.key, old_object, item.value, copy, copied)) return error;
    if (!copied) continue;
    const Lock lock(mutex_);
    items_.push_back({item.key, copy});
  }
  return {};
}

Error AttributeSet::delete_all(void* object, bool object_ends) {
  Error first;
  while (true) {
    Item item;
    {
      const Lock lock(mutex_);
      if (items_.empty()) return first;
      item = items_.back();
    }
    if (Error error = call_delete(*item.key, object, item.value)) {
      if (!object_ends) return error;
      if (!first) first = std::move(error);
    }
    // By key, not by place: the callback may have set or deleted others.
    const Lock lock(mutex_);
    std::erase_if(items_, [&](const Item& other) { return other.key == item.key; });
  }
}

void AttributeSet::set_predefined(int key, const void* value) {
  std::erase_if(predefined_, [&](const auto& entry) { return entry.first == key; });
  predefined_.emplace_back(key, value);
}

}  // namespace tutti::mpi
