// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/incident.hpp"

#include "base/flight.hpp"
#include "base/os/source_place.hpp"
#include "contract/ledger.hpp"
#include "contract/report.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/error.hpp"

namespace tutti::mpi {
namespace {

// " on MPI_COMM_WORLD (4 ranks)"
std::string on_text(const HasErrhandler* on) {
  if (!on) return "";
  return " on " + (on->ledger() ? contract::description(*on->ledger()) : on->description());
}

}  // namespace

CallSite here() {
  if (const flight::CallRecord* call = flight::now()) return {call->function, call->caller};
  return calling_thread.unrecorded;
}

void set_here(CallSite place) {
  calling_thread.unrecorded = place;
}

std::vector<Mention>& mentions() {
  return errors_of_thread().mentions;
}

std::vector<std::string> place_texts(const std::vector<CallSite>& places) {
  std::vector<CodeAddress> addresses;
  for (const CallSite& place : places) addresses.push_back(code_address(place.caller));
  std::vector<std::string> texts = source_places(addresses);
  for (size_t i = 0; i < places.size(); ++i)
    texts[i] = fmt::format("{} at {}", flight::name_of_function(places[i].function), texts[i]);
  return texts;
}

std::vector<std::string> story_of(CallSite place, const HasErrhandler* on, std::vector<Mention> mentions) {
  const contract::Ledger* ledger = on ? on->ledger() : nullptr;
  if (ledger && ledger->origin().caller)
    mentions.push_back(
        {fmt::format("the {} was made by", on->noun()), {ledger->origin().function, ledger->origin().caller}});
  std::vector<CodeAddress> addresses{code_address(place.caller)};
  for (const Mention& mention : mentions)
    addresses.push_back(mention.call.empty() ? code_address(mention.place.caller) : mention.address);
  const std::vector<std::string> places = source_places(addresses);

  const flight::CallRecord* call = flight::now();
  const bool known = call && call->function == place.function && call->caller == place.caller;
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "rank {}: {}{} at {}", my_process(),
      known ? flight::description(flight::read(*call)) : std::string(flight::name_of_function(place.function)),
      on_text(on), places[0]));
  for (size_t i = 0; i < mentions.size(); ++i)
    lines.push_back(fmt::format("{} {} at {}", mentions[i].text,
                                mentions[i].call.empty() ? flight::name_of_function(mentions[i].place.function)
                                                         : std::string_view(mentions[i].call),
                                places[i + 1]));
  return lines;
}

}  // namespace tutti::mpi
