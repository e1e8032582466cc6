// SPDX-License-Identifier: BSD-3-Clause
// What a rank's profile says, as its node has read it: plain data that travels to the launcher, in nanoseconds, by the
// node's clock where it is a point in time. What the fields mean stands in profile/page.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::launcher {

struct ProfileCulprit {
  int process = -1;
  int kind = 0;  // profile::Wait
  int64_t time = 0;
};

struct ProfileSite {
  std::string function, region;
  std::string module;   // the file that its address is in; empty: not known
  uint64_t offset = 0;  // in the file's own addresses
  std::string place;    // in the source; empty until somebody has looked it up, which does not travel
  uint64_t calls = 0, collectives = 0, bytes = 0;
  int64_t time = 0;
  std::vector<int64_t> waited;  // by profile::Wait
  std::vector<ProfileCulprit> culprits;
};

struct ProfileCollective {
  uint64_t context = 0;
  uint32_t serial = 0;
  int leader = -1;
  int64_t entered = 0, waits_from = 0, left = 0;
  int site = 0;  // in RankProfile::sites
};

struct RankProfile {
  int node = 0;  // of the job; known to whoever was told
  int rank = 0, size = 0;
  std::string program;
  bool ended = false;           // by MPI_Finalize
  int64_t begun = 0, over = 0;  // over: when it ended, or was found to have ended
  uint64_t lost_sites = 0;
  uint32_t every = 1;
  int open_site = -1;                                                // the call that it was in when it ended
  std::vector<uint64_t> sent, sent_bytes, received, received_bytes;  // by length, profile::Size
  std::vector<ProfileSite> sites;
  std::vector<ProfileCollective> collectives;
};

// Numbers name what there is, also where it came over a wire.
bool is_sound(const RankProfile& profile);

}  // namespace tutti::launcher
