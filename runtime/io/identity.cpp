// SPDX-License-Identifier: BSD-3-Clause
#include "io/identity.hpp"

#include <linux/magic.h>
#include <sys/stat.h>

#include "base/os/machine.hpp"

namespace tutti::io {
namespace {

// Not all systems' headers have these.
constexpr uint32_t kZfs = 0x2fc12fc1, kLustre = 0x0bd00bd0, kGpfs = 0x47504653, kCeph = 0x00c36400,
                   kBeeGfs = 0x19830326;

bool is_one_machines(System system) {
  return system == System::memory || system == System::local || system == System::overlay;
}

}  // namespace

System system_of(const struct statfs& about) {
  switch (static_cast<uint32_t>(about.f_type)) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
      return System::memory;
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case kZfs:
      return System::local;
    case OVERLAYFS_SUPER_MAGIC:
      return System::overlay;
    case NFS_SUPER_MAGIC:
    case kLustre:
    case kGpfs:
    case kCeph:
    case kBeeGfs:
      return System::network;
    default:
      return System::unknown;
  }
}

Identity identity_of(int fd) {
  static const uint64_t boot = this_boot();
  Identity made;
  struct stat about{};
  if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return made;
  made.machine = boot;
  made.device = about.st_dev;
  made.number = about.st_ino;
  struct statfs on{};
  if (::fstatfs(fd, &on) != 0) return made;
  made.magic = static_cast<uint32_t>(on.f_type);
  made.system = system_of(on);
  return made;
}

// A file system of the network may be mounted twice, with two device numbers; two machines may have
// mounted two of a kind, whose numbers are equal by chance. Either way nothing is said.
Differ differ(const Identity& a, const Identity& b, bool written) {
  if (a.machine == 0 || b.machine == 0) return Differ::no;
  if (is_one_machines(a.system) && is_one_machines(b.system)) {
    // One of two overlays' files may be the other's, or that of the file system below, until it is
    // written.
    if ((a.system == System::overlay || b.system == System::overlay) && !written) return Differ::no;
    if (a.machine != b.machine) return written ? Differ::by_machine : Differ::no;
    return a.device == b.device && a.number == b.number ? Differ::no : Differ::certain;
  }
  if (a.system != System::network || b.system != System::network || a.magic != b.magic) return Differ::no;
  if (!written || a.number == b.number) return Differ::no;
  return a.machine == b.machine ? Differ::certain : Differ::by_machine;
}

}  // namespace tutti::io
