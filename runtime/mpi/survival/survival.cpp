// SPDX-License-Identifier: BSD-3-Clause
#include <mpi-ext.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "mpi/coll/api_collective.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/collective_signature.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/coll/comm_idup.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/status.hpp"
#include "mpi/request/request.hpp"
#include "mpi/survival/api_survival.hpp"

namespace tutti::mpi::surviving {
namespace {

// nullptr: the failure of a rank ends the job.
Survivor* survivor(const Comm& comm) {
  return survivor_of(comm).get();
}

MPI_Group group_of(const Comm& comm, const std::vector<int>& processes) {
  return make_group(ProcessList(processes), MPI_UNDEFINED, comm.group->session);
}

Arguments conjunction(const int* mine, int* all) {
  return allreduce_of(mine, all, 1, *resolve<Datatype>(MPI_INT), *resolve<Op>(MPI_BAND));
}

}  // namespace

Error comm_get_failed(Comm& comm, MPI_Group* failedgrp) {
  *failedgrp = MPI_GROUP_EMPTY;
  if (!survivor(comm)) return {};
  std::vector<int> failed;
  {
    const engine::Engine::Guard own(comm.engine());
    failed = survivor(comm)->failed(comm);
  }
  *failedgrp = group_of(comm, failed);
  return {};
}

Error comm_ack_failed(Comm& comm, int num_to_ack, int* num_acked) {
  *num_acked = 0;
  if (!survivor(comm)) return {};
  const engine::Engine::Guard own(comm.engine());
  *num_acked = survivor(comm)->acknowledge(comm, num_to_ack);
  return {};
}

Error comm_failure_ack(Comm& comm) {
  int acknowledged = 0;
  return comm_ack_failed(comm, comm.hidden.size(), &acknowledged);
}

Error comm_failure_get_acked(Comm& comm, MPI_Group* failedgrp) {
  *failedgrp = survivor(comm) ? group_of(comm, survivor(comm)->acknowledged(comm)) : MPI_GROUP_EMPTY;
  return {};
}

Error comm_revoke(Comm& comm) {
  if (survivor(comm)) {
    const engine::Engine::Guard own(comm.engine());
    survivor(comm)->revoke(comm);
    return {};
  }
  return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                 "communicators cannot be revoked: the job ends when a rank fails, so that nobody waits for it");
}

Error comm_is_revoked(Comm& comm, int* flag) {
  *flag = survivor(comm) && survivor(comm)->is_revoked(comm);
  return {};
}

namespace {

// An agreement under way behind a request. `then` makes of the decision what the call gives out; its error is the request's.
class Agreeing final : public Request, public Pooled<Agreeing> {
 public:
  using Then = std::function<Error(const survival::Decision&)>;
  Agreeing(Comm& comm, Then then) : Request(Kind::collective, comm), then_(std::move(then)) {}
  void start(survival::Contribution mine) TUTTI_ENGINE_OWNED {
    begin();
    name_ =
        survivor(*comm)->agree(*comm, std::move(mine), [this](const survival::Decision& decision) TUTTI_ENGINE_OWNED {
          failed_ = then_(decision);
          finish(!failed_);
        });
  }
  // Of one that is not over: on whom it depends.
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED {
    survivor(*comm)->add_needs(name_, needs);
  }
  void fill(MPI_Status& status) const override { fill_empty(status); }
  Error error() const override { return failed_ ? Error(failed_.mpi_class(), failed_.message()) : Error(); }
  Error cancel() override TUTTI_ENGINE_OWNED {
    return failure(MPI_ERR_REQUEST, "the request belongs to an agreement, which cannot be cancelled");
  }

 private:
  const Then then_;
  Error failed_;
  life::Actor name_;
};

MPI_Request start_agreeing(Comm& comm, survival::Contribution mine, Agreeing::Then then) TUTTI_ENGINE_OWNED {
  auto* const made = new Agreeing(comm, std::move(then));
  const MPI_Request handle = inventory::hand_out<Request>(*made);
  made->start(std::move(mine));
  return handle;
}

Error agree(Comm& comm, survival::Contribution mine, Agreeing::Then then) TUTTI_ENGINE_OWNED {
  const auto made = Ref<Agreeing>::adopt(new Agreeing(comm, std::move(then)));
  engine::Engine& engine = comm.engine();
  Survivor& agrees = *survivor(comm);
  made->start(std::move(mine));
  // What is to be found in memory comes soon, as a flag of a collective does.
  const auto look = [&](int looks) TUTTI_ENGINE_OWNED {
    for (; looks > 0 && !made->is_complete(); --looks) agrees.look_for_ballots();
    return made->is_complete() ? engine::Seen::all : engine::Seen::nothing;
  };
  if (made->is_complete() || (agrees.awaits_ballots() && engine.look_out(look, true))) {
    engine.over_at_once();
    return made->error();
  }
  engine.wait_until([&] { return made->is_complete(); },
                    [&](life::Condition& needs) TUTTI_ENGINE_OWNED { made->add_open_needs(needs); });
  return made->error();
}

survival::Contribution contribution(const Comm& comm, int flag) TUTTI_ENGINE_OWNED {
  survival::Contribution mine = survivor(comm)->contribution(comm);
  mine.flag = static_cast<uint32_t>(flag);
  return mine;
}

// The flag is given out though there is an error.
Agreeing::Then give_flag(const Comm& comm, int* flag) {
  const bool other_side = comm.is_inter() && comm.hidden.sides.in_first();
  return [flag, other_side](const survival::Decision& decision) -> Error {
    *flag = static_cast<int>(static_cast<uint32_t>(decision.flags[other_side]));
    if (!decision.unacknowledged) return {};
    return failure(
        MPIX_ERR_PROC_FAILED,
        "a process has failed before it took part, and not everybody had acknowledged that; the flag is that "
        "of those who have taken part");
  };
}

// Those who have taken part, and are not known to have failed, in their order.
Result<Comm*> shrunk(Comm& comm, const survival::Decision& decision) {
  if (decision.word == engine::kNoContext) return no_context_left(comm);
  const Sides sides = comm.hidden.sides;
  ProcessList::Builder groups[2];
  int ranks[2] = {}, mine = 0;
  for (int rank = 0; rank < comm.hidden.size(); ++rank) {
    if (decision.failed.has(rank)) continue;
    const int side = sides && rank >= sides.first;
    if (rank == comm.hidden.rank) mine = ranks[side];
    ++ranks[side];
    groups[side].add(comm.hidden.process_of(rank));
  }
  const bool first = !sides || sides.in_first();
  Ref<Group> local = new_group(groups[!first].take(), mine, *comm.group);
  if (!sides) return make_intercomm(comm, std::move(local), {}, true, decision.word);
  if (ranks[first] == 0) return failure(MPIX_ERR_PROC_FAILED, "nobody of the other group is left");
  Ref<Group> remote = new_group(groups[first].take(), MPI_UNDEFINED, *comm.group);
  return make_intercomm(comm, std::move(local), std::move(remote), first, decision.word);
}

// A context of one who is not chosen to give it is free again.
Agreeing::Then give_shrunk(Comm& comm, uint64_t offered, MPI_Comm* newcomm) {
  return [&comm, offered, newcomm](const survival::Decision& decision) -> Error {
    if (offered != decision.word) comm.contexts().release(offered);
    Result<Comm*> made = shrunk(comm, decision);
    if (!made) return std::move(made).error();
    *newcomm = (*made)->handle;
    return {};
  };
}

}  // namespace

Error comm_agree(Comm& comm, int* flag) {
  if (survivor(comm)) {
    const engine::Engine::Guard own(comm.engine());
    return agree(comm, contribution(comm, *flag), give_flag(comm, flag));
  }
  const int mine = *flag;
  return run(conjunction(&mine, flag), comm);
}

Error comm_iagree(Comm& comm, int* flag, MPI_Request* request) {
  if (survivor(comm)) {
    const engine::Engine::Guard own(comm.engine());
    *request = start_agreeing(comm, contribution(comm, *flag), give_flag(comm, flag));
    return {};
  }
  struct Flags {
    int mine, all;
  };
  const auto flags = std::make_shared<Flags>(Flags{*flag, 0});
  Result<ResolvedCall> made = resolve_call(conjunction(&flags->mine, &flags->all), comm);
  if (!made) return std::move(made).error();
  if (comm.hidden.ledger) sign(made->call, made->op, comm);
  return start(comm, *std::move(made), request, [flags, flag]() -> Error {
    *flag = flags->all;
    return {};
  });
}

Error comm_shrink(Comm& comm, MPI_Comm* newcomm) {
  if (survivor(comm)) {
    const uint64_t offered = offer_context(comm, true);
    const engine::Engine::Guard own(comm.engine());
    survival::Contribution mine = survivor(comm)->contribution(comm);
    mine.word = offered;
    return agree(comm, std::move(mine), give_shrunk(comm, offered, newcomm));
  }
  Result<uint64_t> context = agree_on_context(comm, contract::word_of(Function::Comm_dup));
  if (!context) return std::move(context).error();
  Result<Ref<Comm>> made = duplicate_in(comm, *context);
  if (!made) return std::move(made).error();
  (*made)->attributes.copy_predefined(comm.attributes);
  *newcomm = hand_out(**made);
  return {};
}

Error comm_ishrink(Comm& comm, MPI_Comm* newcomm, MPI_Request* request) {
  if (survivor(comm)) {
    const uint64_t offered = offer_context(comm, true);
    *newcomm = MPI_COMM_NULL;
    const engine::Engine::Guard own(comm.engine());
    survival::Contribution mine = survivor(comm)->contribution(comm);
    mine.word = offered;
    *request = start_agreeing(comm, std::move(mine), give_shrunk(comm, offered, newcomm));
    return {};
  }
  const Ref<Comm> made = begin_duplicate(comm);
  made->attributes.copy_predefined(comm.attributes);
  if (Error e = find_context(comm, made, request)) return e;
  *newcomm = hand_out(*made);
  return {};
}

}  // namespace tutti::mpi::surviving
