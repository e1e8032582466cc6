// SPDX-License-Identifier: BSD-3-Clause
#include "contract/notes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/flight.hpp"
#include "base/os/source_place.hpp"
#include "contract/report.hpp"

namespace tutti::contract {
namespace {

constexpr size_t kMostPlaces = 8;  // in a line

struct Words {
  const char *one, *many, *what, *made;
};
constexpr Words kWords[] = {
    {"", "", "", ""},
    {"", "", "", ""},
    {"", "", "", ""},
    {"", "", "", ""},
    {"", "", "", ""},
    {"", "", "", ""},
    {"", "", "", ""},
    {"request", "requests", "never completed", "started"},
    {"persistent request", "persistent requests", "never freed", "made"},
    {"message", "messages", "sent and never received", "sent"},
    {"message", "messages", "matched by a probe and never received", "matched"},
    {"message", "messages", "of a connection never received", "cut off"},
    {"communicator", "communicators", "never freed", "made"},
    {"datatype", "datatypes", "never freed", "made"},
    {"operation", "operations", "never freed", "made"},
    {"group", "groups", "never freed", "made"},
    {"window", "windows", "never freed", "made"},
    {"file", "files", "never closed", "opened"},
    {"", "", "", ""},
};

// "MPI_Comm_dup at solver.c:42, in main()"
std::string call_text(const Note& note, const std::string& place) {
  return fmt::format("{} at {}", flight::name_of_function(note.function), place);
}

std::string race_line(const Note& note, const std::string& place) {
  return fmt::format("race: time alone decides which message {} takes on {}: {}", call_text(note, place),
                     ranks_text(note.ranks), note.detail);
}

std::string unready_line(const Note& note, const std::string& place) {
  return fmt::format(
      "not ready: {} is called when a message of MPI_Rsend is there already, which came without a posted "
      "receive (the standard, section 3.4; {}): from {}",
      call_text(note, place), ranks_text(note.ranks), note.detail);
}

std::string undefined_line(const Note& note, const std::string& place) {
  return fmt::format(
      "undefined: the standard (section 6.9.2) does not define {}; it is computed all the "
      "same, but another MPI may refuse it: {} ({})",
      note.detail, call_text(note, place), ranks_text(note.ranks));
}

std::string between_fences_line(const Note& note, const std::string& place) {
  return fmt::format(
      "epochs: {} locks a window between two calls of MPI_Win_fence, which may begin and end an epoch in which the "
      "window is exposed, and one that is exposed is not locked (the standard, section 12.5.3): give "
      "MPI_MODE_NOSUCCEED to the fence before it, or MPI_MODE_NOPRECEDE to the one behind it ({})",
      call_text(note, place), ranks_text(note.ranks));
}

std::string file_race_line(const Note& note, const std::string& place) {
  return fmt::format(
      "race: {} ({}) writes {}, and nothing orders the two: what is there afterwards is undefined in nonatomic mode; "
      "call MPI_File_sync, MPI_Barrier and MPI_File_sync between them (the standard, section 14.6.1)",
      call_text(note, place), ranks_text(note.ranks), note.detail);
}

std::string file_errors_line(const std::vector<const Note*>& notes, const std::vector<std::string>& places) {
  uint64_t count = 0;
  for (const Note* note : notes) count += note->count;
  return fmt::format(
      "errors of files: {} returned, of which nobody has asked for the class or the text (the error handler of files "
      "is MPI_ERRORS_RETURN at first; the standard, section 14.7): {} ({}), {}{}",
      count == 1 ? "1 was" : fmt::format("{} were", count), call_text(*notes[0], places[0]),
      ranks_text(notes[0]->ranks), notes[0]->detail,
      notes.size() > 1 ? fmt::format("; and {} more place{}", notes.size() - 1, notes.size() == 2 ? "" : "s") : "");
}

// Of a note that has a line of its own.
std::optional<std::string> own_line(const Note& note, const std::string& place) {
  switch (note.kind) {
    case NoteKind::race:
      return race_line(note, place);
    case NoteKind::unready:
      return unready_line(note, place);
    case NoteKind::undefined:
      return undefined_line(note, place);
    case NoteKind::between_fences:
      return between_fences_line(note, place);
    case NoteKind::file_race:
      return file_race_line(note, place);
    case NoteKind::window_race:
      return "race: " + note.detail;
    default:
      return std::nullopt;
  }
}

std::string kind_line(const std::vector<const Note*>& notes, const std::vector<std::string>& places) {
  const Words& words = kWords[static_cast<size_t>(notes[0]->kind)];
  uint64_t count = 0;
  for (const Note* note : notes) count += note->count;
  std::string text =
      fmt::format("left over at MPI_Finalize: {} {} {}", count, count == 1 ? words.one : words.many, words.what);
  for (size_t i = 0; i < std::min(notes.size(), kMostPlaces); ++i) {
    const Note& note = *notes[i];
    text += fmt::format("{} by {}{}{} ({}{})", i == 0 ? fmt::format(", {}", words.made) : ";",
                        call_text(note, places[i]), note.detail.empty() ? "" : ", ", note.detail,
                        ranks_text(note.ranks), note.count == note.ranks.size() ? "" : fmt::format(": {}", note.count));
  }
  if (notes.size() > kMostPlaces) text += fmt::format("; and at {} more places", notes.size() - kMostPlaces);
  return text;
}

}  // namespace

void Notes::add(Note note) {
  for (Note& known : notes_) {
    const bool same_place =
        known.function == note.function && known.offset == note.offset && known.module == note.module;
    // What is undefined is told once, wherever.
    if (known.kind != note.kind || !(same_place || note.kind == NoteKind::undefined)) continue;
    // Of a race one example is enough.
    if (known.detail != note.detail && note.kind != NoteKind::race) continue;
    known.count += note.count;
    for (const int rank : note.ranks)
      if (std::ranges::find(known.ranks, rank) == known.ranks.end()) known.ranks.push_back(rank);
    std::ranges::sort(known.ranks);
    return;
  }
  notes_.push_back(std::move(note));
}

void Notes::add(NoteKind kind, uint16_t function, uint64_t caller, std::string detail) {
  add(kind, function, code_address(caller), std::move(detail));
}

void Notes::add(NoteKind kind, uint16_t function, CodeAddress address, std::string detail) {
  std::ranges::replace_if(detail, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  add({kind, function, std::move(address.module), address.offset, 1, std::move(detail), {}});
}

void Notes::add(const Notes& others) {
  for (const Note& note : others.notes_) add(note);
}

// Fields end with a tabulator, notes with a line feed; neither is in them.
std::string Notes::packed() const {
  std::string bytes;
  for (const Note& n : notes_)
    bytes += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", static_cast<int>(n.kind), n.function, n.offset, n.count, n.detail,
                         n.module);
  return bytes;
}

void Notes::add_packed(std::string_view bytes, int rank) {
  const auto field = [&bytes](char end) {
    const std::string_view text = bytes.substr(0, bytes.find(end));
    bytes.remove_prefix(std::min(bytes.size(), text.size() + 1));
    return text;
  };
  const auto number = [&field] {
    uint64_t value = 0;
    const std::string_view text = field('\t');
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  while (!bytes.empty()) {
    Note note{};
    note.kind = static_cast<NoteKind>(std::min<uint64_t>(number(), std::size(kWords) - 1));
    note.function = static_cast<uint16_t>(number());
    note.offset = number();
    note.count = number();
    note.detail = field('\t');
    note.module = field('\n');
    note.ranks = {rank};
    add(std::move(note));
  }
}

std::vector<std::string> Notes::lines() const {
  const auto is_unseen = [](const Note& note) { return note.kind == NoteKind::unseen_order; };
  const bool unseen = std::ranges::any_of(notes_, is_unseen);
  std::vector<const Note*> sorted;
  for (const Note& note : notes_)
    if (!is_unseen(note) && !(unseen && note.kind == NoteKind::window_race)) sorted.push_back(&note);
  std::ranges::stable_sort(sorted, [](const Note* a, const Note* b) {
    return a->kind != b->kind ? a->kind < b->kind : a->count > b->count;
  });
  std::vector<CodeAddress> addresses;
  for (const Note* note : sorted) addresses.push_back({note->module, note->offset});
  const std::vector<std::string> places = source_places(addresses);

  std::vector<std::string> lines;
  for (size_t i = 0; i < sorted.size();) {
    if (const auto line = own_line(*sorted[i], places[i])) {
      lines.push_back(*line);
      ++i;
      continue;
    }
    size_t end = i;
    while (end < sorted.size() && sorted[end]->kind == sorted[i]->kind) ++end;
    const auto first = static_cast<std::ptrdiff_t>(i), last = static_cast<std::ptrdiff_t>(end);
    const std::vector<const Note*> alike(sorted.begin() + first, sorted.begin() + last);
    const std::vector<std::string> theirs(places.begin() + first, places.begin() + last);
    lines.push_back(alike[0]->kind == NoteKind::file_error ? file_errors_line(alike, theirs)
                                                           : kind_line(alike, theirs));
    i = end;
  }
  return lines;
}

}  // namespace tutti::contract
