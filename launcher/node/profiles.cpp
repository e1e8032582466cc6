// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/profiles.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/flight.hpp"
#include "base/printable.hpp"
#include "launcher/node/kept_files.hpp"
#include "launcher/node/timelines.hpp"
#include "profile/page.hpp"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;
using profile::Page;

// Whatever stands in it: texts end within their fields, numbers name what there is.
bool make_sound(Page& page) {
  static_assert(std::is_trivially_copyable_v<Page>);
  if (std::memcmp(page.magic, profile::kMagic, sizeof page.magic) != 0 || page.bytes != sizeof(Page) || page.rank < 0 ||
      page.rank >= page.size || page.every == 0)
    return false;
  const auto close = [](auto& text) { text[std::size(text) - 1] = 0; };
  close(page.program);
  close(page.host);
  for (auto& each : page.modules) close(each);
  for (auto& each : page.regions) close(each);
  for (profile::Site& site : page.sites) {
    if (site.module >= profile::kModules) site.module = profile::kNoModule;
    if (site.region >= profile::kRegions) site.region = 0;
    if (!std::has_single_bit(site.per_batch)) site.per_batch = uint64_t{1} << 32;
  }
  for (profile::Collective& each : page.collectives)
    if (each.site >= profile::kSites) each.serial = 0;
  if (page.open_site >= profile::kSites) page.open_since = 0;
  return true;
}

void add_sizes(const profile::Size (&sizes)[profile::kSizes], std::vector<uint64_t>& messages,
               std::vector<uint64_t>& bytes) {
  for (const profile::Size& each : sizes) {
    messages.push_back(each.messages);
    bytes.push_back(each.bytes);
  }
}

// How calls divide by length, from powers of two of ticks to those of nanoseconds: each count goes where the middle of its
// ticks does, so that it may be off by half a step.
std::vector<uint64_t> durations_of(const profile::Site& site, const ProfileClock& clock) {
  std::vector<uint64_t> out;
  for (uint32_t i = 0; i < profile::kDurations; ++i) {
    if (site.durations[i] == 0) continue;
    const auto middle =
        static_cast<uint64_t>(std::max<int64_t>(0, clock.span((uint64_t{3} << (i + profile::kShortestBits)) / 4)));
    const auto bits = static_cast<size_t>(std::bit_width(middle));
    if (out.size() <= bits) out.resize(bits + 1);
    out[bits] += site.durations[i];
  }
  return out;
}

std::vector<int64_t> batches_of(const profile::Site& site, const ProfileClock& clock) {
  std::vector<int64_t> out;
  for (uint64_t i = 0; i < std::min<uint64_t>(profile::kBatches, site.calls / site.per_batch); ++i)
    out.push_back(clock.span(site.batches[i]) / static_cast<int64_t>(site.per_batch));
  return out;
}

ProfileFileUse file_use_of(const profile::FileUse& use, const ProfileClock& clock) {
  return {use.pieces, use.bytes, use.unaligned, clock.span(use.ticks)};
}

ProfileSite site_of(const Page& page, const profile::Site& site, const ProfileClock& clock) {
  ProfileSite out;
  out.function = flight::name_of_function(site.function);
  out.region = printable(page.regions[site.region]);
  if (site.module != profile::kNoModule) out.module = printable(page.modules[site.module]);
  out.offset = site.offset;
  out.calls = site.calls;
  out.collectives = site.collectives;
  out.bytes = site.bytes;
  out.file = file_use_of(site.file, clock);
  out.time = clock.span(site.ticks);
  for (const uint64_t ticks : site.waited) out.waited.push_back(clock.span(ticks));
  for (const profile::Culprit& each : site.culprits)
    if (each.ticks > 0) out.culprits.push_back({each.process, static_cast<int>(each.kind), clock.span(each.ticks)});
  out.batches = batches_of(site, clock);
  out.durations = durations_of(site, clock);
  return out;
}

RankProfile profile_of(const Page& page, const std::string& folder, ProfileReader reader) {
  const ProfileClock clock(page);
  RankProfile out;
  out.rank = page.rank;
  out.size = page.size;
  out.program = printable(page.program);
  out.ended = page.ended != 0;
  out.begun = clock.at(page.begun);
  out.over = out.ended                          ? clock.at(page.ended)
             : reader == ProfileReader::at_once ? flight::nanoseconds()
                                                : std::max(out.begun, clock.at(page.seen));
  out.lost_sites = page.lost_sites;
  out.overlapped = clock.span(page.overlapped);
  out.exposed = clock.span(page.exposed);
  out.every = page.every;
  add_sizes(page.sent, out.sent, out.sent_bytes);
  add_sizes(page.received, out.received, out.received_bytes);
  for (const profile::FileUse& use : page.files) out.files.push_back(file_use_of(use, clock));
  out.file_unit = page.file_unit;
  std::vector<int> number_of(profile::kSites, -1);
  const bool is_open = !out.ended && page.open_since != 0;
  for (size_t i = 0; i < profile::kSites; ++i) {
    const profile::Site& site = page.sites[i];
    if (site.calls == 0 && !(is_open && page.open_site == i)) continue;
    number_of[i] = static_cast<int>(out.sites.size());
    out.sites.push_back(site_of(page, site, clock));
    if (i == profile::kSites - 1) out.sites.back().function = "calls at other places";
  }
  if (is_open) {  // it has waited for something up to its end
    out.open_site = number_of[page.open_site];
    ProfileSite& in = out.sites[static_cast<size_t>(out.open_site)];
    const int64_t since = std::max<int64_t>(0, out.over - clock.at(page.open_since));
    in.calls += 1;
    in.time += since;
    in.waited[static_cast<size_t>(profile::Wait::to_the_end)] += since;
    if (page.open_process >= 0)
      in.culprits.push_back({page.open_process, static_cast<int>(profile::Wait::to_the_end), since});
  }
  for (const profile::Collective& each : page.collectives) {
    if (each.serial == 0 || each.left == 0 || number_of[each.site] < 0) continue;
    out.collectives.push_back({each.context, each.serial, each.leader, clock.at(each.entered),
                               clock.at(each.waits_from), clock.at(each.left), number_of[each.site],
                               clock.span(each.at_file)});
  }
  out.timeline = read_timeline(folder, page, out.over, clock, number_of);
  return out;
}

}  // namespace

std::vector<RankProfile> read_profiles(const std::string& folder, ProfileReader reader) {
  std::vector<RankProfile> out;
  std::map<std::string, int> nodes;
  std::error_code problem;
  for (const auto& each : fs::directory_iterator(folder, problem)) {
    if (!each.path().filename().string().starts_with(profile::kFilePrefix)) continue;
    const std::unique_ptr<Page> page = kept_file<Page>(each.path());
    if (!page || !make_sound(*page)) continue;
    out.push_back(profile_of(*page, folder, reader));
    out.back().node = nodes.try_emplace(page->host, static_cast<int>(nodes.size())).first->second;
  }
  std::ranges::sort(out, {}, &RankProfile::rank);
  return out;
}

}  // namespace tutti::launcher
