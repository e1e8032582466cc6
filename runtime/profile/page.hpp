// SPDX-License-Identifier: BSD-3-Clause
// The page of a rank's profile, as it lies in a file of the job's folder on its node, mapped by the rank: it outlives the
// rank however that ends, and goes with the folder. Without a launcher of ours there is no such folder, and the pages of all
// ranks lie in one that the setting profile.file names. Bounded: call sites that find no place share the last one, and of the
// calls of collectives those are kept whose serials are multiples of a power of two, which grows when the table is full;
// serials are the same at all ranks, and so are those that are kept.
//
// Data alone: the rank writes it (profiler.cpp), its node reads it when the rank is gone (launcher/node/profiles.cpp). Times
// are ticks of cpu::ticks(), which the processes of a node share; `begun` and `seen` have both clocks at one moment each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::profile {

inline constexpr char kMagic[8] = {'t', 'u', 't', 't', 'i', 'p', 'r', '3'};
inline constexpr uint32_t kSites = 1024, kCalls = 2048, kModules = 64, kRegions = 64, kCulprits = 4, kSizes = 44;
// Of a site's calls: batches of as many in a row, and by length.
inline constexpr uint32_t kBatches = 16, kDurations = 32;
inline constexpr uint8_t kNoModule = 0xff;

// Why a call did not go on. That others came late to a collective is not told by one rank: see Collective.
enum class Wait : uint8_t {
  late_sender,    // its message had not arrived
  late_receiver,  // it had not matched the message
  lock,           // of a window, which others held
  elsewhere,      // another rank had to see to a window
  to_the_end,     // the job ended before the call: counted when the page is read
  asking,         // a run of calls that only look (MPI_Test), one close behind the other
};
inline constexpr uint32_t kWaits = 6;

// The ranks for which a site waited longest, as far as there is room: who takes the last place inherits its time, so that
// none that matters is missed, and times are upper bounds.
struct Culprit {
  int32_t process = -1;
  Wait kind = Wait::late_sender;
  uint64_t ticks = 0;
};

// What was done with files by calls of the operating system.
struct FileUse {
  uint64_t pieces = 0, bytes = 0, ticks = 0;
  uint64_t unaligned = 0;  // pieces that begin or end within what the file system moves at once
};
inline constexpr uint32_t kFileUses = 3;  // read, written, and what moves nothing: locks, to make longer, to close

// A place in the program that calls a function, in a region.
struct Site {
  uint64_t caller = 0;  // 0: free
  uint64_t offset = 0;  // of the caller in its module, in the file's own addresses
  uint16_t function = 0;
  uint8_t module = kNoModule;
  uint8_t region = 0;
  uint32_t collectives = 0;  // calls of collectives that ended here
  uint64_t calls = 0, ticks = 0;
  uint64_t shortest = ~uint64_t{0};  // of the calls
  uint64_t bytes = 0;                // of files, that the calls have asked for
  FileUse file;                      // in the calls, by their own thread
  uint64_t waited[kWaits] = {};
  Culprit culprits[kCulprits];
  // Ticks of batches of `per_batch` calls each, the first ones first: how much the mean of calls changes while the program
  // runs, also where calls that follow each other are alike. Where all are full, two become one.
  uint64_t batches[kBatches] = {};
  uint64_t per_batch = 1;
  // Calls of less than 2^(i + kShortestBits) ticks, and the last one: all that are longer.
  uint32_t durations[kDurations] = {};
};
inline constexpr uint32_t kShortestBits = 7;

// One call of a collective at this rank.
struct Collective {
  uint64_t context = 0;  // with serial and leader its identity
  uint32_t serial = 0;   // 0: free
  int32_t leader = -1;   // process of the communicator's first rank: disjoint communicators may share a context
  uint64_t entered = 0;
  // When a call began to wait for it, perhaps the same one, and when it was over; 0: not, or not yet.
  uint64_t waits_from = 0, left = 0;
  uint32_t site = 0;  // of the call that waited
  uint32_t unused = 0;
  uint64_t at_file = 0;  // ticks that its thread was at files between the collective before and this one
};

// By the length of messages: [0] of none, [i] of less than 2^i bytes.
struct Size {
  uint64_t messages = 0, bytes = 0;
};

struct Page {
  char magic[8] = {};
  uint32_t bytes = 0;  // of this struct, which changes with its version
  int32_t rank = -1, size = 0;
  uint32_t every = 1;  // serials of the collectives that are kept
  char program[128] = {}, host[64] = {};
  uint64_t begun = 0;
  int64_t begun_nanoseconds = 0;
  // Both clocks at a later moment, now and then.
  uint64_t seen = 0;
  int64_t seen_nanoseconds = 0;
  uint64_t ended = 0;  // in MPI_Finalize; 0: not
  // The call that a thread has waited in for long; 0: none.
  uint64_t open_since = 0;
  uint32_t open_site = 0;
  int32_t open_process = -1;  // for which it waits, if that is one
  uint32_t collectives_kept = 0, unused = 0;
  // While operations that do not block were under way, the rank was outside of MPI, and inside.
  uint64_t overlapped = 0, exposed = 0;
  uint64_t lost_sites = 0;  // calls at places that have none of their own
  Size sent[kSizes], received[kSizes];
  FileUse files[kFileUses];  // by all threads
  uint64_t file_unit = 0;    // the largest one, in bytes
  char modules[kModules][256] = {};
  char regions[kRegions][48] = {};  // [0]: none
  Site sites[kSites];               // the last one is that of all that find no place
  Collective collectives[kCalls];
};

inline std::string file_name(int rank) {
  return "profile." + std::to_string(rank);
}
inline constexpr std::string_view kFilePrefix = "profile.";

}  // namespace tutti::profile
