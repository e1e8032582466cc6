// SPDX-License-Identifier: BSD-3-Clause
// What the standard calls opaque objects, and the way from a handle to its object. A handle is
// either a predefined small number (the ABI's value, standard appendix A) or the object's address.
// Refuses nothing itself: resolve<T>() returns nullptr for what is no live T.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "mpi/object/checking.hpp"

namespace tutti::mpi::file {
class File;
}

namespace tutti::mpi::one_sided {
class Window;
}

namespace tutti::mpi {

// First word of every object; a freed or foreign address is unlikely to hold one of these.
enum class Tag : uint64_t {
  freed = 0,
  comm = 0x7475747469'434f4dULL,
  group = 0x7475747469'475250ULL,
  datatype = 0x7475747469'545950ULL,
  op = 0x7475747469'4f505fULL,
  errhandler = 0x7475747469'455252ULL,
  info = 0x7475747469'494e46ULL,
  request = 0x7475747469'524551ULL,
  message = 0x7475747469'4d5347ULL,
  win = 0x7475747469'57494eULL,
  session = 0x7475747469'534553ULL,
  file = 0x7475747469'46494cULL,
};

// In the tag of an object that others still refer to though its handle is freed.
inline constexpr uint64_t kHandleFreed = uint64_t{1} << 63;
constexpr Tag without_handle(Tag tag) {
  return static_cast<Tag>(static_cast<uint64_t>(tag) | kHandleFreed);
}
constexpr Tag with_handle(Tag tag) {
  return static_cast<Tag>(static_cast<uint64_t>(tag) & ~kHandleFreed);
}

// Reference-counted: a handle holds one reference, every use by another object or by an
// operation under way one more. MPI_X_free gives up the handle's. Any thread.
class Object {
  static constexpr size_t kTagAt = sizeof(void*);  // behind what makes it virtual
  std::atomic<Tag> tag_;

 public:
  explicit Object(Tag tag) : tag_(tag) {}
  // Atomic, for the compiler takes a plain store to what is about to go for a useless one.
  virtual ~Object() { tag_.store(Tag::freed, std::memory_order_relaxed); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Tag tag() const { return tag_.load(std::memory_order_relaxed); }
  // Of whatever lies at the address of a handle, whose object may be gone.
  static Tag tag_at(uintptr_t address) {
    return reinterpret_cast<const std::atomic<Tag>*>(address + kTagAt)->load(std::memory_order_relaxed);
  }
  void retain() {
    if (!immortal_) references_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (immortal_) return;
    // Whoever holds the only reference needs no atomic addition to give it up.
    if (references_.load(std::memory_order_acquire) == 1 || references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy();
  }
  // The handle is freed: it is good for nothing any more, whoever else refers to the object. One that
  // was given out several times (MPI_Type_get_contents, MPI_Comm_get_errhandler), with the last.
  void free_handle();
  void add_handle();  // gives the handle out once more
  // Predefined objects, which most operations refer to: their references are not counted.
  void live_for_ever() { immortal_ = true; }

  // A request that MPI_Start starts.
  virtual bool is_persistent() const { return false; }

  int references() const { return references_.load(std::memory_order_acquire); }

 protected:
  // One more reference, while no other thread knows the object.
  void retain_unshared() {
    references_.store(references_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // One less, while no other thread changes their number. True: it was the last, and destroy() is
  // due.
  bool release_unshared() {
    if (immortal_) return false;
    const int left = references_.load(std::memory_order_relaxed) - 1;
    references_.store(left, std::memory_order_relaxed);
    return left == 0;
  }
  void destroy() {
    if (checking.keeps_what_is_gone) [[unlikely]]
      return destroy_and_keep();
    delete this;
  }

 private:
  void destroy_and_keep();  // inventory.cpp

  bool immortal_ = false;
  std::atomic<int> references_{1};
  std::atomic<int> handles_{1};
};

class NamedObject : public Object {
 public:
  using Object::Object;
  std::string name;  // MPI_X_set_name, or the predefined one's
};

// MPI_X_get_name, into room for MPI_MAX_OBJECT_NAME characters. A null handle (nullptr) has a name, too.
inline void give_name(const NamedObject* object, const char* name_of_null, char* into, int* length) {
  const std::string name = object ? object->name : name_of_null;
  *length = static_cast<int>(name.copy(into, MPI_MAX_OBJECT_NAME - 1));
  into[*length] = 0;
}

// Counts one reference for as long as it lives.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  static Ref adopt(T* object) {  // takes over a reference that exists already
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

class Comm;
class Group;
class Datatype;
class Op;
class Errhandler;
class Info;
class Request;
class Message;
using one_sided::Window;
class Session;
using file::File;

// Handle type of each object type, the predefined objects, and the tag to expect.
template <class T>
struct HandleOf;
#define TUTTI_HANDLE(Class, MpiHandle, TagValue) \
  template <>                                    \
  struct HandleOf<Class> {                       \
    using type = MpiHandle;                      \
    static constexpr Tag tag = Tag::TagValue;    \
    static Class* predefined(uintptr_t value);   \
  };
TUTTI_HANDLE(Comm, MPI_Comm, comm)
TUTTI_HANDLE(Group, MPI_Group, group)
TUTTI_HANDLE(Datatype, MPI_Datatype, datatype)
TUTTI_HANDLE(Op, MPI_Op, op)
TUTTI_HANDLE(Errhandler, MPI_Errhandler, errhandler)
TUTTI_HANDLE(Info, MPI_Info, info)
TUTTI_HANDLE(Request, MPI_Request, request)
TUTTI_HANDLE(Message, MPI_Message, message)
TUTTI_HANDLE(Window, MPI_Win, win)
TUTTI_HANDLE(Session, MPI_Session, session)
TUTTI_HANDLE(File, MPI_File, file)
#undef TUTTI_HANDLE

// Predefined objects that nearly every call is given, by handle from `first` on.
template <class T, uintptr_t first, size_t count>
class PredefinedObjects {
 public:
  T* find(uintptr_t handle) const {  // nullptr: not set yet, or no such handle
    if (handle - first < count) [[likely]]
      return objects_[handle - first].load(std::memory_order_acquire);
    return nullptr;
  }
  void set(uintptr_t handle, T* object) { objects_[handle - first].store(object, std::memory_order_release); }

 private:
  std::atomic<T*> objects_[count] = {};
};
inline constinit PredefinedObjects<Comm, 0x100, 0x10> predefined_comms;
inline constinit PredefinedObjects<Datatype, 0x200, 0x100> predefined_types;
[[gnu::cold]] Datatype* first_predefined_type(uintptr_t handle);  // makes them all; nullptr: no such handle
inline Comm* HandleOf<Comm>::predefined(uintptr_t value) {
  return predefined_comms.find(value);
}
inline Datatype* HandleOf<Datatype>::predefined(uintptr_t value) {
  if (Datatype* known = predefined_types.find(value)) [[likely]]
    return known;
  return first_predefined_type(value);
}

inline constexpr uintptr_t kFirstAddress = 0x1000;  // below: the ABI's predefined handles

// The object behind a handle, or nullptr for a null handle, a freed object, another kind. An
// address that never was a handle is undefined, as everywhere in C.
template <class T>
T* resolve(typename HandleOf<T>::type handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value < kFirstAddress) return HandleOf<T>::predefined(value);
  if (value % alignof(Object) != 0 || Object::tag_at(value) != HandleOf<T>::tag) return nullptr;
  return static_cast<T*>(reinterpret_cast<Object*>(value));
}

// The same, whether or not the handle was freed: of an object that something under way refers to.
template <class T>
T* resolve_also_freed(typename HandleOf<T>::type handle) {
  if (T* object = resolve<T>(handle)) return object;
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value < kFirstAddress || value % alignof(Object) != 0 || with_handle(Object::tag_at(value)) != HandleOf<T>::tag)
    return nullptr;
  return static_cast<T*>(reinterpret_cast<Object*>(value));
}

// The same of one that resolve() has found, and that is not predefined.
template <class T>
T* known(typename HandleOf<T>::type handle) {
  return static_cast<T*>(reinterpret_cast<Object*>(handle));
}

// The handle of an object that is not predefined.
template <class T>
typename HandleOf<T>::type handle_of(T& object) {
  return reinterpret_cast<typename HandleOf<T>::type>(static_cast<Object*>(&object));
}

}  // namespace tutti::mpi
