// SPDX-License-Identifier: BSD-3-Clause
// Notes of --check=strict: what is no error, and what one rank has to say of it. At MPI_Finalize
// those of all ranks are put together, so that each is told once. Pure, but for source lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/source_place.hpp"

namespace tutti::contract {

enum class NoteKind : uint8_t {
  race,            // one note a place
  unready,         // likewise
  undefined,       // one note for each detail, with the first place
  between_fences,  // a lock, one note a place
  file_race,       // two ranks that write the same bytes, one note a place
  window_race,     // operations of two ranks on the same bytes of a window, one note for each two calls
  file_error,      // this and the others: one a kind
  request,
  persistent,  // a persistent request, active or not
  message,
  taken_message,
  cut_off_message,  // its communicator was disconnected
  comm,
  datatype,
  op,
  group,
  window,
  file,
  unseen_order,  // has no line: while a rank has this note, window_race has none either
};

// So many of a kind, from one place.
struct Note {
  NoteKind kind;
  uint16_t function = 0;  // that made it
  std::string module;     // of the call's address
  uint64_t offset = 0;
  uint64_t count = 1;
  std::string detail;      // of this place: "to rank 1 with tag 7"
  std::vector<int> ranks;  // whose it is, once they are put together
};

class Notes {
 public:
  // By this process; alike ones are counted.
  void add(NoteKind kind, uint16_t function, uint64_t caller, std::string detail = "");
  void add(NoteKind kind, uint16_t function, CodeAddress address, std::string detail);
  void add(const Notes& others);

  std::string packed() const;
  void add_packed(std::string_view bytes, int rank);  // of what a rank has packed

  // The lines, each kind at most one, with the places.
  std::vector<std::string> lines() const;
  bool empty() const { return notes_.empty(); }

 private:
  void add(Note note);
  std::vector<Note> notes_;
};

}  // namespace tutti::contract
