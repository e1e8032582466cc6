// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/profiles.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/cpu.hpp"
#include "base/flight.hpp"
#include "base/printable.hpp"
#include "profile/page.hpp"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;
using profile::Page;

// From the ticks of a page to nanoseconds: both clocks go on, and the page has them at one moment.
class Clock {
 public:
  explicit Clock(const Page& page) : begun_(page.begun), begun_nanoseconds_(page.begun_nanoseconds) {
    const uint64_t ticks = cpu::ticks();
    const auto passed = static_cast<double>(flight::nanoseconds() - page.begun_nanoseconds);
    if (ticks > page.begun && passed > 0) each_ = passed / static_cast<double>(ticks - page.begun);
  }
  int64_t span(uint64_t ticks) const { return static_cast<int64_t>(static_cast<double>(ticks) * each_); }
  int64_t at(uint64_t ticks) const {
    return ticks >= begun_ ? begun_nanoseconds_ + span(ticks - begun_) : begun_nanoseconds_ - span(begun_ - ticks);
  }

 private:
  const uint64_t begun_;
  const int64_t begun_nanoseconds_;
  double each_ = 1;
};

// Whatever stands in it: texts end within their fields, numbers name what there is.
bool make_sound(Page& page) {
  static_assert(std::is_trivially_copyable_v<Page>);
  if (std::memcmp(page.magic, profile::kMagic, sizeof page.magic) != 0 || page.bytes != sizeof(Page) || page.rank < 0 ||
      page.rank >= page.size || page.every == 0)
    return false;
  const auto close = [](auto& text) { text[std::size(text) - 1] = 0; };
  close(page.program);
  for (auto& each : page.modules) close(each);
  for (auto& each : page.regions) close(each);
  for (profile::Site& site : page.sites) {
    if (site.module >= profile::kModules) site.module = profile::kNoModule;
    if (site.region >= profile::kRegions) site.region = 0;
  }
  for (profile::Collective& each : page.collectives)
    if (each.site >= profile::kSites) each.serial = 0;
  if (page.open_site >= profile::kSites) page.open_since = 0;
  return true;
}

std::unique_ptr<Page> read_page(const fs::path& path) {
  auto page = std::make_unique<Page>();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat about{};
  const bool good = ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                    ::pread(fd, page.get(), sizeof(Page), 0) == static_cast<ssize_t>(sizeof(Page)) && make_sound(*page);
  ::close(fd);
  return good ? std::move(page) : nullptr;
}

void add_sizes(const profile::Size (&sizes)[profile::kSizes], std::vector<uint64_t>& messages,
               std::vector<uint64_t>& bytes) {
  for (const profile::Size& each : sizes) {
    messages.push_back(each.messages);
    bytes.push_back(each.bytes);
  }
}

ProfileSite site_of(const Page& page, const profile::Site& site, const Clock& clock) {
  ProfileSite out;
  out.function = flight::name_of_function(site.function);
  out.region = printable(page.regions[site.region]);
  if (site.module != profile::kNoModule) out.module = printable(page.modules[site.module]);
  out.offset = site.offset;
  out.calls = site.calls;
  out.collectives = site.collectives;
  out.bytes = site.bytes;
  out.time = clock.span(site.ticks);
  for (const uint64_t ticks : site.waited) out.waited.push_back(clock.span(ticks));
  for (const profile::Culprit& each : site.culprits)
    if (each.ticks > 0) out.culprits.push_back({each.process, static_cast<int>(each.kind), clock.span(each.ticks)});
  return out;
}

RankProfile profile_of(const Page& page) {
  const Clock clock(page);
  RankProfile out;
  out.rank = page.rank;
  out.size = page.size;
  out.program = printable(page.program);
  out.ended = page.ended != 0;
  out.begun = clock.at(page.begun);
  out.over = out.ended ? clock.at(page.ended) : flight::nanoseconds();
  out.lost_sites = page.lost_sites;
  out.every = page.every;
  add_sizes(page.sent, out.sent, out.sent_bytes);
  add_sizes(page.received, out.received, out.received_bytes);
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
                               clock.at(each.waits_from), clock.at(each.left), number_of[each.site]});
  }
  return out;
}

}  // namespace

std::vector<RankProfile> read_profiles(const std::string& folder) {
  std::vector<RankProfile> out;
  std::error_code problem;
  for (const auto& each : fs::directory_iterator(folder, problem)) {
    if (!each.path().filename().string().starts_with(profile::kFilePrefix)) continue;
    if (const std::unique_ptr<Page> page = read_page(each.path())) out.push_back(profile_of(*page));
  }
  std::ranges::sort(out, {}, &RankProfile::rank);
  return out;
}

}  // namespace tutti::launcher
