// SPDX-License-Identifier: BSD-3-Clause
#include "contract/report.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>

#include "contract/deadlock_report.hpp"

namespace tutti::contract {
namespace {

template <size_t N>
void put(char (&to)[N], std::string_view text) {
  const size_t length = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

// Ranks that say the same.
struct Party {
  Word word = 0;
  std::vector<const Side*> sides;
  std::vector<int> ranks() const {
    std::vector<int> out;
    for (const Side* side : sides) out.push_back(side->rank);
    return out;
  }
};

std::string plural(size_t n, const char* one, const char* many) {
  return n == 1 ? one : many;
}

// "2 of MPI_INT"
std::string data_text(const flight::CallRecord& call) {
  const bool other = call.count < 0 && call.other_count >= 0;
  const int64_t count = other ? call.other_count : call.count;
  const std::string type = flight::name_of_datatype(other ? call.other_type : call.type);
  return count < 0 ? "its data" : fmt::format("{} of {}", count, type);
}

std::string verb(const Party& party, const Ledger& ledger, const std::string& name) {
  return fmt::format("{} {} {}", ranks_of(ledger, party.ranks()), plural(party.sides.size(), "calls", "call"), name);
}

// "root 2"; between two groups each rank says what the root is to it.
std::string root_text(const Party& party, const Ledger& ledger) {
  const flight::CallRecord& call = party.sides[0]->call;
  if (call.peer_is() != flight::PeerIs::root) {  // the word alone is known, whose root counts through both groups
    const bool is_itself = ledger.channel().sides && root_of(party.word) == party.sides[0]->rank % kRootMask;
    return is_itself ? "root MPI_ROOT" : fmt::format("root {}", root_of(party.word));
  }
  if (call.peer == MPI_ROOT) return "root MPI_ROOT";
  if (call.peer == MPI_PROC_NULL) return "root MPI_PROC_NULL";
  return fmt::format("root {}", call.peer);
}

// "rank 0 of group A has root MPI_ROOT and rank 0 of group B has root 0", with such a verb: between two groups ranks that agree name one rank in
// different words, and each is told with its own.
std::string with_roots(const Party& party, const Ledger& ledger, const char* of_one, const char* of_many) {
  std::vector<Party> parts;
  for (const Side* side : party.sides) {
    const Party alone{side->word, {side}};
    const auto same =
        std::ranges::find_if(parts, [&](const Party& p) { return root_text(p, ledger) == root_text(alone, ledger); });
    same == parts.end() ? parts.push_back(alone) : same->sides.push_back(side);
  }
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += fmt::format("{}{} {} {}",
                        i == 0                  ? ""
                        : i + 1 == parts.size() ? " and "
                                                : ", ",
                        ranks_of(ledger, parts[i].ranks()), plural(parts[i].sides.size(), of_one, of_many),
                        root_text(parts[i], ledger));
  return text;
}

const char* form_text(Word word) {
  switch (form_of(word)) {
    case Form::blocking:
      return "blocking";
    case Form::nonblocking:
      return "nonblocking";
    case Form::persistent:
      return "persistent";
  }
  return "";
}

std::string op_text(const Party& party, const Party& other) {
  const bool of_users = op_of(party.word) >= kUserOpInOrder && op_of(other.word) >= kUserOpInOrder;
  if (of_users)
    return op_of(party.word) == kUserOp ? "an operation that commutes" : "an operation that does not commute";
  const flight::CallRecord& call = party.sides[0]->call;
  return call.state == flight::State::none ? "another operation" : flight::name_of_op(call.op);
}

struct Sentence {
  std::string text, hint;
  int error_class;
};

Sentence compose(Difference difference, const Party& odd, const Party& rest, const Ledger& ledger,
                 const std::string& odd_place, const std::string& rest_place) {
  const std::string where = description(ledger);
  const std::string name = name_of(odd.word), other = name_of(rest.word);
  const auto differing = [&](const std::string& a, const std::string& b) {
    return fmt::format("{} with {}{} where {} {} {}{}, on {}", verb(odd, ledger, name), a, odd_place,
                       ranks_of(ledger, rest.ranks()), plural(rest.sides.size(), "has", "have"), b, rest_place, where);
  };
  switch (difference) {
    case Difference::none:
    case Difference::function:
      break;
    case Difference::form:
      return {fmt::format("{}{} where {}{}, on {}", verb(odd, ledger, name), odd_place, verb(rest, ledger, other),
                          rest_place, where),
              fmt::format("a {} collective does not match a {} one (MPI 5.0, section 6.12)", form_text(odd.word),
                          form_text(rest.word)),
              MPI_ERR_OTHER};
    case Difference::root:
      return {fmt::format("{}{} where {}{}, on {}",
                          with_roots(odd, ledger, fmt::format("calls {} with", name).c_str(),
                                     fmt::format("call {} with", name).c_str()),
                          odd_place, with_roots(rest, ledger, "has", "have"), rest_place, where),
              ledger.channel().sides ? "one rank gives MPI_ROOT, the others of its group MPI_PROC_NULL, and all "
                                       "of the other group that rank"
                                     : "all ranks name the same root",
              MPI_ERR_ROOT};
    case Difference::op:
      return {differing(op_text(odd, rest), op_text(rest, odd)), "all ranks name the same operation", MPI_ERR_OP};
    case Difference::in_place: {
      const auto text = [](const Party& party) { return is_in_place(party.word) ? "MPI_IN_PLACE" : "a send buffer"; };
      return {differing(text(odd), text(rest)), "all ranks give MPI_IN_PLACE, or none does (MPI 5.0, section 6.2.3)",
              MPI_ERR_BUFFER};
    }
    case Difference::type:
    case Difference::count: {
      const std::string a = data_text(odd.sides[0]->call), b = data_text(rest.sides[0]->call);
      const bool types = difference == Difference::type;
      // Of arrays, and of types that the program has made, there are no words that differ.
      const char* const alike = types ? "data of another type signature" : "another amount of data";
      return {a == b ? fmt::format("{} with {}{} than {}{}, on {}", verb(odd, ledger, name), alike, odd_place,
                                   ranks_of(ledger, rest.ranks()), rest_place, where)
                     : differing(a, b),
              types ? "the type signatures (counts times basic types) must agree" : "the amounts of data must agree",
              types ? MPI_ERR_TYPE : MPI_ERR_COUNT};
    }
  }
  return {fmt::format("{}{} where {}{}, on {}", verb(odd, ledger, name), odd_place, verb(rest, ledger, other),
                      rest_place, where),
          "the ranks of a communicator call its collectives in one order (MPI 5.0, section 6.14)", MPI_ERR_OTHER};
}

// A persistent collective is waited for where it was started, not where it was made.
std::string where_it_waits(const Party& party) {
  const flight::CallRecord& call = party.sides[0]->call;
  if (form_of(party.word) != Form::persistent) return name_of(party.word);
  return call.state == flight::State::none ? "MPI_Start" : std::string(flight::name_of_function(call.function));
}

// Whoever has no World Model is gone when its sessions are, at its exit.
bool ends_sessions(const Side& side) {
  return flight::name_of_function(side.call.function) == "MPI_Session_finalize";
}

// "MPI_Bcast(1 of MPI_INT, root 0) at solver.c:42, in exchange()", of this many ranks
std::string doing(const Side& side, const std::string& place, size_t ranks) {
  const bool known = side.call.state != flight::State::none;
  const std::string call = known ? flight::description(side.call) : "a call of MPI";
  switch (side.status) {
    case Status::silent:
      return plural(ranks, "does not answer", "do not answer");
    case Status::started:
      return fmt::format("{} at {}", call, place);
    case Status::not_yet:
      if (!known) return plural(ranks, "is not there yet", "are not there yet");
      return fmt::format("{} not there yet; {} {} at {}", plural(ranks, "is", "are"),
                         side.call.state == flight::State::inside
                             ? plural(ranks, "it is in", "they are in")
                             : plural(ranks, "its latest call is", "their latest call is"),
                         call, place);
    case Status::forgotten:
      return plural(ranks, "has long been past it", "have long been past it");
    case Status::freed:
      return fmt::format("{}, {} at {}",
                         plural(ranks, "has freed the communicator; it is in, or was in",
                                "have freed the communicator; they are in, or were in"),
                         call, place);
    case Status::finalizing:
      return ends_sessions(side) ? fmt::format("{} sessions, the last one at {}",
                                               plural(ranks, "has ended its", "have ended their"), place)
                                 : fmt::format("{} in MPI_Finalize, called at {}", plural(ranks, "is", "are"), place);
    case Status::unknown:
      return plural(ranks, "does not know the communicator", "do not know the communicator");
  }
  return "";
}

std::string parent_text(const Origin& origin) {
  const flight::Record* record = flight::mine();
  const auto parent = record ? flight::find_comm(*record, origin.parent) : std::nullopt;
  return parent && parent->name[0] ? fmt::format(" from {}", parent->name) : "";
}

}  // namespace

Details pack(const Side& side) {
  Details out{};
  out.status = side.status;
  out.word = side.word;
  out.call = side.call;
  out.offset = side.caller.offset;
  put(out.module, side.caller.module);
  put(out.host, side.host);
  return out;
}

Side unpack(const Details& details) {
  Side out;
  out.status = details.status;
  out.word = details.word;
  out.call = details.call;
  out.caller.offset = details.offset;
  out.caller.module.assign(details.module, strnlen(details.module, sizeof details.module));
  out.host.assign(details.host, strnlen(details.host, sizeof details.host));
  return out;
}

// Between two groups the first one is A, and ranks are numbered within theirs.
std::string ranks_of(const Ledger& ledger, const std::vector<int>& ranks) {
  const Sides& sides = ledger.channel().sides;
  if (!sides) return ranks_text(ranks);
  std::vector<int> of_a, of_b;
  for (const int rank : ranks) {
    if (rank < sides.first)
      of_a.push_back(rank);
    else
      of_b.push_back(rank - sides.first);
  }
  const std::string a = of_a.empty() ? "" : ranks_text(of_a) + " of group A";
  const std::string b = of_b.empty() ? "" : ranks_text(of_b) + " of group B";
  return a + (a.empty() || b.empty() ? "" : " and ") + b;
}

std::string description(const Ledger& ledger) {
  const engine::Channel& channel = ledger.channel();
  const int size = channel.size();
  const std::string ranks = channel.sides
                                ? fmt::format("{} and {} ranks", channel.sides.first, size - channel.sides.first)
                                : fmt::format("{} {}", size, size == 1 ? "rank" : "ranks");
  if (const std::string name = ledger.name(); !name.empty()) return fmt::format("{} ({})", name, ranks);
  return fmt::format("{} of {} made by {}{}", flight::product_of(ledger.origin().function), ranks,
                     flight::name_of_function(ledger.origin().function), parent_text(ledger.origin()));
}

namespace {

const char* freed_text(const Ledger& ledger) {
  const bool window = flight::name_of_function(ledger.origin().function).starts_with("MPI_Win_");
  return window ? "freed the window" : "freed the communicator";
}

// Who the groups are, by what every rank of the job knows.
std::string groups_text(const engine::Channel& channel) {
  const std::vector<int> all = channel.peers.to_vector();
  const auto half = all.begin() + channel.sides.first;
  std::vector<int> a(all.begin(), half), b(half, all.end());
  std::ranges::sort(a);
  std::ranges::sort(b);
  const Others& others = others_of_process();
  return fmt::format("group A has {} of MPI_COMM_WORLD, group B {}", processes_text(others, a),
                     processes_text(others, b));
}

}  // namespace

namespace {

Difference difference_of(const Ledger& ledger, const Party& one, const Party& other) {
  for (const Side* a : one.sides)
    for (const Side* b : other.sides)
      if (const Difference found = compare(ledger.channel().sides, a->word, a->rank, b->word, b->rank);
          found != Difference::none)
        return found;
  return Difference::none;
}

// What the sides do, each at its place in `places`: a line for each, but the same lines stand once, with their ranks.
std::vector<std::string> doings(const Ledger& ledger, const std::vector<Side>& sides,
                                const std::vector<std::string>& places) {
  struct Line {
    std::string of_one;
    size_t first;
    std::vector<int> ranks;
  };
  std::vector<Line> lines;
  for (size_t i = 0; i < sides.size(); ++i) {
    std::string text = doing(sides[i], places[i], 1);
    const auto same = std::ranges::find(lines, text, &Line::of_one);
    if (same == lines.end())
      lines.push_back({std::move(text), i, {sides[i].rank}});
    else
      same->ranks.push_back(sides[i].rank);
  }
  std::vector<std::string> out;
  for (const auto& [of_one, first, ranks] : lines)
    out.push_back(fmt::format("{}: {}", ranks_of(ledger, ranks), doing(sides[first], places[first], ranks.size())));
  return out;
}

}  // namespace

bool describe(Finding& finding, const Ledger& ledger, const std::vector<Side>& sides) {
  std::vector<Party> parties;
  std::vector<const Side*> gone;
  for (const Side& side : sides) {
    if (side.status == Status::freed || side.status == Status::finalizing) gone.push_back(&side);
    if (side.status != Status::started || side.word == 0) continue;
    const auto same = std::ranges::find_if(parties, [&](const Party& p) {
      return std::ranges::all_of(p.sides, [&](const Side* other) {
        return other->word == side.word ||
               compare(ledger.channel().sides, other->word, other->rank, side.word, side.rank) == Difference::none;
      });
    });
    if (same == parties.end())
      parties.push_back({side.word, {&side}});
    else
      same->sides.push_back(&side);
  }
  // Where a member has failed others may free the communicator before all have come out of the call that has ended by that.
  if (ledger.is_harmed()) gone.clear();
  // The many are taken to be right; of two equals, those with the lowest rank.
  std::ranges::stable_sort(parties, [](const Party& a, const Party& b) { return a.sides.size() > b.sides.size(); });
  const bool told = !finding.sentence.empty();  // a pair's: only the details are missing
  if (!told && (parties.empty() || (parties.size() == 1 && gone.empty()))) return false;

  std::vector<CodeAddress> addresses;
  for (const Side& side : sides) addresses.push_back(side.caller);
  addresses.push_back(code_address(ledger.origin().caller));
  const std::vector<std::string> places = source_places(addresses);
  const auto place_of = [&](const Side& side) { return places[static_cast<size_t>(&side - sides.data())]; };
  const auto short_place = [&](const Side& side) {
    if (side.caller.module.empty()) return std::string();
    const std::string place = place_of(side);
    return fmt::format(" ({})", place.substr(0, place.find(", in ")));
  };

  const std::string where = description(ledger);
  std::string hint;
  if (told) {
    hint = finding.hint.empty() ? "what a rank sends to another is what that one expects from it" : finding.hint;
  } else if (parties.size() > 1) {
    const Party &rest = parties[0], &odd = parties[1];
    Sentence said = compose(difference_of(ledger, rest, odd), odd, rest, ledger, short_place(*odd.sides[0]),
                            short_place(*rest.sides[0]));
    finding.sentence = std::move(said.text);
    finding.error_class = said.error_class;
    hint = std::move(said.hint);
  } else {
    Party left;
    for (const Side* side : gone) left.sides.push_back(side);
    const bool freed = gone[0]->status == Status::freed;
    finding.sentence = fmt::format(
        "{} {} {} while {} {} for {} in {}{}, on {}", ranks_of(ledger, left.ranks()),
        plural(left.sides.size(), "has", "have"),
        freed                     ? freed_text(ledger)
        : ends_sessions(*gone[0]) ? "ended its sessions"
                                  : "called MPI_Finalize",
        ranks_of(ledger, parties[0].ranks()), plural(parties[0].sides.size(), "waits", "wait"),
        plural(left.sides.size(), "it", "them"), where_it_waits(parties[0]), short_place(*parties[0].sides[0]), where);
    finding.error_class = MPI_ERR_OTHER;
    hint = "all ranks of a communicator take part in its collectives";
  }

  finding.details = doings(ledger, sides, places);
  if (ledger.channel().sides) finding.details.push_back(groups_text(ledger.channel()));
  if (const int not_asked = ledger.channel().size() - static_cast<int>(sides.size()); not_asked > 0)
    finding.details.push_back(
        fmt::format("(the other {} not asked)", not_asked == 1 ? "rank was" : fmt::format("{} ranks were", not_asked)));
  finding.details.push_back(fmt::format("it is collective call {} on {}{}", finding.serial + 1, where,
                                        ledger.origin().caller == 0 ? "" : fmt::format(", made at {}", places.back())));
  finding.details.push_back(hint);
  return true;
}

void describe_two_threads(Finding& finding, const Ledger& ledger, const flight::CallRecord& their_call) {
  const flight::CallRecord* mine = flight::now();
  const flight::CallRecord theirs = flight::read(their_call);
  const CodeAddress addresses[] = {code_address(mine ? mine->caller : 0), code_address(theirs.caller),
                                   code_address(ledger.origin().caller)};
  const std::vector<std::string> places = source_places(addresses);
  const auto name = [](const flight::CallRecord* call) {
    return call && call->number ? std::string(flight::name_of_function(call->function)) : std::string("a call of MPI");
  };
  const auto line = [&](const char* who, const flight::CallRecord* call, const std::string& place) {
    return fmt::format("{}: {} at {}", who,
                       call && call->number ? flight::description(flight::read(*call)) : "a call of MPI", place);
  };
  const std::string where = description(ledger);
  finding.sentence = fmt::format("two threads of {} are in collective calls at once, {} and {}, on {}",
                                 ranks_of(ledger, {ledger.channel().rank}), name(&theirs), name(mine), where);
  finding.details = {line("one thread", &theirs, places[1]), line("the other", mine, places[0])};
  if (ledger.origin().caller) finding.details.push_back(fmt::format("{} was made at {}", where, places[2]));
  finding.details.push_back(
      "a program with threads sees to it that the collective calls on one communicator come one "
      "after "
      "the other (MPI 5.0, section 6.14)");
}

std::string text_of(const Finding& finding) {
  std::string text = finding.sentence;
  for (const std::string& line : finding.details) text += "\n  " + line;
  return text;
}

}  // namespace tutti::contract
