// SPDX-License-Identifier: BSD-3-Clause
// Planner: the plans of one communicator, by shape. A repeated call finds its plan and builds nothing.
// Keeps with each plan one execution that is idle, so that a repeated blocking call allocates nothing either.
// How much is kept is the store's to say.
#pragma once

#include <memory>
#include <unordered_map>

#include "base/engine_owned.hpp"
#include "coll/selection.hpp"
#include "exec/plans.hpp"
#include "exec/store.hpp"

namespace tutti::exec {

// What --stress makes of plans.
struct Stress {
  bool synchronising = false;  // every collective is a barrier as well, as the standard allows
  uint64_t chance = 0;         // other than 0: programs linger by it
  bool loops = false;          // what can be a loop is one, as it is among many ranks
};

// Used with the engine owned, but for its end.
class Planner {
 public:
  explicit Planner(std::shared_ptr<const coll::Selection> selection = coll::Selection::shipped(), Stress stress = {},
                   std::shared_ptr<Store> store = std::make_shared<Store>())
      : selection_(std::move(selection)), stress_(stress), store_(std::move(store)) {}
  ~Planner();
  Planner(const Planner&) = delete;

  // A plan stays alive while a collective runs on it, also when it has been forgotten here.
  std::shared_ptr<const Plan> plan(const Shape& shape) TUTTI_ENGINE_OWNED { return known(shape).plan; }

  // A plan, and an execution of it that is idle.
  class Known final : public Kept {
   public:
    Known(Planner& planner, const Shape& of, size_t with_hash, std::shared_ptr<const Plan> made);
    const Shape shape;
    const size_t hash;
    const std::shared_ptr<const Plan> plan;

   private:
    friend Planner;
    void forgotten() override;
    Planner& planner_;
  };
  // Valid until the next call, or until anything else is kept.
  Known& known(const Shape& shape) TUTTI_ENGINE_OWNED;
  // The one asked for last; nullptr if there is none, or it has been forgotten.
  Known* latest() TUTTI_ENGINE_OWNED { return latest_; }

 private:
  Plan build(const Shape& shape) const TUTTI_ENGINE_OWNED;
  void forget(const Known& known);

  std::shared_ptr<const coll::Selection> selection_;
  const Stress stress_;
  const std::shared_ptr<Store> store_;
  std::unordered_multimap<size_t, std::unique_ptr<Known>> known_;  // by hash
  std::unique_ptr<Known> too_large_;                               // for the store: there while it is the latest
  Known* latest_ = nullptr;
};

}  // namespace tutti::exec
