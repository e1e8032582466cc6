// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/hints.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/log.hpp"
#include "base/once.hpp"

namespace tutti::mpi::file {
namespace {

// False: it means nothing. 0 is no wish, as programs write it that have a field for each hint.
bool number(const std::string& text, int64_t& value, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, base);
  return read.ec == std::errc() && read.ptr == end && value >= 0;
}

bool buffering(const std::string& text, Hints::CollectiveBuffering& value) {
  if (text == "true" || text == "enable") return value = Hints::CollectiveBuffering::always, true;
  if (text == "false" || text == "disable") return value = Hints::CollectiveBuffering::never, true;
  if (text == "automatic") return value = Hints::CollectiveBuffering::automatic, true;
  return false;
}

constexpr std::string_view kOnlyTold[] = {"access_style",  "chunked",      "chunked_item", "chunked_size",
                                          "cb_block_size", "io_node_list", "nb_proc",      "num_io_nodes"};

}  // namespace

void Hints::take(const Info* info, bool speaks) {
  if (!info) return;
  for (const auto& [key, value] : info->entries()) {
    int64_t n = 0;
    bool good = true;
    if (key == "cb_buffer_size") {
      if ((good = number(value, n)) && n > 0) cb_buffer_size = std::max<int64_t>(n, 4096);
    } else if (key == "cb_nodes") {
      if ((good = number(value, n)) && n > 0) cb_nodes = static_cast<int>(std::min<int64_t>(n, 1 << 20));
    } else if (key == "striping_unit") {
      if ((good = number(value, n)) && n > 0) striping_unit = n;
    } else if (key == "striping_factor") {
      if ((good = number(value, n)) && n > 0) striping_factor = n;
    } else if (key == "file_perm") {
      if ((good = number(value, n, 8) && n <= 07777) && n > 0) permissions = static_cast<int>(n);
    } else if (key == "collective_buffering") {
      if ((good = buffering(value, buffered_reads))) buffered_writes = buffered_reads;
    } else if (key == "romio_cb_read") {
      good = buffering(value, buffered_reads);
    } else if (key == "romio_cb_write") {
      good = buffering(value, buffered_writes);
    } else if (std::ranges::find(kOnlyTold, key) != std::end(kOnlyTold)) {
      std::erase_if(told, [&key = key](const Info::Entry& e) { return e.first == key; });
      told.emplace_back(key, value);
    }
    if (good) continue;
    const std::string sentence = fmt::format("the hint {} of a file cannot be \"{}\"; it is ignored", key, value);
    say(speaks && is_first_to_say(sentence) ? Level::note : Level::debug, "{}", sentence);
  }
}

}  // namespace tutti::mpi::file
