// SPDX-License-Identifier: BSD-3-Clause
// Ports, names and connections within one job: its even ranks accept, its odd ones connect, several times over; what
// MPI_Publish_name and MPI_Lookup_name say; and the errors of all of them.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

// Jobs of the same program may run beside this one.
int number_of_job = 0;
std::string service_of(int rank) {
  return "process/connect " + std::to_string(number_of_job) + "/" + std::to_string(rank);
}

void talk(MPI_Comm inter, int mine, int others) {
  int rank, size, remote;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK_EQ(size, mine);
  CHECK_EQ(remote, others);
  for (int r = 0; r < remote; ++r) {
    int out = rank * 100 + r, in = -1;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, r, 3, &in, 1, MPI_INT, r, 3, inter, MPI_STATUS_IGNORE));
    CHECK_EQ(in, r * 100 + rank);
  }
  MPI_Comm all;
  OK(MPI_Intercomm_merge(inter, 0, &all));
  int sum = 0, one = 1;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
  CHECK_EQ(sum, mine + others);
  OK(MPI_Comm_free(&all));
}

void connect_halves(const check::Program& program) {
  MPI_Comm half;
  const int odd = program.rank() % 2;
  OK(MPI_Comm_split(MPI_COMM_WORLD, odd, program.rank(), &half));
  OK(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
  const int evens = (program.size() + 1) / 2, odds = program.size() / 2;
  char port[MPI_MAX_PORT_NAME] = "";
  if (program.rank() == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
  OK(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD));
  for (int round = 0; round < 5; ++round) {
    MPI_Comm inter;
    if (odd)
      OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
    else
      OK(MPI_Comm_accept(program.rank() == 0 ? port : nullptr, MPI_INFO_NULL, 0, half, &inter));
    talk(inter, odd ? odds : evens, odd ? evens : odds);
    OK(MPI_Comm_disconnect(&inter));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (program.rank() == 0) OK(MPI_Close_port(port));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  // It is closed.
  if (odd) {
    MPI_Comm none = MPI_COMM_WORLD;
    CHECK_EQ(check::error_class(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &none)), MPI_ERR_PORT);
    CHECK(none == MPI_COMM_NULL);
  } else {
    MPI_Comm none = MPI_COMM_WORLD;
    CHECK_EQ(check::error_class(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &none)), MPI_ERR_PORT);
  }
  OK(MPI_Comm_free(&half));
}

// A partitioned operation and a plain message of one tag do not meet, on a communicator of two connections either.
void partitions_between(const check::Program& program) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm pair, between;
  OK(MPI_Comm_split(MPI_COMM_WORLD, program.rank() < 2 ? 0 : MPI_UNDEFINED, program.rank(), &pair));
  if (program.rank() > 1) return;
  if (program.rank() == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
  OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, pair));
  MPI_Request partitioned, plain;
  int sent[] = {41, 42}, parts[] = {0, 0}, other = 7, got = 0;
  if (program.rank() == 0) {
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between));
    OK(MPI_Psend_init(sent, 2, 1, MPI_INT, 0, 5, between, MPI_INFO_NULL, &partitioned));
    OK(MPI_Start(&partitioned));
    OK(MPI_Pready_range(0, 1, partitioned));
    OK(MPI_Barrier(pair));
    OK(MPI_Send(&other, 1, MPI_INT, 0, 5, between));
    OK(MPI_Wait(&partitioned, MPI_STATUS_IGNORE));
    OK(MPI_Close_port(port));
  } else {
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between));
    OK(MPI_Irecv(&got, 1, MPI_INT, 0, 5, between, &plain));
    OK(MPI_Barrier(pair));
    OK(MPI_Precv_init(parts, 2, 1, MPI_INT, 0, 5, between, MPI_INFO_NULL, &partitioned));
    OK(MPI_Start(&partitioned));
    OK(MPI_Wait(&plain, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&partitioned, MPI_STATUS_IGNORE));
    CHECK_EQ(got, 7);
    CHECK(parts[0] == 41 && parts[1] == 42);
  }
  OK(MPI_Request_free(&partitioned));
  OK(MPI_Comm_disconnect(&between));
  OK(MPI_Comm_free(&pair));
}

void names(const check::Program& program) {
  char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
  OK(MPI_Open_port(MPI_INFO_NULL, port));
  const std::string mine = service_of(program.rank());
  CHECK_EQ(check::error_class(MPI_Lookup_name(mine.c_str(), MPI_INFO_NULL, found)), MPI_ERR_NAME);
  CHECK_EQ(check::error_class(MPI_Unpublish_name(mine.c_str(), MPI_INFO_NULL, port)), MPI_ERR_SERVICE);
  OK(MPI_Publish_name(mine.c_str(), MPI_INFO_NULL, port));
  CHECK_EQ(check::error_class(MPI_Publish_name(mine.c_str(), MPI_INFO_NULL, port)), MPI_ERR_SERVICE);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int next = (program.rank() + 1) % program.size();
  const std::string other = service_of(next);
  OK(MPI_Lookup_name(other.c_str(), MPI_INFO_NULL, found));
  CHECK(std::string(found).rfind("tutti://", 0) == 0);
  CHECK_EQ(std::string(found) == port, next == program.rank());
  if (program.size() > 1)
    CHECK_EQ(check::error_class(MPI_Publish_name(other.c_str(), MPI_INFO_NULL, port)), MPI_ERR_SERVICE);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Unpublish_name(mine.c_str(), MPI_INFO_NULL, port));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_EQ(check::error_class(MPI_Lookup_name(other.c_str(), MPI_INFO_NULL, found)), MPI_ERR_NAME);
  OK(MPI_Close_port(port));
  CHECK_EQ(check::error_class(MPI_Close_port(port)), MPI_ERR_PORT);
}

// Connections to the port that say nothing, or nothing that it understands.
std::vector<int> strangers_at(const char* port, int count) {
  const std::string name = port;  // tutti://host/addresses/number/...
  size_t at = name.find("//") + 1;
  for (int part = 0; part < 2; ++part) at = name.find('/', at + 1);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(name.substr(at + 1))));
  std::vector<int> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(socket(AF_INET, SOCK_STREAM, 0));
    CHECK_EQ(connect(all.back(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const char half[40] = {32, 0, 0, 0, 0, 0, 0, 0, 'x'};  // a nonce, as far as it goes
    if (i % 3 > 0) CHECK(send(all.back(), half, i % 3 == 1 ? 20 : 40, MSG_NOSIGNAL) > 0);
  }
  return all;
}

// They hold up neither the end of a time nor those who know the secret, of whom all but one wait for their turns.
void strangers(const check::Program& program) {
  using check::error_class;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm other;
  std::vector<int> silent;
  const double soon = 4;  // a second, on a busy machine
  if (program.rank() == 0) {
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    silent = strangers_at(port, 100);
    MPI_Info hint;
    OK(MPI_Info_create(&hint));
    OK(MPI_Info_set(hint, "timeout", "1"));
    const double begin = MPI_Wtime();
    CHECK_EQ(error_class(MPI_Comm_accept(port, hint, 0, MPI_COMM_SELF, &other)), MPI_ERR_PORT);
    CHECK(MPI_Wtime() - begin < soon);
    OK(MPI_Info_free(&hint));
  }
  OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD));
  const double begin = MPI_Wtime();
  if (program.rank() > 0) {
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other));
    OK(MPI_Comm_disconnect(&other));
  }
  for (int i = 1; program.rank() == 0 && i < program.size(); ++i) {
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other));
    OK(MPI_Comm_disconnect(&other));
  }
  CHECK(MPI_Wtime() - begin < soon * program.size());
  if (program.rank() == 0) OK(MPI_Close_port(port));
  for (const int fd : silent) close(fd);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// A file of a service that lives, as a full disk, a quota or a file system over a network may leave it.
void broken_names() {
  char folder[] = "/tmp/connect-names-XXXXXX";
  CHECK(mkdtemp(folder) != nullptr);
  const char* const before = std::getenv("TUTTI_NAMES");
  const std::string kept = before ? before : "";
  setenv("TUTTI_NAMES", folder, 1);
  const std::string file = std::string(folder) + "/service";
  char found[MPI_MAX_PORT_NAME] = "";
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("tutti://node1/10.0"), std::string(40, '\0')}) {
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    CHECK_EQ(fcntl(fd, F_OFD_SETLK, &whole), 0);
    CHECK_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    CHECK_EQ(check::error_class(MPI_Lookup_name("service", MPI_INFO_NULL, found)), MPI_ERR_NAME);
    close(fd);
  }
  unlink(file.c_str());
  rmdir(folder);
  before ? setenv("TUTTI_NAMES", kept.c_str(), 1) : unsetenv("TUTTI_NAMES");
}

void bad_ports() {
  MPI_Comm none;
  const std::string no_such = "tutti://" + std::string("nowhere/127.0.0.1/1/") + std::string(64, 'a');
  for (const std::string& name : {std::string("nonsense"), std::string(""), std::string("tutti://a/b"), no_such})
    CHECK_EQ(check::error_class(MPI_Comm_connect(name.c_str(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &none)), MPI_ERR_PORT);
  // A port of another secret.
  char port[MPI_MAX_PORT_NAME] = "";
  OK(MPI_Open_port(MPI_INFO_NULL, port));
  CHECK_EQ(check::error_class(MPI_Comm_accept("nonsense", MPI_INFO_NULL, 0, MPI_COMM_SELF, &none)), MPI_ERR_PORT);
  OK(MPI_Close_port(port));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  number_of_job = static_cast<int>(getpid());
  OK(MPI_Bcast(&number_of_job, 1, MPI_INT, 0, MPI_COMM_WORLD));
  if (program.size() > 1) {
    connect_halves(program);
    partitions_between(program);
  }
  names(program);
  strangers(program);
  broken_names();
  bad_ports();
  return 0;
}
