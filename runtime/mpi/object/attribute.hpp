// SPDX-License-Identifier: BSD-3-Clause
// Attributes (the standard, section 7.7): values that a program caches on an object under a key of
// its own, with callbacks for duplication and deletion. Owns the keys of the process and one
// AttributeSet per communicator, window or datatype. The predefined attributes are AttributeSets'
// business too: they are set by the owner (set_predefined) and have no callbacks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::mpi {

// What a key belongs to.
enum class KeyKind : uint8_t { comm, type, win };

// A key: lives as long as its handle or an attribute needs it.
struct Key {
  KeyKind kind;
  int number;               // the handle
  void* copy = nullptr;     // MPI_*_copy_attr_function, or an MPI_*_NULL_COPY_FN, MPI_*_DUP_FN
  void* destroy = nullptr;  // MPI_*_delete_attr_function, or MPI_*_NULL_DELETE_FN
  void* extra_state = nullptr;
};
using KeyRef = std::shared_ptr<Key>;

// Makes a key and returns its handle. Any thread.
int create_key(KeyKind kind, void* copy, void* destroy, void* extra_state);
// Gives up a handle; while attributes are under the key, its number is good for everything but this.
// Sets `number` to MPI_KEYVAL_INVALID.
Error free_key(KeyKind kind, int& number);

// The attributes of one object. Any thread; callbacks are called without a lock held, so that they
// may call MPI. `object` is the handle that the callbacks get.
class AttributeSet {
 public:
  explicit AttributeSet(KeyKind kind) : kind_(kind) {}

  // Under a key that is set already, the old value is deleted first.
  Error set(void* object, int key, void* value);
  // `found` says whether the object has the attribute; an unknown key is an error.
  Error get(int key, void** value, bool& found) const;
  Error remove(void* object, int key);

  // MPI_Comm_dup, MPI_Type_dup: hands each value to its copy callback. If one fails, what was
  // copied so far stays in this set: delete_all() it with the failed object.
  Error copy_all(void* old_object, const AttributeSet& from);
  // MPI_X_free, and MPI_COMM_SELF in MPI_Finalize: the last one set goes first. Stops at the first
  // callback that fails; the attribute that it refused to delete stays.
  // `object_ends`: in any case, so that all of them go, and the first error is returned then.
  Error delete_all(void* object, bool object_ends = false);

  // MPI_TAG_UB and its kin: only get() sees it, no program can change it, duplicates have it too.
  // `value` is the address that MPI_Comm_get_attr returns, of a number that outlives the set.
  void set_predefined(int key, const void* value);
  void copy_predefined(const AttributeSet& from) { predefined_ = from.predefined_; }

 private:
  struct Item {
    KeyRef key;
    void* value;
  };
  const KeyKind kind_;
  mutable Mutex mutex_;
  std::vector<Item> items_ TUTTI_GUARDED_BY(mutex_);     // in the order of their setting
  std::vector<std::pair<int, const void*>> predefined_;  // set before the object is given out
};

}  // namespace tutti::mpi
