// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/data/output_shape.hpp"

#include <cstring>

#include "mpi.h"

namespace tutti::launcher {

Error check_pattern(std::string_view pattern) {
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') continue;
    const char letter = ++at < pattern.size() ? pattern[at] : ' ';
    if (!std::strchr("rnj%", letter))
      return failure(MPI_ERR_ARG,
                     "'{}': in a file's name stand %r for the rank, %n for its node, %j for the job "
                     "and %% for a percent sign",
                     pattern);
  }
  return {};
}

std::string output_file(const OutputShape& shape, int rank, OutputStream stream, const std::string& node,
                        const std::string& job) {
  const bool error = stream == OutputStream::err && !shape.merge;
  if (!shape.folder.empty()) return fmt::format("{}/rank.{}/{}", shape.folder, rank, error ? "stderr" : "stdout");
  std::string out;
  bool names_rank = false;
  const std::string& pattern = shape.file;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%' || at + 1 == pattern.size()) {
      out += pattern[at];
      continue;
    }
    const char letter = pattern[++at];
    if (letter == 'r') out += std::to_string(rank), names_rank = true;
    if (letter == 'n') out += node;
    if (letter == 'j') out += job;
    if (letter == '%') out += '%';
  }
  // Files of all ranks may not be one.
  if (!names_rank) out += fmt::format(".{}", rank);
  return error ? out + ".err" : out;
}

}  // namespace tutti::launcher
