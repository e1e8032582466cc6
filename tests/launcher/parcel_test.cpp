// SPDX-License-Identifier: BSD-3-Clause
// What is told to all is held once, and goes in pieces.
#include "launcher/data/parcel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "launcher/address_pieces.hpp"
#include "launcher/daemons/link.hpp"
#include "launcher/daemons/outbox.hpp"
#include "launcher/daemons/remote_node.hpp"

namespace tutti::launcher {
namespace {

TEST(Outbox, GivesWhatWasPutInOrderInWhateverPartsItLeaves) {
  Outbox outbox;
  std::string all;
  const auto put = [&](const std::string& bytes, bool as_parcel) {
    as_parcel ? outbox.put(Parcel(bytes)) : outbox.put(std::string_view(bytes));
    all += bytes;
  };
  for (int i = 0; i < 40; ++i)
    put(std::string(static_cast<size_t>(i * i * 7), static_cast<char>('a' + i % 26)), i % 3 == 0);
  std::string sent;
  while (!outbox.empty()) {
    const std::string_view next = outbox.front();
    ASSERT_FALSE(next.empty());
    const size_t part = std::min<size_t>(next.size(), 1 + sent.size() % 5000);
    sent += next.substr(0, part);
    outbox.sent(part);
    if (sent.size() % 11 == 0) put("between", false);
  }
  EXPECT_EQ(sent, all);
}

TEST(Outbox, HoldsNoCopyOfALongParcel) {
  const Parcel parcel(std::string(100000, 'x'));
  Outbox one, other;
  one.put(std::string_view("head"));
  one.put(parcel);
  one.sent(4);
  other.put(parcel);
  EXPECT_EQ(one.front().data(), parcel.view().data());
  EXPECT_EQ(other.front().data(), parcel.view().data());
}

// Real connections, whose kernels take less than what they are to send.
TEST(Link, SendsAParcelWithABeginningOfItsOwn) {
  Loop loop;
  const Parcel parcel(std::string(3 << 20, 'p'));
  std::vector<std::unique_ptr<Link>> links;
  std::vector<std::string> heard(4);
  for (size_t i = 0; i < heard.size(); ++i) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (const int end : ends) links.push_back(std::make_unique<Link>(loop, end, std::chrono::hours(1)));
    Link& reader = *links.back();
    reader.expect_up_to(kLongestMessage);
    reader.attach({[&, i](Message type, std::string_view payload) {
                     EXPECT_EQ(type, Message::relay);
                     heard[i] = payload;
                     if (std::ranges::none_of(heard, &std::string::empty)) loop.stop();
                     return Error();
                   },
                   nullptr});
  }
  for (size_t i = 0; i < heard.size(); ++i) links[2 * i]->send_with(Message::relay, std::string(i + 1, 'b'), parcel);
  const Watch late = loop.after(std::chrono::seconds(60), [&] { loop.stop(); });
  loop.run();
  for (size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(heard[i], std::string(i + 1, 'b') + std::string(parcel.view()));
}

TEST(RemoteNodes, AreToldTheSameBytes) {
  std::vector<Parcel> told;
  const auto send = [&](Message, const Parcel& payload) { told.push_back(payload); };
  RemoteNode a(send), b(send);
  NodeTask task;
  task.map.nodes = {"a", "b"};
  task.map.slots = {1, 1};
  task.map.apps = {{{"./a.out"}, "/", "", {}}};
  task.map.ranks = {{0, 0, 0}, {1, 0, 0}};
  const Common<NodeTask> common(task);
  const std::vector<int> first{0}, second{1};
  a.launch(common, 0, first);
  b.launch(common, 1, second);
  const Common<Addresses> addresses({"tutti.ucx.1", std::string(10000, 'a')});
  a.take_addresses(addresses);
  b.take_addresses(addresses);
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0].view().data(), told[1].view().data());
  EXPECT_EQ(told[2].view().data(), told[3].view().data());
}

std::string addresses_of(int first, int count, size_t length) {
  std::string out;
  for (int i = 0; i < count; ++i) out += wire::pack(RankAddress{first + i, std::string(length, 'a')});
  return out;
}

TEST(AddressPieces, EndBetweenTwoAddressesAndAreNoLongerThanTheyMayBe) {
  AddressPieces pieces(1000);
  pieces.add({"tutti.ucx.1", addresses_of(0, 1, 100)});
  pieces.add({"", ""});
  pieces.add({"tutti.ucx.1", addresses_of(1, 50, 70)});    // more than a piece
  pieces.add({"tutti.ucx.1", addresses_of(51, 1, 5000)});  // one that is too long
  pieces.add({"tutti.ucx.1", addresses_of(52, 3, 10)});
  const std::vector<Addresses> all = pieces.take();
  int next = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].key, "tutti.ucx.1");
    EXPECT_EQ(all[i].more, i + 1 < all.size());
    wire::Unpacker unpacker(all[i].packed);
    int here = 0;
    while (unpacker.left() > 0) {
      RankAddress address;
      unpacker(address);
      EXPECT_EQ(address.rank, next++);
      ++here;
    }
    EXPECT_TRUE(unpacker.right());
    EXPECT_TRUE(all[i].packed.size() <= 1000 || here == 1) << all[i].packed.size();
  }
  EXPECT_EQ(next, 55);
  EXPECT_TRUE(pieces.key().empty());
}

TEST(AddressPieces, AreOneWithoutAddressesWhereThereAreNone) {
  AddressPieces pieces;
  pieces.add({"tutti.ucx.1", ""});
  const std::vector<Addresses> all = pieces.take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].more);
}

TEST(AddressPieces, TakeWhatIsNoAddressToItsEnd) {
  AddressPieces pieces(100);
  pieces.add({"tutti.ucx.1", addresses_of(0, 3, 10) + std::string(300, '\xff')});
  size_t bytes = 0;
  for (const Addresses& piece : pieces.take()) bytes += piece.packed.size();
  EXPECT_EQ(bytes, 3 * 26 + 300u);
}

}  // namespace
}  // namespace tutti::launcher
