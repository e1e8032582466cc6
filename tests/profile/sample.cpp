// SPDX-License-Identifier: BSD-3-Clause
// Profiles of jobs that nobody has run, of any number of ranks, for the test of the page in a browser: a stencil on a ring whose
// ranks exchange borders and reduce in each step, and write a file now and then; one of them has more to do than the others.
// What a rank keeps is bounded as that of a real one is.
// usage: profile_sample RANKS STEPS FILE
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "launcher/profile/profile_output.hpp"

namespace tutti::launcher {
namespace {

constexpr int64_t kUs = 1000;
constexpr int64_t kWork = 400 * kUs, kReduce = 30 * kUs, kWrite = 900 * kUs, kMessage = 6 * kUs;
constexpr int kRanksOfANode = 32, kStepsOfAFile = 50;
enum Site { kSend, kRecv, kReduceSite, kFile };

// 0 to 99, as if by chance.
int64_t chance(int rank, int step) {
  uint64_t x = (static_cast<uint64_t>(rank) * 1'000'003 + static_cast<uint64_t>(step)) * 0x9e3779b97f4a7c15;
  return static_cast<int64_t>((x ^ x >> 31) * 0xbf58476d1ce4e5b9 >> 40) % 100;
}

class Sample {
 public:
  Sample(int ranks, int steps)
      : size_(ranks),
        steps_(steps),
        slow_(ranks * 2 / 3),
        kept_(std::clamp<size_t>(2'000'000 / static_cast<size_t>(ranks), 256, 8192)) {
    for (int r = 0; r < ranks; ++r) add_rank(r);
  }

  std::vector<RankProfile> operator()() {
    std::vector<int64_t> now(static_cast<size_t>(size_), 1'000'000);
    for (int step = 1; step <= steps_; ++step) {
      std::vector<int64_t> sent(now.size());
      for (int r = 0; r < size_; ++r) {
        int64_t& at = now[static_cast<size_t>(r)];
        at += kWork + chance(r, step) * kUs + (r == slow_ ? kWork / 2 : 0);
        sent[static_cast<size_t>(r)] = at;
        message(r, (r + 1) % size_, step, at, false);
        at = call(r, kSend, at, at + kMessage, 0, -1);
      }
      for (int r = 0; r < size_; ++r) receive(r, step, sent, now[static_cast<size_t>(r)]);
      reduce(step, now);
      if (step % kStepsOfAFile == 0)
        for (int r = 0; r < size_; ++r)
          now[static_cast<size_t>(r)] =
              call(r, kFile, now[static_cast<size_t>(r)], now[static_cast<size_t>(r)] + kWrite, 0, -1);
    }
    for (int r = 0; r < size_; ++r) finish(r, now[static_cast<size_t>(r)]);
    return std::move(ranks_);
  }

 private:
  void add_rank(int r) {
    RankProfile& rank = ranks_.emplace_back();
    rank.rank = r, rank.size = size_, rank.node = r / kRanksOfANode;
    rank.program = "stencil";
    rank.ended = true;
    rank.begun = 1'000'000;
    for (const char* const name : {"MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_File_write_at"}) {
      ProfileSite& site = rank.sites.emplace_back();
      site.function = name;
      site.place = "stencil.c:" + std::to_string(41 + 7 * static_cast<int>(rank.sites.size())) + ", in step()";
      site.region = site.function == "MPI_Allreduce" ? "solve" : "";
      site.waited.resize(6);
    }
  }

  int64_t call(int r, Site at, int64_t begun, int64_t over, int64_t waited, int whom) {
    RankProfile& rank = ranks_[static_cast<size_t>(r)];
    ProfileSite& site = rank.sites[at];
    ++site.calls;
    site.time += over - begun;
    if (waited > 0) {
      site.waited[0] += waited;
      site.culprits.push_back({whom, 0, waited});
    }
    const auto bits = static_cast<size_t>(64 - __builtin_clzll(static_cast<uint64_t>(over - begun) | 1));
    if (site.durations.size() <= bits) site.durations.resize(bits + 1);
    ++site.durations[bits];
    rank.timeline.spans.push_back({.site = at,
                                   .begun = begun,
                                   .over = over,
                                   .waited = waited,
                                   .waits_to = waited > 0 ? begun + waited : 0,
                                   .process = whom,
                                   .kind = 0});
    return over;
  }

  void message(int from, int to, int step, int64_t at, bool is_receive) {
    if (static_cast<size_t>(step) > kept_ / 2 || size_ == 1) return;
    ranks_[static_cast<size_t>(is_receive ? to : from)].timeline.messages.push_back(
        {.is_receive = is_receive,
         .process = is_receive ? from : to,
         .tag = 7,
         .context = 2,
         .number = static_cast<uint32_t>(step),
         .at = at,
         .bytes = 4096});
  }

  void receive(int r, int step, const std::vector<int64_t>& sent, int64_t& now) {
    const int from = (r + size_ - 1) % size_;
    const int64_t comes = sent[static_cast<size_t>(from)] + kMessage, waited = std::max<int64_t>(0, comes - now);
    const int64_t over = std::max(now, comes) + kMessage;
    message(from, r, step, std::max(now, comes), true);
    now = call(r, kRecv, now, over, waited, from);
  }

  void reduce(int step, std::vector<int64_t>& now) {
    const int64_t last = *std::ranges::max_element(now);
    const int every = std::max(1, steps_ * size_ / 400'000);
    for (int r = 0; r < size_; ++r) {
      int64_t& at = now[static_cast<size_t>(r)];
      RankProfile& rank = ranks_[static_cast<size_t>(r)];
      ++rank.sites[kReduceSite].collectives;
      if (step % every == 0)
        rank.collectives.push_back({.context = 3,
                                    .serial = static_cast<uint32_t>(step),
                                    .leader = 0,
                                    .entered = at,
                                    .waits_from = at,
                                    .left = last + kReduce,
                                    .site = kReduceSite});
      at = call(r, kReduceSite, at, last + kReduce, 0, -1);
    }
  }

  void finish(int r, int64_t now) {
    RankProfile& rank = ranks_[static_cast<size_t>(r)];
    rank.over = now;
    rank.every = 1;
    rank.sent = std::vector<uint64_t>(14), rank.sent_bytes = std::vector<uint64_t>(14);
    rank.sent[13] = static_cast<uint64_t>(steps_), rank.sent_bytes[13] = 4096 * rank.sent[13];
    ProfileTimeline& timeline = rank.timeline;
    timeline.peers = {{(r + 1) % size_, rank.sent[13], rank.sent_bytes[13]}};
    const size_t periods = std::clamp<size_t>(1'000'000 / static_cast<size_t>(size_), 256, 4096);
    timeline.period = (rank.over - rank.begun) / static_cast<int64_t>(periods) + 1;
    timeline.spent.assign(4, std::vector<int64_t>(periods));
    for (const ProfileSpan& span : timeline.spans) {
      const size_t what = span.site == kFile ? 3 : span.site == kReduceSite ? 2 : 0;
      for (int64_t at = span.begun; at < span.over;) {
        const auto period = static_cast<size_t>((at - rank.begun) / timeline.period);
        const int64_t end = std::min(span.over, rank.begun + static_cast<int64_t>(period + 1) * timeline.period);
        timeline.spent[at < span.begun + span.waited ? 1 : what][period] += end - at;
        at = end;
      }
    }
    if (timeline.spans.size() <= kept_) return;
    const auto length = [](const ProfileSpan& span) { return span.begun - span.over; };
    std::ranges::sort(timeline.spans, {}, length);
    timeline.least = -length(timeline.spans[kept_]);
    timeline.spans.resize(kept_);
    std::ranges::sort(timeline.spans, {}, &ProfileSpan::begun);
  }

  const int size_, steps_, slow_;
  const size_t kept_;
  std::vector<RankProfile> ranks_;
};

}  // namespace
}  // namespace tutti::launcher

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  tutti::launcher::Sample sample(std::atoi(argv[1]), std::atoi(argv[2]));
  const tutti::Error problem = tutti::launcher::write_profile(sample(), argv[3]);
  if (problem) std::fprintf(stderr, "%s\n", problem.message().c_str());
  return problem ? 1 : 0;
}
