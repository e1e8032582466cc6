// SPDX-License-Identifier: BSD-3-Clause
// What waits for something that no message tells of, such as a flag in shared memory: asked in each
// pass of the engine, and before a sleep. Owns the list of them, from which each may go, and others
// may come, while one of them is asked.
#pragma once

#include "base/engine_owned.hpp"

namespace tutti::engine {

class Poller {
 public:
  // True if anything happened. May remove itself, others, or add some.
  virtual bool poll() TUTTI_ENGINE_OWNED = 0;

 protected:
  ~Poller() = default;

 private:
  friend class Pollers;
  Poller* next_ = nullptr;
  Poller* previous_ = nullptr;
};

class Pollers {
 public:
  bool empty() const TUTTI_ENGINE_OWNED { return first_ == nullptr; }
  Poller* first() const TUTTI_ENGINE_OWNED { return first_; }
  void add(Poller& poller) TUTTI_ENGINE_OWNED {
    poller.next_ = nullptr;
    poller.previous_ = last_;
    (last_ ? last_->next_ : first_) = &poller;
    last_ = &poller;
  }
  void remove(Poller& poller) TUTTI_ENGINE_OWNED {
    if (following_ == &poller) following_ = poller.next_;
    (poller.previous_ ? poller.previous_->next_ : first_) = poller.next_;
    (poller.next_ ? poller.next_->previous_ : last_) = poller.previous_;
  }
  bool poll() TUTTI_ENGINE_OWNED {
    bool moved = false;
    for (Poller* poller = first_; poller; poller = following_) {
      following_ = poller->next_;
      moved |= poller->poll();
    }
    return moved;
  }

 private:
  Poller* first_ = nullptr;
  Poller* last_ = nullptr;
  Poller* following_ = nullptr;  // in poll(): the one to ask next
};

}  // namespace tutti::engine
