// SPDX-License-Identifier: BSD-3-Clause
// filled_shm [messages|collectives KIB]
// Something fills up /dev/shm behind MPI_Init, but for so many KiB, before any two ranks have talked: rank 0
// does (small_shm.sh gives the job a /dev/shm of its own), and the others wait for it without MPI. Then
// messages of all lengths go between all ranks at once, so that both ranks of a pair open their ways at the
// same time, and collectives of all lengths; the word says which come first. All must arrive. Without
// arguments nothing is filled up.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "check.hpp"

namespace {

constexpr const char* kFiller = "/dev/shm/filler";

size_t kib_left() {
  struct statvfs system{};
  CHECK(statvfs("/dev/shm", &system) == 0);
  return system.f_bavail * system.f_bsize >> 10;
}

void fill(size_t leave) {
  const int file = open(kFiller, O_WRONLY | O_CREAT | O_EXCL, 0600);
  CHECK(file >= 0);
  const std::vector<char> some(4096);
  while (kib_left() > leave) CHECK_EQ(write(file, some.data(), some.size()), 4096);
  close(file);
}

void await_fill(size_t leave) {
  for (const double end = check::seconds() + 25; kib_left() > leave; usleep(100)) CHECK(check::seconds() < end);
}

void messages(const check::Program& world) {
  const int me = world.rank(), size = world.size();
  const int lengths[] = {1, 0, 700, 5000, 40000, 300000, 3 << 20};
  const auto seed = [](int from, int to, int length) { return check::mix(from, to, length); };
  std::vector<MPI_Request> requests;
  std::vector<std::vector<unsigned char>> out, in;
  out.reserve(size * std::size(lengths));
  for (int round = 0; round < 3; ++round) {
    requests.clear(), out.clear(), in.clear();
    for (const int length : lengths)
      for (int distance = 1; distance < size; ++distance) {
        const int to = (me + distance) % size;
        out.push_back(check::pattern(length, seed(me, to, length)));
        OK(MPI_Isend(out.back().data(), length, MPI_BYTE, to, length, MPI_COMM_WORLD, &requests.emplace_back()));
      }
    in.reserve(out.size());
    for (const int length : lengths)
      for (int distance = 1; distance < size; ++distance) {
        in.emplace_back(length);
        OK(MPI_Irecv(in.back().data(), length, MPI_BYTE, (me + size - distance) % size, length, MPI_COMM_WORLD,
                     &requests.emplace_back()));
      }
    OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    auto got = in.begin();
    for (const int length : lengths)
      for (int distance = 1; distance < size; ++distance)
        CHECK(*got++ == check::pattern(length, seed((me + size - distance) % size, me, length)));
  }
}

void collectives(const check::Program& world, MPI_Comm comm) {
  const int me = world.rank(), size = world.size();
  for (const int count : {1, 100, 5000, 200000}) {
    std::vector<int> mine(count), sum(count), all(count * size), theirs(count * size);
    const auto value = [&](int rank, int i) { return rank * 1000 + i % 777 + count; };
    for (int i = 0; i < count; ++i) mine[i] = value(me, i);
    OK(MPI_Allreduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, comm));
    OK(MPI_Allgather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, comm));
    OK(MPI_Alltoall(all.data(), count, MPI_INT, theirs.data(), count, MPI_INT, comm));
    for (int i = 0; i < count; ++i) {
      CHECK_EQ(sum[i], size * value(0, i) + 1000 * size * (size - 1) / 2);
      for (int rank = 0; rank < size; ++rank) {
        CHECK_EQ(all[rank * count + i], value(rank, i));
        CHECK_EQ(theirs[rank * count + i], value(me, i));
      }
    }
    for (int root = 0; root < size; ++root) {
      std::vector<int> one(me == root ? mine : std::vector<int>(count, -1));
      OK(MPI_Bcast(one.data(), count, MPI_INT, root, comm));
      for (int i = 0; i < count; ++i) CHECK_EQ(one[i], value(root, i));
    }
    OK(MPI_Barrier(comm));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const bool fills = argc > 2;
  if (fills) {
    const size_t leave = static_cast<size_t>(std::atoi(argv[2]));
    world.rank() == 0 ? fill(leave) : await_fill(leave);
  }
  const bool collectives_first = fills && argv[1] == std::string("collectives");
  if (collectives_first) collectives(world, MPI_COMM_WORLD);
  messages(world);
  if (!collectives_first) collectives(world, MPI_COMM_WORLD);
  // A communicator of its own may find room again, or not: all of its ranks alike.
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  if (fills && world.rank() == 0) CHECK(unlink(kFiller) == 0);
  collectives(world, copy);
  OK(MPI_Comm_free(&copy));
}
