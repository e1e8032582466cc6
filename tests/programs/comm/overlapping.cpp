// SPDX-License-Identifier: BSD-3-Clause
// Rows, columns and random subsets of one world, with blocking and nonblocking collectives of all of
// them interleaved, started in one order and completed in another.
#include "check.hpp"

namespace {

struct Part {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> members;  // world ranks
  int total(int factor) const {
    int sum = 0;
    for (int m : members) sum += m * factor + 1;
    return sum;
  }
};

Part part_of(const check::Program& world, const std::function<int(int)>& colour) {
  Part part;
  OK(MPI_Comm_split(MPI_COMM_WORLD, colour(world.rank()) < 0 ? MPI_UNDEFINED : colour(world.rank()), 0, &part.comm));
  for (int r = 0; r < world.size(); ++r)
    if (colour(r) >= 0 && colour(r) == colour(world.rank())) part.members.push_back(r);
  return part;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  int columns = 1;
  while ((columns + 1) * (columns + 1) <= world.size()) ++columns;
  std::vector<Part> parts;
  parts.push_back(part_of(world, [&](int r) { return r / columns; }));
  parts.push_back(part_of(world, [&](int r) { return r % columns; }));
  for (int k = 0; k < 4; ++k)
    parts.push_back(part_of(world, [&](int r) { return check::mix(r, k) % 3 == 0 ? -1 : 1; }));

  std::mt19937 order(world.rank());
  for (int round = 0; round < 60; ++round) {
    struct Call {
      const Part* part;
      int mine, sum, root_value, factor;
      std::vector<int> gathered;
      MPI_Request requests[3];
    };
    std::vector<Call> calls;
    calls.reserve(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[(p + round) % parts.size()];  // the same order on every rank
      if (part.comm == MPI_COMM_NULL) continue;
      const int factor = round + 1;
      calls.push_back({&part, world.rank() * factor + 1, -1, -1, factor, std::vector<int>(part.members.size()), {}});
      Call& call = calls.back();
      const int n = part.members.size(), root = round % n;
      if (part.members[root] == world.rank()) call.root_value = 5000 + round;
      OK(MPI_Iallreduce(&call.mine, &call.sum, 1, MPI_INT, MPI_SUM, part.comm, &call.requests[0]));
      OK(MPI_Ibcast(&call.root_value, 1, MPI_INT, root, part.comm, &call.requests[1]));
      OK(MPI_Iallgather(&call.mine, 1, MPI_INT, call.gathered.data(), 1, MPI_INT, part.comm, &call.requests[2]));
    }
    int sum = -1;
    if (round % 3 == 0) OK(MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    std::vector<MPI_Request> all;
    for (Call& call : calls) all.insert(all.end(), call.requests, call.requests + 3);
    std::shuffle(all.begin(), all.end(), order);
    for (MPI_Request& request : all) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (const Call& call : calls) {
      CHECK_EQ(call.sum, call.part->total(call.factor));
      CHECK_EQ(call.root_value, 5000 + round);
      for (size_t i = 0; i < call.gathered.size(); ++i)
        CHECK_EQ(call.gathered[i], call.part->members[i] * call.factor + 1);
    }
    if (round % 3 == 0) CHECK_EQ(sum, round * world.size());
    for (const Part& part : parts) {  // a blocking one on each
      if (part.comm == MPI_COMM_NULL) continue;
      int mine = world.rank() + 1, most = -1;
      OK(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, part.comm));
      CHECK_EQ(most, part.members.back() + 1);
    }
  }
  for (Part& part : parts)
    if (part.comm != MPI_COMM_NULL) OK(MPI_Comm_free(&part.comm));

  // A communicator and its copies: nonblocking collectives may be started in any order between them.
  constexpr int kCopies = 6;
  MPI_Comm copies[kCopies];
  for (MPI_Comm& copy : copies) OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  for (int round = 0; round < 40; ++round) {
    int places[kCopies], in[kCopies], out[kCopies];
    MPI_Request requests[kCopies];
    std::iota(places, places + kCopies, 0);
    std::shuffle(places, places + kCopies, order);  // each rank its own order
    for (int place : places) {
      in[place] = world.rank() + place;
      OK(MPI_Iallreduce(&in[place], &out[place], 1, MPI_INT, MPI_SUM, copies[place], &requests[place]));
    }
    OK(MPI_Waitall(kCopies, requests, MPI_STATUSES_IGNORE));
    for (int place = 0; place < kCopies; ++place)
      CHECK_EQ(out[place], world.size() * (world.size() - 1) / 2 + world.size() * place);
  }
  for (MPI_Comm& copy : copies) OK(MPI_Comm_free(&copy));
}
