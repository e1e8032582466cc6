// SPDX-License-Identifier: BSD-3-Clause
// The run of a graph: a plan with messages, whose steps become ready when those that they wait for are done, and go
// on as messages come and go. What has to wait in shared memory, or gives way to other threads, is asked again in
// each pass of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/engine_owned.hpp"
#include "engine/wait/waiter.hpp"
#include "exec/execution.hpp"
#include "exec/graph/trips.hpp"

namespace tutti::exec {

class GraphRun final : public Execution {
 public:
  GraphRun(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call);

  void start() override TUTTI_ENGINE_OWNED;
  void run() override TUTTI_ENGINE_OWNED;
  void resume() override TUTTI_ENGINE_OWNED;
  size_t footprint() const override {
    return sizeof *this + footprint_of_parts() + bytes_of(waits_) + bytes_of(ready_) + trips_.footprint();
  }

 private:
  bool poll() override TUTTI_ENGINE_OWNED;
  const Step* standing_at() const override { return stalled_ == kNoStep ? nullptr : &step_of(stalled_); }
  const Step& step_of(uint32_t number) const override {
    return trips_.has(number) ? trips_.step(number) : plan().steps[number];
  }
  void go_on() override TUTTI_ENGINE_OWNED { run_ready(); }
  void message_done(uint32_t step, int error_class) override TUTTI_ENGINE_OWNED;

  void run_ready() TUTTI_ENGINE_OWNED;
  bool perform(uint32_t step) TUTTI_ENGINE_OWNED;
  bool share(const Step& step) TUTTI_ENGINE_OWNED;
  void step_done(uint32_t step) TUTTI_ENGINE_OWNED;
  bool has_ready() const { return ready_begin_ != ready_end_; }
  void add_ready(uint32_t step) {
    ready_[ready_end_] = step;
    ready_end_ = after(ready_end_);
  }
  uint32_t after(uint32_t place) const { return place + 1 == ready_.size() ? 0 : place + 1; }

  static constexpr uint32_t kNoStep = UINT32_MAX;
  Trips trips_;                  // their steps have numbers behind those of the plan
  std::vector<uint32_t> waits_;  // by step of the plan: for how many others it still waits
  std::vector<uint32_t> ready_;  // a ring with a place for each number, and one that is free
  uint32_t ready_begin_ = 0, ready_end_ = 0;
  uint32_t left_ = 0;           // steps of the plan to go
  uint32_t stalled_ = kNoStep;  // the one that waits in shared memory: those there follow each other
  // Run by an application thread, when a user's function is to be called.
  struct Resumption : engine::Chore {
    GraphRun* run = nullptr;
  } resumption_;
  bool resumes_ = false;  // it is the engine's now
};

}  // namespace tutti::exec
