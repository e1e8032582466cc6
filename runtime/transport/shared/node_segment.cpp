// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/node_segment.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/fault_point.hpp"
#include "base/log.hpp"

namespace tutti::transport {
namespace {

// All rings together, when every pair of ranks has opened both of its own.
constexpr size_t kRingBudget = 16 << 20;
constexpr size_t kSmallestRing = 4 << 10;
constexpr size_t kPage = 4 << 10;

constexpr size_t whole_pages(size_t bytes) {
  return (bytes + kPage - 1) & ~(kPage - 1);
}

size_t ring_size_for(int members) {
  const auto pairs = static_cast<size_t>(std::max(members * (members - 1), 1));
  return std::clamp(std::bit_floor(kRingBudget / pairs), kSmallestRing, NodeSegment::kLargeRing);
}

Error too_small(size_t wanted, const std::string& why) {
  return failure(MPI_ERR_NO_MEM,
                 "/dev/shm has no {} KiB for them ({}); a larger one, as docker's "
                 "--shm-size gives, makes them faster",
                 wanted >> 10, why);
}

// 0, or what errno would say.
int allocate(int descriptor, size_t offset, size_t bytes) {
  int problem;
  do {
    problem = posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (problem == EINTR);
  return problem;
}

Error take_memory(int descriptor, size_t offset, size_t bytes) {
  if (const int problem = allocate(descriptor, offset, bytes)) return too_small(bytes, strerror(problem));
  return {};
}

// The rings take their memory when they are opened; this tells early, and to all ranks alike, that
// it would not be there.
Error look_for_room(int descriptor, size_t bytes) {
  struct statfs system{};
  if (fstatfs(descriptor, &system) != 0 || system.f_blocks == 0) return {};  // without a limit
  const uint64_t room = static_cast<uint64_t>(system.f_bavail) * static_cast<uint64_t>(system.f_bsize);
  if (room >= bytes) return {};
  return too_small(bytes, fmt::format("{} KiB are left", room >> 10));
}

}  // namespace

struct NodeSegment::Head {
  alignas(kLine) std::atomic<int32_t> attached;
  alignas(kLine) std::atomic<uint32_t> sleepers;
  Parting parting;
  // Who has made the spare memory, plus one; how many hold it; whether its use has been told of.
  alignas(kLine) std::atomic<int32_t> spare_maker;
  std::atomic<int32_t> spare_holders;
  std::atomic<bool> spare_said;
  std::atomic<int64_t> read_rate_plus_one;
  std::atomic<uint32_t> moves;
  // By large ring, a bit each: lent at this moment; has memory, which it keeps.
  alignas(kLine) std::atomic<uint32_t> lent;
  std::atomic<uint32_t> has_memory;
  std::atomic<uint32_t> taking;  // a MemberLock's: who sees whether there is room for more than rings, and takes it
};

// Where the two rings of a pair have their memory.
enum class NodeSegment::Home : uint8_t { undecided, segment, spare };

// The desks stand behind the head, then a byte for each ring that tells whether it is open, then
// one for each pair's home, then the table of the areas; the rings start on a page, behind them the
// large ones, and the areas.
NodeSegment::Head& NodeSegment::head() const {
  return *reinterpret_cast<Head*>(base_);
}
Desk& NodeSegment::desk(int member) const {
  return reinterpret_cast<Desk*>(base_ + sizeof(Head))[member];
}
std::atomic<uint8_t>& NodeSegment::opened(int from, int to) const {
  std::byte* flags = base_ + sizeof(Head) + static_cast<size_t>(members_) * sizeof(Desk);
  return reinterpret_cast<std::atomic<uint8_t>*>(flags)[to * members_ + from];
}
std::atomic<NodeSegment::Home>& NodeSegment::home(int one, int other) const {
  std::byte* homes = base_ + sizeof(Head) + static_cast<size_t>(members_) * sizeof(Desk) +
                     static_cast<size_t>(members_) * static_cast<size_t>(members_);
  return reinterpret_cast<std::atomic<Home>*>(homes)[std::max(one, other) * members_ + std::min(one, other)];
}

namespace {
struct Extent {
  size_t table, desks, rings, large, all;  // where each ends; the table's is where it begins
};
Extent extent_for(int members, size_t head) {
  const auto n = static_cast<size_t>(members);
  const size_t table = whole_lines(head + n * sizeof(Desk) + 2 * n * n);
  const size_t desks = whole_pages(table + NodeSegment::table_bytes(members));
  const size_t rings = desks + whole_pages(n * n * ring_size_for(members));
  const size_t large = rings + NodeSegment::kLargeRings * NodeSegment::kLargeRing;
  return {table, desks, rings, large, large + NodeSegment::kAreas * NodeSegment::kAreaBytes};
}
}  // namespace

std::atomic<uint32_t>& NodeSegment::sleepers() const {
  return head().sleepers;
}
std::atomic<uint32_t>& NodeSegment::moves() const {
  return head().moves;
}
void NodeSegment::part() const {
  head().parting.await(static_cast<uint32_t>(members_));
}
int64_t NodeSegment::read_rate(const std::function<int64_t()>& measure) {
  std::atomic<int64_t>& agreed = head().read_rate_plus_one;
  int64_t known = agreed.load(std::memory_order_relaxed);
  if (known == 0) {
    const int64_t measured = measure() + 1;
    if (agreed.compare_exchange_strong(known, measured, std::memory_order_relaxed)) known = measured;
  }
  return known - 1;
}
std::byte* NodeSegment::area_table() const {
  return base_ + extent_for(members_, sizeof(Head)).table;
}
std::byte* NodeSegment::area(int index) const {
  return base_ + extent_for(members_, sizeof(Head)).large + static_cast<size_t>(index) * kAreaBytes;
}

// Those that have no memory yet. No process has one to itself.
size_t NodeSegment::rings_to_come() const {
  size_t count = 0;
  for (int to = 0; to < members_; ++to)
    for (int from = 0; from < to; ++from)
      if (home(from, to).load(std::memory_order_relaxed) == Home::undecided) count += 2;
  return count * ring_size_;
}

// Held by who sees whether there is room beside what rings may need, and takes it: together two would take what there is
// room for once. Who dies amid that has taken memory or not, which nobody needs to know.
MemberLock NodeSegment::taking() const {
  return MemberLock(head().taking, me_, is_gone_);
}

// With taking() held.
Error NodeSegment::take_beside_rings(const void* memory, size_t bytes) {
  Error problem = look_for_room(descriptor_, bytes + rings_to_come());
  const auto place = static_cast<size_t>(static_cast<const std::byte*>(memory) - base_);
  if (!problem) problem = take_memory(descriptor_, place, bytes);
  return problem;
}

Error NodeSegment::take_area_memory(int index, size_t offset, size_t bytes) {
  MemberLock one_at_a_time = taking();
  one_at_a_time.lock();
  TUTTI_FAULT_POINT("area.taking_memory");
  Error problem = take_beside_rings(area(index) + offset, bytes);
  one_at_a_time.unlock();
  return problem;
}

RingMemory& NodeSegment::large_ring(int index) const {
  return *reinterpret_cast<RingMemory*>(base_ + extent_for(members_, sizeof(Head)).rings +
                                        static_cast<size_t>(index) * kLargeRing);
}

bool NodeSegment::has_ring_to_lend() const {
  const int index = std::countr_one(head().lent.load(std::memory_order_relaxed));
  return index < kLargeRings && (!no_more_memory_ || has_memory(index));
}
int NodeSegment::rings_lent() const {
  return std::popcount(head().lent.load(std::memory_order_relaxed));
}
bool NodeSegment::has_memory(int large_ring) const {
  return head().has_memory.load(std::memory_order_relaxed) >> large_ring & 1;
}

// The first that is free: the memory of the others stays untaken.
int NodeSegment::borrow_ring() {
  std::atomic<uint32_t>& lent = head().lent;
  uint32_t before = lent.load(std::memory_order_relaxed);
  int index;
  do {
    index = std::countr_one(before);
    if (index >= kLargeRings || (no_more_memory_ && !has_memory(index))) return -1;
  } while (
      !lent.compare_exchange_weak(before, before | 1u << index, std::memory_order_acquire, std::memory_order_relaxed));
  RingMemory& ring = large_ring(index);
  if (!has_memory(index)) {
    MemberLock one_at_a_time = taking();
    const bool mine = one_at_a_time.try_lock();
    if (mine) {
      no_more_memory_ = static_cast<bool>(take_beside_rings(&ring, kLargeRing));
      one_at_a_time.unlock();
    }
    if (!mine || no_more_memory_) {
      give_ring_back(index);
      return -1;
    }
    head().has_memory.fetch_or(1u << index, std::memory_order_relaxed);
  }
  ring.clear();
  return index;
}

void NodeSegment::give_ring_back(int index) {
  head().lent.fetch_and(~(1u << index), std::memory_order_release);
}

// Behind the first one.
size_t NodeSegment::place_of_ring(int from, int to) const {
  return (static_cast<size_t>(to) * static_cast<size_t>(members_) + static_cast<size_t>(from)) * ring_size_;
}

RingMemory& NodeSegment::ring(int from, int to) const {
  std::byte* const first = home(from, to).load(std::memory_order_acquire) == Home::spare
                               ? spare_->base()
                               : base_ + extent_for(members_, sizeof(Head)).desks;
  return *reinterpret_cast<RingMemory*>(first + place_of_ring(from, to));
}

NodeSegment::NodeSegment(std::string path, int members, int me, int descriptor, std::byte* base, size_t size)
    : path_(std::move(path)),
      members_(members),
      me_(me),
      ring_size_(ring_size_for(members)),
      descriptor_(descriptor),
      base_(base),
      size_(size) {}

NodeSegment::~NodeSegment() {
  munmap(base_, size_);
  close(descriptor_);
}

Result<std::unique_ptr<NodeSegment>> NodeSegment::attach(const std::string& name, int members, int me,
                                                         const uint64_t& token) {
  const std::string path = "/dev/shm/" + name;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return failure(MPI_ERR_OTHER, "{} cannot be opened: {}", path, strerror(errno));
  return attach(fd, path, members, me, token);
}

int NodeSegment::make_file(int members) {
  return make_nameless_file(extent_for(members, sizeof(Head)).all);
}
int NodeSegment::open_file(const PlaceOfFile& place, int members) {
  return open_nameless_file(place, extent_for(members, sizeof(Head)).all);
}
Result<std::unique_ptr<NodeSegment>> NodeSegment::attach(int file, int members, int me, const uint64_t& token) {
  return attach(file, "", members, me, token);
}

Result<std::unique_ptr<NodeSegment>> NodeSegment::attach(int fd, const std::string& path, int members, int me,
                                                         const uint64_t& token) {
  const Extent extent = extent_for(members, sizeof(Head));
  const std::string file = path.empty() ? "a file in memory for them" : path;
  struct stat status{};
  // Everyone grows it to the same size; the new part reads as zeros, whoever comes first.
  Error problem;
  if (fstat(fd, &status) != 0 || status.st_uid != geteuid() || !S_ISREG(status.st_mode)) {
    problem = failure(MPI_ERR_OTHER, "{} belongs to somebody else", file);
  } else if (ftruncate(fd, static_cast<off_t>(extent.all)) != 0) {
    problem = failure(MPI_ERR_OTHER, "{} cannot be sized: {}", file, strerror(errno));
  } else {
    problem = take_memory(fd, 0, extent.desks);
    if (!problem) problem = look_for_room(fd, extent.rings - extent.desks);
  }
  void* base = problem ? MAP_FAILED : mmap(nullptr, extent.all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    if (!problem) problem = failure(MPI_ERR_NO_MEM, "{} cannot be mapped: {}", file, strerror(errno));
    if (!path.empty()) unlink(path.c_str());  // it will not be complete
    close(fd);
    return problem;
  }
  std::unique_ptr<NodeSegment> segment(
      new NodeSegment(path, members, me, fd, static_cast<std::byte*>(base), extent.all));
  Desk& mine = segment->desk(me);
  mine.known = {getpid(), reinterpret_cast<uintptr_t>(&token), token};
  if (!path.empty()) segment->hold_spare(me);  // without a name it is outside of /dev/shm already
  const int before = segment->head().attached.fetch_add(1, std::memory_order_acq_rel);
  if (before >= members) return failure(MPI_ERR_OTHER, "{} is left over from another job", file);
  if (before + 1 == members) segment->forget_name();
  return segment;
}

bool NodeSegment::complete() const {
  return head().attached.load(std::memory_order_acquire) == members_;
}

void NodeSegment::forget_name() const {
  if (!path_.empty()) unlink(path_.c_str());
}

// Made, or found, before this rank counts as attached: so all know it alike, and whoever made it is
// still there. Without it nothing changes until /dev/shm is full.
void NodeSegment::hold_spare(int me) {
  const Extent extent = extent_for(members_, sizeof(Head));
  const size_t bytes = extent.rings - extent.desks;
  std::atomic<int32_t>& maker = head().spare_maker;
  int32_t made_by = maker.load(std::memory_order_acquire);
  if (made_by == 0) {
    spare_ = SpareMemory::make(bytes);
    if (!spare_) return;
    desk(me).spare = spare_->place();
    if (!maker.compare_exchange_strong(made_by, me + 1, std::memory_order_acq_rel)) spare_.reset();
  }
  if (!spare_ && made_by > 0 && made_by <= members_) spare_ = SpareMemory::open(desk(made_by - 1).spare, bytes);
  if (spare_) head().spare_holders.fetch_add(1, std::memory_order_acq_rel);
}

// Both ranks of a pair may be here at once, and /dev/shm may be full for one and not for the other:
// the first decides. What the other has taken stays unused.
Error NodeSegment::find_home(int one, int other) {
  std::atomic<Home>& decided = home(one, other);
  const size_t places[] = {place_of_ring(one, other), place_of_ring(other, one)};
  const auto allocate_both = [&](int descriptor, size_t first) {
    int problem = 0;
    for (const size_t place : places)
      if (problem == 0) problem = allocate(descriptor, first + place, ring_size_);
    return problem;
  };
  if (decided.load(std::memory_order_acquire) != Home::undecided) return {};
  Home found = Home::segment;
  const int problem = allocate_both(descriptor_, extent_for(members_, sizeof(Head)).desks);
  if (problem != 0) {
    const bool all_hold_it = head().spare_holders.load(std::memory_order_acquire) == members_;
    if (!all_hold_it || allocate_both(spare_->descriptor(), 0) != 0) {
      if (decided.load(std::memory_order_acquire) != Home::undecided) return {};
      return failure(MPI_ERR_NO_MEM,
                     "/dev/shm has filled up, {} KiB for the two are not there ({}), {}; free some "
                     "of it, or make it larger, as docker's --shm-size does",
                     2 * ring_size_ >> 10, strerror(problem),
                     all_hold_it ? "nor outside of it" : "and not all ranks here may share memory outside of it");
    }
    found = Home::spare;
  }
  Home before = Home::undecided;
  if (decided.compare_exchange_strong(before, found, std::memory_order_acq_rel) && found == Home::spare &&
      !head().spare_said.exchange(true))
    say(Level::note, "/dev/shm has filled up ({}): some messages on this node go through other memory",
        strerror(problem));
  return {};
}

Error NodeSegment::open_ring(int from, int to) {
  if (Error e = find_home(from, to)) return e;
  opened(from, to).store(1, std::memory_order_release);
  desk(to).openings.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

}  // namespace tutti::transport
