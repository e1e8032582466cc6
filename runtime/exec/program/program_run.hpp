// SPDX-License-Identifier: BSD-3-Clause
// The run of a program: a plan whose steps are all in shared memory or in a rank's own, and follow each other. Most
// short collectives are programs, so that little is left to find out when they run. Blocks that are too long for
// their shares go as messages meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/engine_owned.hpp"
#include "exec/execution.hpp"
#include "exec/program/bound_steps.hpp"

namespace tutti::exec {

class ProgramRun final : public Execution {
 public:
  ProgramRun(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call);

  Error bind(const Call& call) override;
  void start() override TUTTI_ENGINE_OWNED;
  void run() override TUTTI_ENGINE_OWNED;
  void resume() override TUTTI_ENGINE_OWNED {}  // it is polled
  size_t footprint() const override { return sizeof *this + footprint_of_parts() + steps_.footprint(); }

 private:
  bool poll() override TUTTI_ENGINE_OWNED;
  const Step* standing_at() const override { return all_done() ? nullptr : &steps_.step(next_); }
  const Step& step_of(uint32_t number) const override { return steps_.step(number); }
  bool all_done() const { return steps_.begin() + next_ == steps_.end(); }
  void go_on() override TUTTI_ENGINE_OWNED { end_if_done(); }
  void message_done(uint32_t step, int error_class) override TUTTI_ENGINE_OWNED;

  bool begin_first_step() TUTTI_ENGINE_OWNED;
  bool execute() TUTTI_ENGINE_OWNED;
  void end_if_done() TUTTI_ENGINE_OWNED;
  [[gnu::cold]] bool end_abandoned() TUTTI_ENGINE_OWNED;
  bool has_nothing_new() const TUTTI_ENGINE_OWNED;
  std::byte* at(const End& end) const;
  void copy_short_step(const BoundStep& step) TUTTI_ENGINE_OWNED;
  bool copy_other(const BoundStep& step) TUTTI_ENGINE_OWNED;
  bool reduce(const BoundStep& step) TUTTI_ENGINE_OWNED;
  bool is_there(const BoundStep& step) TUTTI_ENGINE_OWNED;
  bool lingers() TUTTI_ENGINE_OWNED;
  void show(const BoundStep& step) TUTTI_ENGINE_OWNED;
  void send_beside(const BoundStep& step) TUTTI_ENGINE_OWNED;
  void expect(const BoundStep& step) TUTTI_ENGINE_OWNED;
  bool take(const BoundStep& step) TUTTI_ENGINE_OWNED;
  void take_other(const BoundStep& step, const coll::ShareHead& head) TUTTI_ENGINE_OWNED;
  void take_from_share(const BoundStep& step, int64_t bytes) TUTTI_ENGINE_OWNED;

  BoundSteps steps_;
  uint32_t next_ = 0;      // the steps before it are done
  unsigned looked_ = 0;    // at a flag, instead of a message
  uint64_t lingered_ = 0;  // passes to go, and one
  bool waited_ = false;    // what it awaits was not there when it looked first
};

}  // namespace tutti::exec
