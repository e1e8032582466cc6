// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/access.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "contract/signature.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/file/representation.hpp"
#include "mpi/file/together.hpp"
#include "mpi/file/told_failure.hpp"
#include "mpi/file/written.hpp"
#include "mpi/object/status.hpp"

namespace tutti::mpi::file {

bool PlacedAccess::converts() const {
  return view->representation->converts();
}

Error alike_views(const File& file) {
  const FileLock lock(file);
  if (file.other_view == 0) return {};
  return failure(MPI_ERR_NOT_SAME,
                 "{}: the views of ranks 0 and {} differ: a shared pointer counts the etypes of "
                 "one view that all "
                 "ranks have (the standard, section 14.4.4; argument fh)",
                 file.name, file.other_view);
}

namespace {

Error check_mode(const File& file, const How& how) {
  if (how.writes && (file.amode & MPI_MODE_RDONLY))
    return failure(MPI_ERR_READ_ONLY, "{}: the file was opened with MPI_MODE_RDONLY (argument fh)", file.name);
  if (!how.writes && (file.amode & MPI_MODE_WRONLY))
    return failure(MPI_ERR_ACCESS, "{}: the file was opened with MPI_MODE_WRONLY (argument fh)", file.name);
  if (file.is_sequential() && (how.where == Where::at || how.where == Where::individual))
    return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                   "{}: a file of MPI_MODE_SEQUENTIAL is accessed by the shared pointer alone (argument fh)",
                   file.name);
  if (how.where == Where::shared || how.where == Where::ordered) return alike_views(file);
  return {};
}

}  // namespace

Error prepare(File& file, const How& how, const Given& given, PlacedAccess& job, int64_t& etypes) {
  job.file = Ref<File>(&file);
  if (Error e = check_mode(file, how)) return e;
  {
    const FileLock lock(file);
    job.view = file.view;
    job.atomic = file.atomic;
  }
  Result<Ref<Datatype>> there = type_in_file(*given.type, *job.view->representation);
  if (!there) return std::move(there).error();
  job.each_in_file = (*there)->layout->size();
  job.buffer = given.buffer;
  job.count = given.count;
  job.type = Ref<Datatype>(given.type);
  job.writes = how.writes;
  int64_t bytes = 0, in_memory = 0;
  if (__builtin_mul_overflow(given.count, job.each_in_file, &bytes) ||
      __builtin_mul_overflow(given.count, given.type->layout->size(), &in_memory))
    return failure(MPI_ERR_COUNT, "{}: {} elements are more bytes than 64 bits count (argument count)", file.name,
                   given.count);
  if (bytes % job.view->etype_bytes != 0)
    return failure(MPI_ERR_TYPE, "{}: {} bytes are no whole number of etypes, of which one has {} (argument datatype)",
                   file.name, bytes, job.view->etype_bytes);
  if (bytes > 0 && job.view->bytes.is_empty())
    return failure(MPI_ERR_TYPE, "{}: the filetype of the view has no data: nothing can be accessed through it",
                   file.name);
  etypes = bytes / job.view->etype_bytes;
  return {};
}

Error check_place(const File& file, const FileView& in, int64_t etype, int64_t bytes) {
  using Wide = __int128;
  if (etype < 0) return failure(MPI_ERR_ARG, "{}: {} is negative (argument offset)", file.name, etype);
  const io::View& view = in.bytes;
  const Wide end = static_cast<Wide>(etype) * in.etype_bytes + bytes;
  constexpr Wide most = std::numeric_limits<int64_t>::max();
  const Wide tiles = view.is_empty() ? 0 : end / view.tile->size() + 1;
  if (end > most || view.displacement + tiles * view.tile->extent() + view.tile->true_extent() > most)
    return failure(MPI_ERR_ARG, "{}: the access at etype {} ends behind what 64 bits count (argument offset)",
                   file.name, etype);
  return {};
}

namespace {

Error place_at(PlacedAccess& job, int64_t etype) {
  if (Error e = check_place(*job.file, *job.view, etype, job.bytes())) return e;
  job.position = etype * job.view->etype_bytes;
  return {};
}

}  // namespace

Error place(File& file, const How& how, const Given& given, int64_t etypes, PlacedAccess& job) {
  int64_t at = given.offset;
  if (how.where == Where::individual) {
    const FileLock lock(file);
    at = file.position;
    file.position += etypes;
  } else if (how.where == Where::shared) {
    if (Error e = advance_shared(file, etypes, at)) return e;
  }
  return place_at(job, at);
}

namespace {

// One after the other by rank. Collective; an Error is what all have.
Error place_in_order(File& file, const How& how, int64_t etypes, PlacedAccess& job, Error mine) {
  struct Said {
    int64_t etypes, failed;
  };
  std::vector<Said> all;
  if (Error e = exchange(file.comm(), how.function, Said{etypes, mine.mpi_class()}, all)) return e;
  const auto failed = std::ranges::find_if(all, [](const Said& s) { return s.failed != 0; });
  if (failed != all.end())
    return tell_failure(file.comm(), how.function, static_cast<int>(failed - all.begin()), std::move(mine));
  int64_t before = 0, total = 0, first = 0;
  for (int r = 0; r < file.size(); ++r) {
    if (r == file.rank()) before = total;
    total += all[static_cast<size_t>(r)].etypes;
  }
  if (file.rank() == 0) mine = advance_shared(file, total, first);
  struct {
    int64_t first, failed;
  } told{first, mine.mpi_class()};
  coll::Call call = bcast_bytes(&told, sizeof told, 0);
  call.signature = contract::word_of(how.function, 0);
  if (Error e = run(file.comm(), call)) return e;
  if (told.failed) return tell_failure(file.comm(), how.function, 0, std::move(mine));
  return agree(file.comm(), how.function, place_at(job, told.first + before));
}

}  // namespace

void tell(MPI_Status* status, int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  const int kept = status->MPI_ERROR;
  fill_empty(*status);
  set_status_bytes(*status, bytes);
  status->MPI_ERROR = kept;
}

Error place_together(File& file, const How& how, const Given& given, PlacedAccess& job) {
  await_earlier(file);
  int64_t etypes = 0;
  Error mine = no_split(file);
  if (!mine) mine = prepare(file, how, given, job, etypes);
  if (how.where == Where::ordered) return place_in_order(file, how, etypes, job, std::move(mine));
  if (!mine) mine = place(file, how, given, etypes, job);
  return agree(file.comm(), how.function, std::move(mine));
}

BufferUse use_of(const PlacedAccess& job) {
  const bool by_program = job.view && job.view->representation->kind == Representation::Kind::registered;
  return {job.memory(), !job.writes, nullptr, by_program};
}

// Conversion goes through memory of its own, as much as the access has.
io::Transferred perform(const PlacedAccess& job) {
  if (job.bytes() == 0) return {};
  io::Access access{job.view->bytes, job.position, job.memory(), job.bytes(), job.atomic};
  if (!job.converts()) return job.writes ? job.file->io->write(access) : job.file->io->read(access);

  const Representation& representation = *job.view->representation;
  struct Freed {
    void operator()(void* memory) const { std::free(memory); }
  };
  // Zeros where a program's own conversion leaves some out, yet no memory is touched before it is written.
  const std::unique_ptr<std::byte[], Freed> bytes(
      static_cast<std::byte*>(std::calloc(static_cast<size_t>(job.bytes()), 1)));
  if (!bytes)
    return {0, failure(MPI_ERR_NO_MEM,
                       "{}: there is no memory for the {} bytes of the access in the data representation {}",
                       job.file->name, job.bytes(), representation.name)};
  access.memory = {bytes.get(), job.bytes(), &Layout::bytes()};
  if (job.writes)
    if (Error e = to_file(representation, job.buffer, job.count, *job.type, bytes.get(), job.each_in_file))
      return {0, std::move(e)};
  io::Transferred outcome = job.writes ? job.file->io->write(access) : job.file->io->read(access);
  const int64_t elements = outcome.bytes / job.each_in_file, rest = outcome.bytes % job.each_in_file;
  outcome.bytes = elements * job.type->layout->size();
  if (job.writes) return outcome;
  Error e = from_file(representation, bytes.get(), job.each_in_file, job.buffer, elements, *job.type);
  if (!e && rest > 0)  // the file ends amid an element
    e = rest_from_file(representation, {bytes.get() + (elements * job.each_in_file), static_cast<size_t>(rest)},
                       job.each_in_file, job.memory(), elements, *job.type, outcome.bytes);
  if (e && !outcome.error) outcome.error = std::move(e);
  return outcome;
}

Error access(File& file, const How& how, const Given& given, MPI_Status* status) {
  PlacedAccess job;
  io::Transferred outcome;
  TakenBuffers taken;
  if (how.collective) {
    if (Error e = place_together(file, how, given, job)) return e;
    Error mine;
    if (watches_buffers && job.count > 0) [[unlikely]]
      mine = taken.take({use_of(job)});
    Together act(job, how.function, false, std::move(mine));
    while (const coll::Call* const call = act.next())
      if (Error e = run(file.comm(), *call)) return e;
    outcome = std::move(act.outcome);
  } else {
    int64_t etypes = 0;
    if (Error e = prepare(file, how, given, job, etypes)) return e;
    if (Error e = place(file, how, given, etypes, job)) return e;
    if (watches_buffers && job.count > 0) [[unlikely]]
      if (Error e = taken.take({use_of(job)})) return e;
    outcome = perform(job);
  }
  if (file.written && !outcome.error) [[unlikely]]
    file.written->add(job, here());
  tell(status, outcome.bytes);
  return std::move(outcome.error);
}

}  // namespace tutti::mpi::file
