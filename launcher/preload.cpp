// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/preload.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "mpi.h"

namespace tutti::launcher {
namespace {
constexpr size_t kPiece = 1 << 20;
constexpr size_t kMostBytes = size_t{1} << 30;  // they are held in memory until the nodes have them
}  // namespace

Error send_file(const std::string& path, const std::vector<Node*>& nodes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(MPI_ERR_FILE, "{} cannot be copied to other nodes: {}", path, std::strerror(errno));
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string piece(kPiece, '\0');
  size_t sent = 0;
  do {
    file.read(piece.data(), static_cast<std::streamsize>(kPiece));
    const auto count = static_cast<size_t>(file.gcount());
    if (file.bad())
      return failure(MPI_ERR_FILE, "{} cannot be copied to other nodes: it cannot be read (is it a folder?)", path);
    sent += count;
    if (sent > kMostBytes)
      return failure(MPI_ERR_FILE,
                     "{} cannot be copied to other nodes: it is longer than 1 GiB; copy it by scp or sbcast", path);
    const Common<FilePiece> common({name, piece.substr(0, count)});
    for (Node* node : nodes) node->give_file(common);
  } while (file);
  return {};
}

}  // namespace tutti::launcher
