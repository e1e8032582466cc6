// SPDX-License-Identifier: BSD-3-Clause
// The store: what this process keeps for later calls of all its communicators, which are plans and
// executions that are idle. Whoever will look for one owns the place where it lies (Kept): the planner, which
// looks by shape, the repeated calls, by their arguments, and each persistent collective for itself. The store
// owns one bound in bytes, scratch included, and decides what is forgotten when that is reached.
//
// What takes up to Store::kSmall bytes is small. The small ones have half of the bound and the large ones the
// other half, and each kind drives out only its own: one large plan does not cost a hundred small ones. Within a
// kind the one that has been there longest goes, unless a call has asked for it since it was last passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/engine_owned.hpp"
#include "base/mutex.hpp"

namespace tutti::exec {

class Execution;
class Store;

// A place for one idle execution. All but its end: with the engine owned; and it does not end while another
// thread is in one of its functions.
class Kept {
 public:
  explicit Kept(std::shared_ptr<Store> store);
  virtual ~Kept();
  Kept(const Kept&) = delete;

  // An execution that is over comes to lie here, or back. False: one lies here already, or it is too large for
  // the store; then it is the caller's still.
  bool keep(std::unique_ptr<Execution>& execution) TUTTI_ENGINE_OWNED;
  // nullptr: there is none, or it has been forgotten. One that is taken keeps its room in the store.
  std::unique_ptr<Execution> take() TUTTI_ENGINE_OWNED;
  // It stays here, and is not forgotten before it is returned: whoever has run it still looks at it when it is
  // over, and others that end meanwhile may need room in the store. nullptr: there is none, or it is lent already.
  Execution* borrow() TUTTI_ENGINE_OWNED {
    if (lent_ || !execution_) return nullptr;
    used_ = lent_ = true;
    return execution_.get();
  }
  void return_borrowed() TUTTI_ENGINE_OWNED { lent_ = false; }
  bool is_lent() const TUTTI_ENGINE_OWNED { return lent_; }
  bool holds_any() const TUTTI_ENGINE_OWNED { return execution_ != nullptr; }

 protected:
  // Room for what its owner keeps, and for `beside` bytes more of it with whatever execution will lie here.
  // False: it is too large for the store.
  bool enter(size_t bytes, size_t beside) TUTTI_ENGINE_OWNED;
  // Something in here was asked for.
  void use() TUTTI_ENGINE_OWNED { used_ = true; }

 private:
  friend class Store;
  // The store has no room for it any more. It is not in the store's lists, and may end here.
  virtual void forgotten() TUTTI_ENGINE_OWNED;

  const std::shared_ptr<Store> store_;
  std::unique_ptr<Execution> execution_ TUTTI_OWNERS;
  // Of its kind. With the store's mutex, by the store's own functions alone: clang cannot know that it is that one's.
  Kept *older_ = nullptr, *newer_ = nullptr;
  size_t bytes_ = 0;                // that it has in the store; 0: it is not in it
  size_t beside_ TUTTI_OWNERS = 0;  // of these: the owner's
  bool used_ TUTTI_OWNERS = false;
  bool lent_ TUTTI_OWNERS = false;
};

class Store {
 public:
  static constexpr size_t kMost = 16 << 20, kSmall = 64 << 10;
  explicit Store(size_t most = kMost) : share_(most / 2) {}
  Store(const Store&) = delete;

  // What everything takes that is kept, together with the room of what has been taken out. Any thread.
  size_t bytes() const;
  // For an owner of several places that ends, so that none of them is forgotten meanwhile.
  RecursiveMutex& mutex() const TUTTI_RETURNS_LOCK(mutex_) { return mutex_; }

 private:
  friend class Kept;
  // Those of one kind; the oldest are passed over first.
  struct Kind {
    Kept *oldest = nullptr, *newest = nullptr;
    size_t bytes = 0, count = 0;
  };
  Kind& kind_of(size_t bytes) TUTTI_REQUIRES(mutex_) { return kinds_[bytes > kSmall]; }
  bool enter(Kept& kept, size_t bytes) TUTTI_ENGINE_OWNED;
  void leave(Kept& kept) TUTTI_REQUIRES(mutex_);
  bool make_room(Kind& kind, size_t bytes) TUTTI_REQUIRES(mutex_, engine_owned);
  void link(Kind& kind, Kept& kept) TUTTI_REQUIRES(mutex_);
  void unlink(Kind& kind, Kept& kept) TUTTI_REQUIRES(mutex_);

  const size_t share_;  // of each kind
  // The lists change with the engine owned, but for the places of a communicator that ends, which any thread
  // may let go. Recursive: one that is forgotten may hold others, and the end of each takes the mutex once more, as
  // does that of each place of an owner that has taken it for all of them.
  mutable RecursiveMutex mutex_;
  Kind kinds_[2] TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::exec
