// SPDX-License-Identifier: BSD-3-Clause
#include "contract/own_state.hpp"

#include <algorithm>

#include "engine/engine.hpp"

namespace tutti::contract {

ProcessState own_state(engine::Engine& engine, const Witness& witness, bool is_described) {
  ProcessState state;
  for (const life::Blocked* b = engine.blocked(); b; b = b->next) {
    BlockedThread& thread = state.threads.emplace_back();
    b->add_needs(thread.needs);
    if (is_described) witness.describe(*b, thread);
  }
  state.blocked = !state.threads.empty() && witness.all_threads_blocked();
  state.ended = witness.has_ended && witness.has_ended();
  if (state.ended) {  // in no call, and in none ever again
    state.blocked = true;
    state.threads.assign(1, {});
    state.threads.front().needs.never();
    if (is_described) witness.describe(life::Blocked(), state.threads.front());
  }
  state.moving = engine.moving();
  state.epoch = engine.events();
  for (const life::UnderWay* u = engine.under_way(); u; u = u->next) {
    Course& course = state.courses.emplace_back(Course{u->context, u->serial, {}});
    u->add_needs(course.needs);
  }
  if (state.blocked && is_described && witness.lying) state.lying = witness.lying();
  return state;
}

void count_messages(engine::Engine& engine, std::span<const int> among, ProcessState& state) {
  engine.each_peer([&](int peer, uint32_t sent, uint32_t received) TUTTI_ENGINE_OWNED {
    if (peer == engine.process() || !std::ranges::binary_search(among, peer)) return;
    state.sent += sent;
    state.received += received;
  });
}

}  // namespace tutti::contract
