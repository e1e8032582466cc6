// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/agreement.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "contract/checker.hpp"
#include "contract/ledger.hpp"
#include "contract/report.hpp"
#include "contract/signature.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "mpi/comm/collective_call.hpp"

namespace tutti::mpi {
namespace {

constexpr size_t kMostListed = 8;  // values of an array in a sentence
constexpr size_t kMostParts = 4, kMostText = 88;

template <class Values>
uint32_t hash_of(const Values& values, int begin = 0) {
  uint64_t hash = 0x9e3779b97f4a7c15u + static_cast<uint64_t>(values.size());
  for (const int value : values) {
    hash = (hash ^ static_cast<uint32_t>(value + begin)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return static_cast<uint32_t>(hash) | 1;
}

std::string list_text(std::span<const int> values) {
  std::string text;
  for (size_t i = 0; i < std::min(values.size(), kMostListed); ++i)
    text += fmt::format("{}{}", i ? ", " : "", values[i]);
  if (values.size() > kMostListed) text += fmt::format(", … ({} in all)", values.size());
  return "[" + text + "]";
}

// One rank's parts, as they travel where ranks contradict each other.
struct PartSaid {
  uint32_t hash = 0;
  char text[kMostText - sizeof(uint32_t)] = {};
};
using PartsSaid = std::array<PartSaid, kMostParts>;

void put(PartSaid& to, uint32_t hash, const std::string& text) {
  to.hash = hash;
  const size_t length = std::min(text.size(), sizeof to.text - 1);
  std::memcpy(to.text, text.data(), length);
}

Error exchange(Comm& comm, Function function, const void* mine, void* all, size_t bytes) {
  coll::Call call = allgather_bytes(mine, all, static_cast<int64_t>(bytes));
  call.signature = contract::word_of(function);
  return run(comm, call);
}

// Of the call that has just exchanged what its ranks say: told once for the job, with the calls of all.
Error told(Comm& comm, int error_class, std::string sentence, std::string hint) {
  const engine::Engine::Guard own(*comm.hidden.engine);
  contract::Finding finding;
  finding.context = comm.hidden.context;
  finding.serial = comm.hidden.ledger->next() - 1;
  finding.error_class = error_class;
  finding.sentence = std::move(sentence);
  finding.hint = std::move(hint);
  comm.checker()->report_asking(std::move(finding));
  return settle(comm.hidden);
}

std::string verb(const Comm& comm, const std::vector<int>& ranks, const char* one, const char* many) {
  return contract::ranks_of(*comm.hidden.ledger, ranks) + " " + (ranks.size() == 1 ? one : many);
}

std::string name_of(Function function) {
  return contract::name_of(contract::word_of(function));
}

}  // namespace

void Given::add(const char* name, int value) {
  parts_.push_back({name, hash_of(std::span(&value, 1)), std::to_string(value)});
}

void Given::add_truth(const char* name, bool value) {
  const int truth = value;
  parts_.push_back({name, hash_of(std::span(&truth, 1)), value ? "true" : "false"});
}

void Given::add(const char* name, std::span<const int> values) {
  parts_.push_back({name, hash_of(values), list_text(values)});
}

// Any number but 0 is true, so that ranks may give different ones.
void Given::add_truths(const char* name, std::span<const int> values) {
  std::vector<int> truths(values.size());
  std::ranges::transform(values, truths.begin(), [](int value) { return value != 0; });
  add(name, truths);
}

void Given::add(const char* name, std::string text) {
  const std::vector<int> letters(text.begin(), text.end());
  parts_.push_back({name, hash_of(letters), std::move(text)});
}

uint32_t Given::hash() const {
  if (parts_.empty()) return 0;
  std::vector<int> hashes;
  for (const Part& part : parts_) hashes.push_back(static_cast<int>(part.hash));
  return hash_of(hashes);
}

Error agree(Comm& comm, Function function, const Given& mine, std::span<const uint32_t> said) {
  std::map<uint32_t, std::vector<int>> by_hash;
  for (size_t r = 0; r < said.size(); ++r)
    if (said[r]) by_hash[said[r]].push_back(static_cast<int>(r));
  if (by_hash.size() < 2) [[likely]]
    return {};

  PartsSaid my_parts{};
  for (size_t i = 0; i < std::min(mine.parts().size(), kMostParts); ++i)
    put(my_parts[i], mine.parts()[i].hash, mine.parts()[i].text);
  std::vector<PartsSaid> all(said.size());
  if (Error e = exchange(comm, function, &my_parts, all.data(), sizeof my_parts)) return e;

  // The many are taken to be right; of equals, those with the lowest rank.
  std::vector<std::vector<int>> parties;
  for (auto& [hash, ranks] : by_hash) parties.push_back(std::move(ranks));
  std::ranges::sort(parties, [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.front() < b.front();
  });
  const std::vector<int>&rest = parties[0], &odd = parties[1];
  const PartsSaid &of_rest = all[static_cast<size_t>(rest.front())], &of_odd = all[static_cast<size_t>(odd.front())];
  size_t differs = 0;
  while (differs + 1 < kMostParts && of_rest[differs].hash == of_odd[differs].hash) ++differs;
  // A rank that says nothing does not know the name, but is told by those that do.
  const std::string name = differs < mine.parts().size() ? mine.parts()[differs].name : "arguments";
  const std::string odd_text = of_odd[differs].text, rest_text = of_rest[differs].text;
  const std::string what =
      odd_text == rest_text
          ? fmt::format("other {} than {}", name, contract::ranks_of(*comm.hidden.ledger, rest))
          : fmt::format("{} = {} where {} {}", name, odd_text, verb(comm, rest, "has", "have"), rest_text);
  return told(comm, MPI_ERR_ARG,
              fmt::format("{} {} with {}, on {}", verb(comm, odd, "calls", "call"), name_of(function), what,
                          contract::description(*comm.hidden.ledger)),
              fmt::format("all ranks of the communicator give {} the same {}", name_of(function), name));
}

Error agree(Comm& comm, Function function, const Given& mine) {
  if (!Given::is_asked_for(comm)) return {};
  const uint32_t hash = mine.hash();
  std::vector<uint32_t> said(static_cast<size_t>(comm.hidden.size()));
  if (Error e = exchange(comm, function, &hash, said.data(), sizeof hash)) return e;
  return agree(comm, function, mine, said);
}

// ---- groups

Said said_of(const ProcessList& members, int begin) {
  return {hash_of(members, begin), members.size()};
}

namespace {

// Whether each group that is given is given by all of its members: those that are inside of what they give are members
// of it, so that their number tells.
bool are_given_by_all(std::span<const Said> said, std::span<const char> inside, size_t begin, size_t end) {
  std::map<uint32_t, int32_t> givers;
  for (size_t r = begin; r < end; ++r) givers[said[r].hash] += inside[r] != 0;
  for (size_t r = begin; r < end; ++r)
    if (said[r].hash && givers[said[r].hash] != said[r].members) return false;
  return true;
}
bool are_one(std::span<const Said> said, size_t begin, size_t end) {
  uint32_t one = 0;
  for (size_t r = begin; r < end; ++r) {
    if (one && said[r].hash && said[r].hash != one) return false;
    if (said[r].hash) one = said[r].hash;
  }
  return true;
}

// What a rank says of its group where it contradicts that of another one.
struct GroupSaid {
  int32_t against = -1;  // the first rank that should have given it, too, and has not
  char text[kMostText - sizeof(int32_t)] = {};
};

std::string group_text(const Comm& comm, std::span<const int> members) {
  if (members.empty()) return "an empty group";
  const Sides& sides = comm.hidden.sides;
  std::string text;
  for (size_t i = 0; i < std::min(members.size(), kMostListed); ++i)
    text += fmt::format("{}{}", i ? ", " : "", sides ? members[i] - sides.begin() : members[i]);
  if (members.size() > kMostListed) text += fmt::format(", … ({} in all)", members.size());
  return fmt::format("the group of {} {}", members.size() == 1 ? "rank" : "ranks", text);
}

}  // namespace

Error agree_on_groups(Comm& comm, std::span<const Said> said, std::span<const char> inside,
                      std::span<const int> members) {
  const size_t size = said.size();
  const Sides sides =
      comm.hidden.sides ? comm.hidden.sides : Sides{static_cast<int>(size), static_cast<int>(size), comm.hidden.rank};
  const auto begin = static_cast<size_t>(sides.begin()), end = begin + static_cast<size_t>(sides.size());
  const auto other_begin = static_cast<size_t>(sides.other_begin()),
             other_end = other_begin + static_cast<size_t>(sides.other_size());
  const bool between = comm.is_inter();
  const bool agreed = are_given_by_all(said, inside, begin, end) &&
                      are_given_by_all(said, inside, other_begin, other_end) &&
                      (!between || (are_one(said, begin, end) && are_one(said, other_begin, other_end)));
  if (agreed) [[likely]]
    return {};

  const Said& mine = said[static_cast<size_t>(comm.hidden.rank)];
  GroupSaid group;
  for (size_t i = 0; mine.hash && i < members.size() && group.against < 0; ++i) {
    const auto member = static_cast<size_t>(members[i]);
    if (said[member].hash != mine.hash || !inside[member]) group.against = members[i];
  }
  for (size_t r = begin; between && mine.hash && r < end && group.against < 0; ++r)
    if (said[r].hash && said[r].hash != mine.hash) group.against = static_cast<int32_t>(r);
  const std::string text = group_text(comm, members);
  std::memcpy(group.text, text.data(), std::min(text.size(), sizeof group.text - 1));
  std::vector<GroupSaid> all(size);
  if (Error e = exchange(comm, Function::Comm_create, &group, all.data(), sizeof group)) return e;

  const auto first = std::ranges::find_if(all, [](const GroupSaid& each) { return each.against >= 0; });
  if (first == all.end()) return {};
  std::vector<int> givers;
  for (size_t r = 0; r < size; ++r)
    if (said[r].hash == said[static_cast<size_t>(first - all.begin())].hash) givers.push_back(static_cast<int>(r));
  const std::string other = all[static_cast<size_t>(first->against)].text, one = first->text;
  return told(comm, MPI_ERR_GROUP,
              fmt::format("{} MPI_Comm_create with {} where {} {}, on {}", verb(comm, givers, "calls", "call"), one,
                          verb(comm, {first->against}, "has", "have"), one == other ? "another one" : other,
                          contract::description(*comm.hidden.ledger)),
              between ? "all ranks of a side give one group, in one order (MPI 5.0, section 7.4.2)"
                      : "all members of a group give it, in one order; the groups of others have no member of it "
                        "(MPI 5.0, section 7.4.2)");
}

}  // namespace tutti::mpi
