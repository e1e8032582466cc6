// SPDX-License-Identifier: BSD-3-Clause
// Who may refuse what is sent and received: set once a process has failed, or a communicator was revoked, and asked of
// everything from then on. Before that an operation costs one look at a word beside those that it changes anyway.
#pragma once

#include "base/engine_owned.hpp"
#include "engine/operation.hpp"

namespace tutti::engine {

class Judge {
 public:
  // The class of the error with which a message in this context is refused; 0: none.
  virtual int refuses(const Match& match) TUTTI_ENGINE_OWNED = 0;
  // A receive that no message fits, which has been posted: it may fail it (Engine::fail).
  virtual void posted(RecvOperation& receive) TUTTI_ENGINE_OWNED = 0;

 protected:
  ~Judge() = default;
};

}  // namespace tutti::engine
