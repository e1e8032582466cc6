// SPDX-License-Identifier: BSD-3-Clause
// The file: a mark, the number of ranks, where each rank's address ends (from the first address on), the addresses one
// after the other; numbers have 64 bits in the machine's own order.
#include "base/address_table.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace tutti {
namespace {

constexpr uint64_t kMark = 0x3172646169747574;  // "tutiadr1"
constexpr size_t kWord = sizeof(uint64_t), kHeader = 2 * kWord;

uint64_t word_at(std::string_view bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, kWord);
  return word;
}

}  // namespace

Error write_address_table(const std::string& file, const std::vector<std::string_view>& addresses) {
  std::vector<uint64_t> numbers{kMark, addresses.size()};
  uint64_t end = 0;
  for (const std::string_view address : addresses) numbers.push_back(end += address.size());
  const std::string unfinished = file + ".new";
  std::ofstream out(unfinished, std::ios::binary);
  out.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * kWord));
  for (const std::string_view address : addresses) out << address;
  if (out.flush() && std::rename(unfinished.c_str(), file.c_str()) == 0) return {};
  const int reason = errno;
  std::remove(unfinished.c_str());
  return failure(MPI_ERR_OTHER, "{}", std::strerror(reason));
}

std::optional<AddressTable> AddressTable::open(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat status{};
  void* mapped = MAP_FAILED;
  if (::fstat(fd, &status) == 0 && static_cast<size_t>(status.st_size) >= kHeader)
    mapped = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) return std::nullopt;
  AddressTable table({static_cast<const char*>(mapped), static_cast<size_t>(status.st_size)});
  const std::string_view bytes = table.bytes_;
  if (word_at(bytes, 0) != kMark || word_at(bytes, kWord) > (bytes.size() - kHeader) / kWord) return std::nullopt;
  return table;
}

AddressTable::~AddressTable() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::string_view AddressTable::of(int rank) const {
  const uint64_t ranks = word_at(bytes_, kWord);
  if (rank < 0 || static_cast<uint64_t>(rank) >= ranks) return {};
  const size_t ends = kHeader + static_cast<size_t>(rank) * kWord;
  const uint64_t begin = rank == 0 ? 0 : word_at(bytes_, ends - kWord), end = word_at(bytes_, ends);
  const std::string_view addresses = bytes_.substr(kHeader + ranks * kWord);
  if (begin > end || end > addresses.size()) return {};
  return addresses.substr(begin, end - begin);
}

}  // namespace tutti
