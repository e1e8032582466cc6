// SPDX-License-Identifier: BSD-3-Clause
// Jobs that clients of PMIx start (PMIx_Spawn, by which Open MPI 5 does MPI_Comm_spawn) are kin: each has a launcher and
// servers of its own, and what their ranks ask of each other goes through the launcher of the first one (launcher/family).
// Here is what they ask, as plain data: only the PMIx servers' files know the words of PMIx.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/data/job_map.hpp"

namespace tutti::launcher {

struct Ask {
  enum class What : uint8_t {
    spawn,      // words: the arguments of an mpirun
    publish,    // words: names; values: what they stand for
    lookup,     // words: names
    unpublish,  // words: names
    modex,      // words: a namespace; rank: whose published data is wanted
  };
  What what = What::spawn;
  std::string who;  // asks: "namespace:rank"
  std::vector<std::string> words, values;
  int rank = 0;
  int64_t seconds = 0;                   // lookup: how long it may wait for names that are not there yet; kForEver
  bool once = false;                     // publish: gone as soon as it has been looked up
  std::vector<std::string> environment;  // spawn: of the new processes, before their own variables
};
inline constexpr int64_t kForEver = -1;

enum class Outcome : uint8_t { well, refused, not_started, not_found, exists, late };

struct Reply {
  Outcome outcome = Outcome::well;
  // spawn: the namespace; lookup: of each value its name, and who has published it.
  std::vector<std::string> words, values;
};

// What a job has its family for. Whatever it asks is answered, sooner or later, by its number.
class Beyond {
 public:
  virtual ~Beyond() = default;
  virtual void ask(uint64_t number, const Ask& ask) = 0;
  // All processes of the job that take part have come to a fence, or the like, that those of other jobs take part in.
  virtual void meet(const std::string& key, const std::string& data) = 0;
  virtual void answer(uint64_t number, int status, const std::string& data) = 0;  // what another job has wanted
  virtual void launched() = 0;
  virtual void failed(int exit_code) = 0;
};

// The key of a fence, or the like, begins with its members, "namespace:rank " each; behind a '#' stands which one it is.
inline constexpr std::string_view kConnects = "#connect#", kGroups = "#group#", kDisconnects = "#disconnect#";

inline std::vector<std::string> namespaces_of(std::string_view key) {
  std::vector<std::string> out;
  for (size_t at = 0; at < key.size() && key[at] != '#';) {
    const size_t space = std::min(key.find(' ', at), key.size());
    const std::string name(key.substr(at, std::min(key.rfind(':', space), space) - at));
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
    at = space + 1;
  }
  return out;
}

}  // namespace tutti::launcher
