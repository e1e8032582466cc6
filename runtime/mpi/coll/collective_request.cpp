// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/collective_request.hpp"

#include <utility>

#include "contract/ledger.hpp"
#include "exec/execution.hpp"

namespace tutti::mpi {

bool keep(Comm& comm, const Arguments& given, bool nonblocking, std::unique_ptr<exec::Execution>& execution) {
  if (!comm.repeated) comm.repeated = std::make_shared<Repeated>(comm.store());
  return comm.repeated->keep(given, nonblocking, comm.size(), execution);
}

void CollectiveRequest::start(std::unique_ptr<exec::Execution> execution, Repeated::Home home) {
  execution_ = std::move(execution);
  home_ = home;
  execution_->owner = this;
  execution_->on_complete = [](exec::Execution& done)
                                TUTTI_ENGINE_OWNED { static_cast<CollectiveRequest*>(done.owner)->over(); };
  begin();
  if (contract::Ledger* ledger = execution_->channel().ledger) ledger->add(*this);
  tell(*comm, life::Happening::collective_begun, execution_->channel().next_serial);
  execution_->start();
}

void CollectiveRequest::add_open_needs(life::Condition& needs) const {
  needs.all();
  execution_->add_needs(needs);
  needs.end();
}

Error CollectiveRequest::error() const {
  if (failed_) return Error(failed_.mpi_class(), failed_.message());
  return execution_ ? outcome_of(*execution_) : Error();
}

Error CollectiveRequest::cancel() {
  return failure(MPI_ERR_REQUEST,
                 "the request belongs to a nonblocking collective, which cannot be cancelled (the "
                 "standard, section 6.12)");
}

void CollectiveRequest::over() {
  contract::Ledger* const ledger = execution_->channel().ledger;
  if (ledger && ledger->suspected()) {  // what came may be of another call: not before it is known
    held_ = true;
    return;
  }
  if (ledger && !abandoned_) ledger->remove(*this);
  if (abandoned_) {
    failed_ = ledger->error();
  } else if (new_ && new_->then) {
    // What has not come is no answer: of one who has failed it is told that it has failed.
    Error unheard = new_->then();
    if (execution_->mpi_class == MPI_SUCCESS) failed_ = std::move(unheard);
  }
  if (new_ && new_->over) return end_step();
  const bool well = !failed_ && execution_->mpi_class == MPI_SUCCESS;
  const uint32_t serial = execution_->serial();
  if (well) leave_execution();
  tell(*comm, life::Happening::collective_ended, serial);
  finish(well);
}

void CollectiveRequest::end_step() {
  new_->over(error());
  tell(*comm, life::Happening::collective_ended, execution_->serial());
  finish(true);
}

// It ends here where nobody keeps it.
void CollectiveRequest::leave_execution() {
  if (persistent_)
    persistent_->keep(execution_);
  else if (home_.generation > 0)
    comm->repeated->give_back(home_, execution_);
  else if (new_ && new_->given)
    keep(*comm, *new_->given, true, execution_);
  execution_.reset();
}

void CollectiveRequest::abandon() {
  abandoned_ = true;
  if (held_) return over();
  execution_->abandon(MPI_ERR_OTHER);
}

void CollectiveRequest::resume() {
  if (std::exchange(held_, false)) return over();
  execution_->resume();
}

}  // namespace tutti::mpi
