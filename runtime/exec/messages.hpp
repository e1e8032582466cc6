// SPDX-License-Identifier: BSD-3-Clause
// Messages: the sends and receives of one run. Owns the engine's operations, one for each of the plan's, and what
// is under way of them; refuses to know what follows on a message that is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/engine_owned.hpp"
#include "engine/channel.hpp"
#include "engine/operation.hpp"
#include "exec/binding.hpp"

namespace tutti::exec {

class Messages {
 public:
  // Whose messages they are.
  class Run {
   public:
    // The message of this step is over, well or with an error. The last one may be the end of all.
    virtual void message_done(uint32_t step, int mpi_class) TUTTI_ENGINE_OWNED = 0;
    // That is under way. The run numbers its steps as it likes.
    virtual const Step& step_of(uint32_t number) const TUTTI_ENGINE_OWNED = 0;

   protected:
    ~Run() = default;
  };

  // With this outcome a message has not come: whoever would have sent it has failed, or may not any more.
  static bool is_forsaken(int mpi_class);

  Messages(Run& run, engine::Channel& channel, const Binding& binding);
  Messages(const Messages&) = delete;

  // A start of this serial begins, which has none under way.
  void begin(uint32_t serial) TUTTI_ENGINE_OWNED {
    serial_ = serial;
    withdrawn_ = false;
  }
  // Posts what a step says, which the run knows by this number.
  void send(uint32_t number) TUTTI_ENGINE_OWNED;
  void receive(uint32_t number) TUTTI_ENGINE_OWNED;
  // The same with another payload and its signature.
  void send(uint32_t number, const Payload& payload, uint64_t signature) TUTTI_ENGINE_OWNED;

  // Posted and not done.
  bool are_open() const TUTTI_ENGINE_OWNED { return open_ > 0; }
  // The receive of this operation was posted; its message is here, or on its way.
  bool has_come(uint32_t operation) const TUTTI_ENGINE_OWNED { return !recvs_[operation].posted; }
  void withdraw_receive(uint32_t operation) TUTTI_ENGINE_OWNED;
  // What can be withdrawn is. All are over, perhaps now, before the run is.
  void withdraw() TUTTI_ENGINE_OWNED;

  // The calls at other ranks that have to send or to receive before these are done, side by side.
  void add_needs(life::Condition& needs) const TUTTI_ENGINE_OWNED;
  size_t footprint() const { return bytes_of(sends_) + bytes_of(recvs_); }

 private:
  struct Send : engine::SendOperation {
    uint32_t step = 0;
    bool under_way = false;
  };
  struct Receive : engine::RecvOperation {
    uint32_t step = 0;
  };
  void done(const engine::Operation& operation, uint32_t step) TUTTI_ENGINE_OWNED;
  void compare(const Receive& receive) const TUTTI_ENGINE_OWNED;

  Run& run_;
  engine::Channel& channel_;
  const Binding& binding_;
  std::vector<Send> sends_;
  std::vector<Receive> recvs_;
  uint32_t serial_ = 0;
  uint32_t open_ = 0;
  bool withdrawn_ = false;
};

}  // namespace tutti::exec
