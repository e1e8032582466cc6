// SPDX-License-Identifier: BSD-3-Clause
// What groups and communicators of a million processes cost in memory: no list of them, where they are regular.
#include <gtest/gtest.h>

#include "../base/allocated.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/comm/api_group.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/process.hpp"
#include "transport/testing/loopback.hpp"

namespace tutti::mpi {
namespace {

constexpr int kMillion = 1000000, kMe = 4712;
constexpr int64_t kFew = 16 << 10;  // bytes: what an object takes, however many processes it has

// As much of a process as communicators need while they are made.
class Million : public testing::Test {
 protected:
  Million() {
    process_.engine = std::make_unique<engine::Engine>(fabric_.at(0), kMe, engine::Waiting{20, 50});
    process_.contexts = std::make_unique<engine::ContextPool>(kMe);
    current.process = &process_;
  }
  ~Million() override { current.process = nullptr; }

  Ref<Comm> comm_of(const Ref<Group>& group) {
    return Ref<Comm>::adopt(new Comm(group, process_.contexts->acquire(), Ref<Errhandler>(&initial_errhandler())));
  }

  transport::LoopbackFabric fabric_{1, 1};
  Process process_;
};

Ref<Group> world_group() {
  return Ref<Group>::adopt(new Group(ProcessList::range(0, kMillion), kMe));
}

TEST_F(Million, OfTheWorld) {
  const Ref<Errhandler> made_before(&initial_errhandler());
  const Allocated all;
  const Ref<Group> group = world_group();
  const Ref<Comm> world = comm_of(group), duplicate = comm_of(group);
  MPI_Group asked = MPI_GROUP_NULL;
  ASSERT_FALSE(comm_group(*world, &asked));
  EXPECT_EQ(world->size(), kMillion);
  EXPECT_EQ(world->process_of(kMillion - 1), kMillion - 1);
  EXPECT_EQ(resolve<Group>(asked)->processes, group->processes);
  EXPECT_FALSE(group_free(&asked));
  EXPECT_LE(all.most(), 3 * kFew);
}

// Groups of strides, halves and all but one, and communicators of these. What making them takes for a moment, a bit
// for each process, is given back.
TEST_F(Million, OfWhatIsRegularInIt) {
  const Ref<Group> world = world_group();
  int every_other[1][3] = {{0, kMillion - 1, 2}}, first_half[1][3] = {{0, kMillion / 2 - 1, 1}},
      one[1][3] = {{9, 9, 1}};
  const Allocated all;
  MPI_Group even = MPI_GROUP_NULL, odd = MPI_GROUP_NULL, half = MPI_GROUP_NULL, rest = MPI_GROUP_NULL,
            both = MPI_GROUP_NULL, quarter = MPI_GROUP_NULL;
  ASSERT_FALSE(group_range_incl(*world, 1, every_other, &even));
  ASSERT_FALSE(group_difference(*world, *resolve<Group>(even), &odd));
  ASSERT_FALSE(group_range_incl(*world, 1, first_half, &half));
  ASSERT_FALSE(group_range_excl(*world, 1, one, &rest));
  ASSERT_FALSE(group_union(*resolve<Group>(odd), *resolve<Group>(even), &both));
  ASSERT_FALSE(group_intersection(*resolve<Group>(even), *resolve<Group>(half), &quarter));
  EXPECT_TRUE(resolve<Group>(even)->processes.is_regular());
  EXPECT_TRUE(resolve<Group>(odd)->processes.is_regular());
  EXPECT_EQ(resolve<Group>(both)->processes[kMillion / 2], 0);
  EXPECT_EQ(resolve<Group>(quarter)->size(), kMillion / 4);
  EXPECT_EQ(resolve<Group>(rest)->processes[9], 10);
  EXPECT_LE(all.bytes(), kFew);
  {
    const Ref<Comm> comm = comm_of(Ref<Group>(resolve<Group>(even)));
    EXPECT_EQ(comm->process_of(1000), 2000);
    EXPECT_EQ(comm->rank(), kMe / 2);
    const auto between =
        Ref<Comm>::adopt(new Comm(Ref<Group>(resolve<Group>(even)), Ref<Group>(resolve<Group>(odd)), true,
                                  process_.contexts->acquire(), Ref<Errhandler>(&initial_errhandler())));
    EXPECT_EQ(between->remote_size(), kMillion / 2);
    EXPECT_EQ(between->hidden.process_of(kMillion / 2), 1);
    EXPECT_LE(all.bytes(), 3 * kFew);
  }
  int relation = 0;
  ASSERT_FALSE(group_compare(*resolve<Group>(both), *world, &relation));
  EXPECT_EQ(relation, MPI_SIMILAR);
  for (MPI_Group* group : {&even, &odd, &half, &rest, &both, &quarter}) EXPECT_FALSE(group_free(group));
}

}  // namespace
}  // namespace tutti::mpi
