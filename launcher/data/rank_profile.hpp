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

// profile::FileUse.
struct ProfileFileUse {
  uint64_t pieces = 0, bytes = 0, unaligned = 0;
  int64_t time = 0;
};

struct ProfileSite {
  std::string function, region;
  std::string module;   // the file that its address is in; empty: not known
  uint64_t offset = 0;  // in the file's own addresses
  std::string place;    // in the source; empty until somebody has looked it up, which does not travel
  uint64_t calls = 0, collectives = 0, bytes = 0;
  ProfileFileUse file;
  int64_t time = 0;
  std::vector<int64_t> waited;  // by profile::Wait
  std::vector<ProfileCulprit> culprits;
  std::vector<int64_t> batches;     // means of as many calls in a row, the first ones first, of those that are full
  std::vector<uint64_t> durations;  // calls of less than 2^i nanoseconds, and not of less than half of it
};

struct ProfileCollective {
  uint64_t context = 0;
  uint32_t serial = 0;
  int leader = -1;
  int64_t entered = 0, waits_from = 0, left = 0;
  int site = 0;  // in RankProfile::sites
  int64_t at_file = 0;
};

struct ProfileSpan {
  int site = 0;  // in RankProfile::sites
  int64_t begun = 0, over = 0, waited = 0;
  int64_t waits_to = 0;  // 0: it has not waited
  int process = -1;
  int kind = 0;    // profile::Wait
  int thread = 0;  // of the rank, as far as they are told apart
};
struct ProfileMessage {
  bool is_receive = false;
  int process = -1, tag = 0;
  uint64_t context = 0;
  uint32_t number = 0;
  int64_t at = 0, bytes = 0;
  int thread = 0;
};
struct ProfilePeer {
  int process = -1;
  uint64_t messages = 0, bytes = 0;
};
// What profile/timeline.hpp says, where the ranks have kept one.
struct ProfileTimeline {
  int64_t period = 0;  // how long one is; 0: there is no timeline. The first one begins with the profile
  std::vector<std::vector<int64_t>> spent;  // by profile::Doing and period
  int64_t least = 0;                        // every call that lasted longer is among the spans
  uint32_t every = 1;
  uint64_t unnamed_messages = 0, other_peers_bytes = 0;
  std::vector<ProfileSpan> spans;  // in order of time
  std::vector<ProfileMessage> messages;
  std::vector<ProfilePeer> peers;
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
  std::vector<ProfileFileUse> files;                                 // read, written, the rest
  uint64_t file_unit = 0;                                            // bytes; 0: not known
  std::vector<ProfileSite> sites;
  std::vector<ProfileCollective> collectives;
  // While operations that do not block were under way, it was outside of MPI, and inside.
  int64_t overlapped = 0, exposed = 0;
  ProfileTimeline timeline;
};

// Numbers name what there is, also where it came over a wire.
bool is_sound(const RankProfile& profile);

}  // namespace tutti::launcher
