// SPDX-License-Identifier: BSD-3-Clause
// What mpirun has to send, hear and hold for a job of many ranks: when it is launched, when the addresses of all ranks are
// spread, when somebody asks what they do, and at the end. By mpirun's own objects and those of the daemons, among nodes
// that are made up; all of it is the same on each run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "daemons_net.hpp"
#include "launcher/ask/why_text.hpp"

namespace tutti::launcher {
namespace {

constexpr int kFanOut = 32;
constexpr int64_t kMegabyte = 1'000'000;

RankEnd well(int) {
  return {.pid = 4711, .wait_status = 0, .connected = true, .finalized = true, .cause = {}};
}

// Everything that one job does, which ends well.
void expect_little_at_mpirun(int ranks, int ranks_a_node, Places places) {
  SCOPED_TRACE(testing::Message() << ranks << " ranks, " << ranks_a_node << " a node");
  DaemonsNet net(made_up_task(ranks, ranks_a_node, places), kFanOut);
  const uint64_t children = static_cast<uint64_t>(net.children());
  const auto size = static_cast<uint64_t>(net.nodes() * ranks_a_node);

  const Cost launched = net.launch();
  EXPECT_EQ(net.wrong, "");
  EXPECT_LE(launched.sent, 3 * children);   // launch, call, and the end of the fence
  EXPECT_EQ(launched.heard, 3 * children);  // launched, answered, gathered
  EXPECT_EQ(net.pass_time().heard, 0u);     // nothing has been kept

  const uint64_t table = size * (kAddressBytes + 16);
  const Cost spread = net.spread_addresses();
  const uint64_t pieces = table / (uint64_t{8} << 20) + 1;  // of 16 MiB at most: no two fit into one
  EXPECT_LE(spread.sent, pieces * children);
  EXPECT_LE(spread.sent_bytes, children * (table + pieces * 1000));
  EXPECT_EQ(net.addresses_heard(0), static_cast<int>(size));
  EXPECT_EQ(net.bytes_of_addresses(net.nodes() - 1), net.bytes_of_addresses(0));
  EXPECT_LE(net.different_pieces(), pieces);  // no node has got a copy of its own
  // One packed form of the pieces, while the unpacked ones go.
  EXPECT_LE(spread.most_memory, static_cast<int64_t>(table + table / 4) + kMegabyte);

  std::optional<JobView> view;
  const Cost asked = net.ask(view);
  ASSERT_TRUE(view);
  EXPECT_LE(asked.heard, children);
  EXPECT_LE(asked.heard_bytes, 100'000u);
  const std::string text = why_text(*view);
  EXPECT_NE(text.find(fmt::format("all of its {} ranks are seen", size)), text.npos) << text;
  EXPECT_NE(text.find(fmt::format("ranks 0 to {}: in MPI_Allreduce", size - 1)), text.npos) << text;
  EXPECT_NE(text.find("waiting for rank 7"), text.npos) << text;

  const Cost ended = net.end(well);
  EXPECT_EQ(net.wrong, "");
  EXPECT_TRUE(net.job().is_over());
  EXPECT_EQ(net.job().exit_code(), 0);
  EXPECT_LE(ended.heard, 4 * children);  // ends, answered, finished, counted
  EXPECT_LE(ended.heard_bytes, 100'000u);
  EXPECT_LE(net.held(), 500 * kMegabyte);
}

TEST(Daemons, TellAndHearLittleOfTenThousandRanks) {
  for (const Places places : {Places::by_slot, Places::by_node, Places::at_random})
    for (const int ranks_a_node : {32, 128}) expect_little_at_mpirun(10'000, ranks_a_node, places);
}

// A node whose ranks are elsewhere in the same call is no other group, and one that is unlike the others is named.
TEST(Daemons, TellOfARankThatDoesSomethingElse) {
  DaemonsNet net(made_up_task(4096, 32), kFanOut);
  net.launch();
  net.doing = [](int rank, int size, const std::string& host) {
    RankView view = waiting_rank(rank, size, host);
    if (rank == 1234) view.call = "MPI_Recv from rank 7";
    return view;
  };
  std::optional<JobView> view;
  const Cost asked = net.ask(view);
  ASSERT_TRUE(view);
  EXPECT_LE(asked.heard_bytes, 100'000u);
  const std::string text = why_text(*view);
  EXPECT_NE(text.find("ranks 0 to 1233, 1235 to 4095: in MPI_Allreduce"), text.npos) << text;
  EXPECT_NE(text.find("rank 1234: in MPI_Recv from rank 7"), text.npos) << text;
  EXPECT_NE(text.find("unlike most: rank 1234"), text.npos) << text;
}

// Ranks that end at other times: what is kept goes after a moment, and nothing is lost.
TEST(Daemons, TellOfEndsThatComeOneByOne) {
  DaemonsNet net(made_up_task(2048, 32), kFanOut);
  net.launch();
  std::vector<int> order;
  for (int rank = 0; rank < 2048; ++rank) order.push_back(rank);
  std::ranges::shuffle(order, std::mt19937(1));
  for (size_t i = 0; i < order.size(); i += 100) {
    const std::set<int> now(order.begin() + static_cast<std::ptrdiff_t>(i),
                            order.begin() + static_cast<std::ptrdiff_t>(std::min(i + 100, order.size())));
    net.end_some(now, well);
    net.pass_time();
    EXPECT_EQ(net.wrong, "");
    EXPECT_EQ(net.job().is_over(), i + 100 >= order.size());
  }
  EXPECT_EQ(net.job().exit_code(), 0);
}

// The first one of a kind is told at once, and the job's exit code is its.
TEST(Daemons, TellOfAFailureAtOnce) {
  DaemonsNet net(made_up_task(2048, 32), kFanOut);
  net.launch();
  net.end_some({77}, [](int) { return RankEnd{.pid = 4711, .wait_status = 3 << 8, .connected = true, .cause = {}}; });
  EXPECT_TRUE(net.job().is_ending());
  EXPECT_EQ(net.job().exit_code(), 3);
  const Cost ended =
      net.end([](int) { return RankEnd{.pid = 4711, .wait_status = 15, .connected = true, .cause = {}}; });
  for (int level = 0; level < 3; ++level) net.pass_time();  // the node of that rank says other than the others
  EXPECT_EQ(net.wrong, "");
  EXPECT_TRUE(net.job().is_over());
  EXPECT_LE(ended.heard_bytes, 100'000u);
}

// All abort at once: mpirun hears of one for each of its children.
TEST(Daemons, TellOfOneAbortForAll) {
  DaemonsNet net(made_up_task(4096, 32), kFanOut);
  net.launch();
  const Cost aborted = net.of([&](LauncherEvents& says, int node) {
    for (int i = 0; i < 32; ++i) says.rank_aborted(0, node * 32 + i, 9, "for a reason");
  });
  EXPECT_EQ(net.wrong, "");
  EXPECT_EQ(aborted.heard, static_cast<uint64_t>(net.children()));
  const Cost ended =
      net.end([](int) { return RankEnd{.pid = 1, .wait_status = 9 << 8, .connected = true, .cause = {}}; });
  EXPECT_EQ(net.wrong, "");
  EXPECT_TRUE(net.job().is_over());
  EXPECT_EQ(net.job().exit_code(), 9);
  EXPECT_GT(ended.heard, 0u);
}

// Somebody asks while the job ends: of those who are left mpirun hears no more than of all, and then the end.
TEST(Daemons, TellOfThoseWhoAreLeftWhileTheJobEnds) {
  DaemonsNet net(made_up_task(4096, 32), kFanOut);
  net.launch();
  std::set<int> first_half;
  for (int rank = 0; rank < 4096; ++rank)
    if (rank < 1024 || rank % 3 == 0) first_half.insert(rank);
  net.end_some(first_half, well);
  std::optional<JobView> view;
  const Cost asked = net.ask(view);
  EXPECT_EQ(net.wrong, "");
  ASSERT_TRUE(view);
  EXPECT_LE(asked.heard, static_cast<uint64_t>(net.children()));
  EXPECT_LE(asked.heard_bytes, 100'000u);
  const std::string text = why_text(*view);
  EXPECT_NE(text.find(fmt::format("{} of its 4096 ranks are seen", 4096 - first_half.size())), text.npos) << text;
  net.end(well);
  net.pass_time();
  EXPECT_EQ(net.wrong, "");
  EXPECT_TRUE(net.job().is_over());
  EXPECT_EQ(net.job().exit_code(), 0);
}

TEST(Daemons, TellAndHearLittleOfAMillionRanks) {
  if (!std::getenv("TUTTI_TEST_MILLION")) GTEST_SKIP() << "in the long tier";
  expect_little_at_mpirun(100'000, 128, Places::by_node);
  expect_little_at_mpirun(1'000'000, 128, Places::by_slot);
}

}  // namespace
}  // namespace tutti::launcher
