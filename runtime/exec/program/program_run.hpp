// SPDX-License-Identifier: BSD-3-Clause
// The run of a program: a plan whose steps are all in shared memory or in a rank's own, and follow each other. Most
// short collectives are programs, so that little is left to find out when they run. Blocks that are too long for
// their shares go as messages meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "exec/execution.hpp"
#include "exec/program/bound_steps.hpp"

namespace tutti::exec {

class ProgramRun final : public Execution {
 public:
  ProgramRun(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call);

  Error bind(const Call& call) override;
  void start() override;
  void run() override;
  void resume() override {}  // it is polled
  size_t footprint() const override { return sizeof *this + footprint_of_parts() + steps_.footprint(); }

 private:
  bool poll() override;
  const Step* standing_at() const override { return next_ < plan().steps.size() ? &plan().steps[next_] : nullptr; }
  void go_on() override { end_if_done(); }
  void message_done(uint32_t step, int error_class) override;

  bool begin_first_step();
  bool execute();
  void end_if_done();
  bool has_nothing_new() const;
  std::byte* at(const End& end) const;
  void copy_short_step(const BoundStep& step);
  bool copy_other(const BoundStep& step);
  bool reduce(const BoundStep& step);
  bool is_there(const BoundStep& step);
  bool lingers();
  void show(const BoundStep& step);
  void send_beside(const BoundStep& step);
  void expect(const BoundStep& step);
  void take(const BoundStep& step);
  void take_other(const BoundStep& step, const coll::ShareHead& head);
  void take_from_share(const BoundStep& step, int64_t bytes);

  BoundSteps steps_;
  uint32_t next_ = 0;      // the steps before it are done
  unsigned looked_ = 0;    // at a flag, instead of a message
  uint64_t lingered_ = 0;  // passes to go, and one
  bool waited_ = false;    // what it awaits was not there when it looked first
};

}  // namespace tutti::exec
