// SPDX-License-Identifier: BSD-3-Clause
#include "profile/sites.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

#include "base/os/source_place.hpp"
#include "profile/timeline.hpp"

namespace tutti::profile {
namespace {

// Where it is in its file: another process cannot find it out once this one is gone.
void place(Page& page, Site& site) {
  const CodeAddress where = code_address(site.caller);
  if (where.module.empty()) return;
  for (uint8_t i = 0; i < kModules; ++i) {
    char(&name)[256] = page.modules[i];
    if (!name[0] && where.module.size() < sizeof name) where.module.copy(name, sizeof name - 1);
    if (where.module != name) continue;
    site.module = i;
    site.offset = where.offset;
    return;
  }
}

}  // namespace

uint32_t site_at(Page& page, uint64_t caller, uint16_t function, uint8_t region) {
  size_t at = mixed(caller, uint64_t{function} << 8 | region) % (kSites - 1);
  for (size_t tries = 0; tries < 64; ++tries, at = (at + 1) % (kSites - 1)) {
    Site& site = page.sites[at];
    if (site.caller == caller && site.function == function && site.region == region) return static_cast<uint32_t>(at);
    if (site.caller != 0) continue;
    site.caller = caller;
    site.function = function;
    site.region = region;
    place(page, site);
    return static_cast<uint32_t>(at);
  }
  ++page.lost_sites;
  return kSites - 1;
}

void blame(Site& site, int32_t process, Wait kind, uint64_t ticks) {
  Culprit* least = site.culprits;
  for (Culprit& each : site.culprits) {
    if (each.process == process && each.kind == kind && each.ticks > 0) return void(each.ticks += ticks);
    if (each.ticks < least->ticks) least = &each;
  }
  *least = {process, kind, least->ticks + ticks};
}

void sum_up(Site& site, uint64_t ticks) {
  if (site.calls == kBatches * site.per_batch) {
    for (uint32_t i = 0; i < kBatches / 2; ++i) site.batches[i] = site.batches[2 * i] + site.batches[2 * i + 1];
    std::fill(site.batches + kBatches / 2, std::end(site.batches), 0);
    site.per_batch *= 2;
  }
  // A power of two, which is cheaper to divide by so.
  site.batches[site.calls >> std::countr_zero(site.per_batch)] += ticks;
  const uint32_t bits = static_cast<uint32_t>(std::bit_width(ticks));
  ++site.durations[std::min(bits > kShortestBits ? bits - kShortestBits : 0, kDurations - 1)];
  ++site.calls;
  site.ticks += ticks;
  site.shortest = std::min(site.shortest, ticks);
}

}  // namespace tutti::profile
