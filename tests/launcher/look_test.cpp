// SPDX-License-Identifier: BSD-3-Clause
// Records of ranks that were made to mislead whoever reads them: `tutti why` comes to an end, stays
// within the record, and prints what is printable.
#include "launcher/node/look.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "base/flight_files.hpp"
#include "base/printable.hpp"
#include "launcher/ask/collective_calls.hpp"
#include "launcher/ask/why_text.hpp"

namespace tutti::launcher {
namespace {

// Two of these tests may run at the same time, and each sees the records of all processes.
const std::string kJob = "looktest" + std::to_string(::getpid()) + ".";

// The bytes of a record, as a file has them.
class Bytes {
 public:
  Bytes() : record_(std::make_unique<flight::Record>()) {
    std::memcpy(record().magic, flight::kMagic, sizeof flight::kMagic);
    record().bytes = sizeof(flight::Record);
    record().pid = ::getpid();
    record().rank = 2;
    record().size = 4;
    std::strcpy(record().job, kJob.c_str());
    std::strcpy(record().host, "node");
    std::strcpy(record().program, "prog");
    record().stamp = flight::clock_now();
  }
  flight::Record& record() { return *record_; }
  unsigned char* begin() { return reinterpret_cast<unsigned char*>(record_.get()); }
  std::span<unsigned char> all() { return {begin(), sizeof(flight::Record)}; }

 private:
  std::unique_ptr<flight::Record> record_;
};

// Memory of this process that is named like a record: look_at_ranks() finds it.
class Published {
 public:
  explicit Published(Bytes& bytes) : fd_(::memfd_create(flight::kMemoryName, MFD_CLOEXEC)) { write(bytes); }
  ~Published() { ::close(fd_); }
  Published(const Published&) = delete;
  void write(Bytes& bytes) {
    ASSERT_EQ(::ftruncate(fd_, flight::kMemoryBytes), 0);
    ASSERT_EQ(::pwrite(fd_, bytes.begin(), sizeof(flight::Record), 0), static_cast<ssize_t>(sizeof(flight::Record)));
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

JobView view_of(std::vector<RankView> ranks) {
  return {.ranks = std::move(ranks), .failed = {}, .notes = {}};
}

std::string all_texts(const std::vector<RankView>& ranks) {
  std::string out = why_text(view_of(ranks)) + why_json(view_of(ranks));
  for (const RankView& rank : ranks)
    out += record_text(rank) + record_json(rank) + comparison_text(rank, ranks[0]) + comparison_json(ranks[0], rank);
  return out;
}

void fill(std::span<char> field, const char* text) {
  for (size_t i = 0; i < field.size(); ++i) field[i] = text[i % std::strlen(text)];
}

TEST(Look, TextsWithoutAnEndAndWithEscapesAreTamed) {
  Bytes bytes;
  flight::Record& record = bytes.record();
  fill(record.job, (kJob + "\x1b[2J").c_str());
  fill(record.host, "h\xc2\x9b");
  fill(record.program, "p\n\r");
  flight::CommRecord& comm = record.comm[0];
  comm.context = 7;
  comm.size = 4;
  fill(comm.name, "\x1b]0;title\x07");
  record.threads[0].used = record.threads[0].inside = true;
  record.threads[0].number = 1;
  record.calls = 1;
  record.ring[1] = {.number = 1, .context = 7, .serial = 1, .state = flight::State::inside};
  const Published published(bytes);
  const std::vector<RankView> ranks = look_at_ranks(kJob, {2});
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_LT(ranks[0].job.size(), 4 * sizeof record.job);
  EXPECT_LT(ranks[0].communicator.size(), 4 * sizeof comm.name + 20);
  EXPECT_NE(ranks[0].communicator.find("\\x1b]0;title\\x07"), std::string::npos);
  const std::string text = all_texts(ranks);
  EXPECT_EQ(printable(text, "\n"), text);
  // A name cannot begin a line of its own: the lines are those of one rank.
  EXPECT_EQ(std::ranges::count(why_text(view_of(ranks)), '\n'), 2);
}

TEST(Look, NoTimeIsToldSinceACallThatWasNeverMade) {
  RankView rank;
  rank.milliseconds = 12000;
  const std::string text = why_text(view_of({rank}));
  EXPECT_NE(text.find("has made no call yet that communicates\n"), std::string::npos) << text;
}

TEST(Look, RecordsThatAreNoneAreLeftOut) {
  const auto seen = [](auto&& change) {
    Bytes bytes;
    change(bytes.record());
    const Published published(bytes);
    return look_at_ranks(kJob).size();
  };
  EXPECT_EQ(seen([](flight::Record&) {}), 1U);
  EXPECT_EQ(seen([](flight::Record& r) { r.magic[7] = '1'; }), 0U);
  EXPECT_EQ(seen([](flight::Record& r) { r.bytes += 1; }), 0U);
  EXPECT_EQ(seen([](flight::Record& r) { r.pid = 1; }), 0U);
  EXPECT_EQ(seen([](flight::Record& r) { r.rank = 4; }), 0U);
  EXPECT_EQ(seen([](flight::Record& r) { r.rank = -1; }), 0U);
  EXPECT_EQ(seen([](flight::Record& r) { r.size = INT32_MAX; }), 0U);
  Bytes bytes;
  const Published cut(bytes);
  ASSERT_EQ(::ftruncate(cut.fd(), sizeof(flight::Record) - 1), 0);
  EXPECT_EQ(look_at_ranks(kJob).size(), 0U);
}

// These have hung, or have read beyond the record.
TEST(Look, NumbersAtTheirEndsAreEndured) {
  Bytes bytes;
  flight::Record& record = bytes.record();
  record.calls = UINT64_MAX;
  record.comms = UINT64_MAX;
  record.stamp = UINT64_MAX;
  record.nanoseconds = INT64_MIN;
  for (flight::Thread& thread : record.threads) {
    thread.used = thread.inside = true;
    thread.number = UINT64_MAX;
    thread.waits_for_count = INT32_MIN;
    thread.looks_function = UINT16_MAX;
    thread.call = reinterpret_cast<flight::CallRecord*>(1);
    std::ranges::fill(thread.waits_for, INT32_MIN);
  }
  for (flight::CallRecord& call : record.ring)
    call = {.number = UINT64_MAX,
            .caller = UINT64_MAX,
            .count = INT64_MIN,
            .type = UINT64_MAX,
            .stamp = 1,
            .serial = UINT32_MAX,
            .peer = INT32_MIN,
            .function = UINT16_MAX,
            .state = static_cast<flight::State>(255),
            .marks = 255};
  const Published published(bytes);
  const std::vector<RankView> ranks = look_at_ranks(kJob, {2});
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_TRUE(ranks[0].waits_for.empty());
  EXPECT_FALSE(all_texts(ranks).empty());
  std::vector<flight::CallRecord> calls(flight::kCalls);
  EXPECT_LE(flight::latest_calls(record, calls.data(), flight::kCalls), flight::kCalls);
  EXPECT_EQ(flight::latest_calls(record, calls.data(), -1), 0);
}

// Spoils some of the fields, all of a kind now and then.
void spoil(Bytes& bytes, std::mt19937_64& random) {
  constexpr uint64_t extremes[] = {
      0, 1, 2, 0x7f, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 1ULL << 63, ~0ULL};
  std::span<unsigned char> all = bytes.all();
  const size_t head = offsetof(flight::Record, job);  // without it there is nothing to read
  for (uint64_t i = random() % 64 + 1; i > 0; --i) {
    const uint64_t value = random() % 2 ? extremes[random() % std::size(extremes)] : random();
    const size_t size = size_t{1} << random() % 4;
    const size_t at = head + (random() % (all.size() - head - 8)) / size * size;
    std::memcpy(&all[at], &value, size);
  }
  if (random() % 3 == 0) {
    const size_t at = head + random() % (all.size() - head), count = random() % 4096;
    for (size_t i = at; i < std::min(at + count, all.size()); ++i) all[i] = static_cast<unsigned char>(random());
  }
  if (random() % 4 == 0) bytes.record().calls = extremes[random() % std::size(extremes)];
}

TEST(Look, RanksWithoutANumberHaveANameInWhatACallIsDescribedAs) {
  flight::CallRecord call;
  call.tag = 5;
  const auto told = [&](flight::PeerIs is, int peer, const char* text) {
    call.marks = static_cast<uint8_t>(is);
    call.peer = peer;
    return flight::description(call).find(text) != std::string::npos;
  };
  EXPECT_TRUE(told(flight::PeerIs::dest, MPI_PROC_NULL, "to MPI_PROC_NULL, tag 5"));
  EXPECT_TRUE(told(flight::PeerIs::source, MPI_PROC_NULL, "from MPI_PROC_NULL, tag 5"));
  EXPECT_TRUE(told(flight::PeerIs::source, MPI_ANY_SOURCE, "from any source, tag 5"));
  EXPECT_TRUE(told(flight::PeerIs::target, 3, "target 3"));
}

TEST(Look, AnyRecordIsReadToItsEnd) {
  std::mt19937_64 random(4711);
  std::vector<flight::CallRecord> calls(flight::kCalls);
  for (int round = 0; round < 3000; ++round) {
    Bytes bytes;
    spoil(bytes, random);
    flight::Record& record = bytes.record();
    if (!flight::make_sound(record)) continue;
    for (const char* text : {record.job, record.host, record.program})
      EXPECT_LT(std::strlen(text), sizeof record.program);
    const int count = flight::latest_calls(record, calls.data(), flight::kCalls);
    for (int i = 0; i < count; ++i) {
      EXPECT_LT(flight::description(calls[i]).size(), 1000U);
      const double seconds = flight::seconds_since(record, calls[i].stamp);
      EXPECT_TRUE(seconds >= -1 && seconds <= 1e9);
      if (const auto comm = flight::find_comm(record, calls[i].context)) {
        EXPECT_LT(std::strlen(comm->name), sizeof comm->name);
      }
    }
    for (const flight::Thread& thread : record.threads) {
      flight::description(flight::latest_call(record, thread));
      EXPECT_GE(thread.waits_for_count, 0);
    }
  }
}

TEST(Look, AnyRecordIsShown) {
  std::mt19937_64 random(1147);
  Bytes first;
  Published published(first);
  for (int round = 0; round < 60; ++round) {
    Bytes bytes;
    spoil(bytes, random);
    published.write(bytes);
    std::vector<int> every(4);
    for (int rank = 0; rank < 4; ++rank) every[static_cast<size_t>(rank)] = rank;
    const std::vector<RankView> ranks = look_at_ranks("", every);
    if (ranks.empty()) continue;
    const std::string text = all_texts(ranks);
    EXPECT_EQ(printable(text, "\n"), text);
  }
}

}  // namespace
}  // namespace tutti::launcher
