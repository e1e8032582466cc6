// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/under_way.hpp"

#include "engine/engine.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {

void await_communication(Comm& comm) {
  engine::Engine& engine = *comm.user.engine;
  // An inactive request, or one that is complete, is no communication (section 11.10.4).
  const Ref<Comm> mine(&comm);
  const engine::Engine::Guard own(engine);
  engine.wait_until([&]() TUTTI_ENGINE_OWNED { return comm.under_way == 0; },
                    [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                      engine.matcher().each_posted([&](const engine::RecvOperation& receive) TUTTI_ENGINE_OWNED {
                        if (receive.match.context == comm.context()) add_needs(needs, receive, comm);
                      });
                    });
}

}  // namespace tutti::mpi
