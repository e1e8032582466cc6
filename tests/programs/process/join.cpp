// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_join of two ranks over a socket that the program has made itself, which stays the program's.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.hpp"

namespace {

int listener(int& port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  CHECK_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  CHECK_EQ(listen(fd, 1), 0);
  CHECK_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  port = ntohs(address.sin_port);
  return fd;
}

int reach(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  CHECK_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  MPI_Comm inter;
  CHECK_EQ(check::error_class(MPI_Comm_join(-1, &inter)), MPI_ERR_ARG);
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_EQ(check::error_class(MPI_Comm_join(ends[0], &inter)), MPI_ERR_ARG);
  close(ends[0]), close(ends[1]);
  CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
  CHECK_EQ(check::error_class(MPI_Comm_join(ends[0], &inter)), MPI_ERR_ARG);
  close(ends[0]), close(ends[1]);
  const int rank = program.rank();
  if (rank > 1) return 0;
  int port = 0, fd;
  if (rank == 0) {
    const int waiting = listener(port);
    OK(MPI_Send(&port, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    fd = accept(waiting, nullptr, nullptr);
    close(waiting);
  } else {
    OK(MPI_Recv(&port, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    fd = reach(port);
  }
  for (int round = 0; round < 3; ++round) {
    OK(MPI_Comm_join(fd, &inter));
    int size, remote, out = 10 * round + rank, in = -1;
    OK(MPI_Comm_size(inter, &size));
    OK(MPI_Comm_remote_size(inter, &remote));
    CHECK_EQ(size, 1);
    CHECK_EQ(remote, 1);
    OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
    CHECK_EQ(in, 10 * round + 1 - rank);
    OK(MPI_Comm_disconnect(&inter));
    // Nothing is left in it, and it still works.
    char word = static_cast<char>('a' + rank), other = 0;
    CHECK_EQ(write(fd, &word, 1), 1);
    CHECK_EQ(read(fd, &other, 1), 1);
    CHECK_EQ(other, static_cast<char>('a' + 1 - rank));
  }
  close(fd);
  return 0;
}
