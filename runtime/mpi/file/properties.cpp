// SPDX-License-Identifier: BSD-3-Clause
// Views, pointers, sizes, hints and consistency (the standard, sections 14.2.4
// to 14.2.8, 14.3, 14.4.3, 14.6).
#include <algorithm>
#include <array>
#include <cstring>

#include "functions.hpp"
#include "mpi/comm/group.hpp"
#include "mpi/file/access.hpp"
#include "mpi/file/api_file.hpp"
#include "mpi/file/representation.hpp"
#include "mpi/file/told_failure.hpp"
#include "mpi/file/written.hpp"
#include "mpi/object/inventory.hpp"

namespace tutti::mpi::file {
namespace {

Error writable(const File& file) {
  if (!(file.amode & MPI_MODE_RDONLY)) return {};
  return failure(MPI_ERR_READ_ONLY, "{}: the file was opened with MPI_MODE_RDONLY (argument fh)", file.name);
}

// Rank 0 does it, with `check` on every rank; all know how it went before anybody goes on.
template <class Do>
Error by_rank_0(File& file, Function function, int64_t argument, const char* name, Error mine, Do&& act) {
  await_earlier(file);
  struct Said {
    int64_t argument, failed;
  };
  std::vector<Said> all;
  if (Error e = exchange(file.comm(), function, Said{argument, mine.mpi_class()}, all)) return e;
  const auto failed = std::ranges::find_if(all, [](const Said& s) { return s.failed != 0; });
  if (failed != all.end())
    return tell_failure(file.comm(), function, static_cast<int>(failed - all.begin()), std::move(mine));
  const auto other = std::ranges::find_if(all, [&](const Said& s) { return s.argument != all[0].argument; });
  if (other != all.end())
    return failure(MPI_ERR_NOT_SAME, "{}: {} is {} on rank 0 and {} on rank {}", file.name, name, all[0].argument,
                   other->argument, other - all.begin());
  return agree(file.comm(), function, file.rank() == 0 ? act() : Error());
}

Error not_sequential(const File& file) {
  if (!file.is_sequential()) return {};
  return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                 "{}: the size of a file of MPI_MODE_SEQUENTIAL cannot be set (argument fh)", file.name);
}

Error not_negative(int64_t value, const char* argument) {
  if (value >= 0) return {};
  return failure(MPI_ERR_ARG, "{} is negative (argument {})", value, argument);
}

struct ViewSaid {
  int64_t failed, etype_extent, etype_bytes;
  uint64_t fingerprint;  // of the view
  char representation[MPI_MAX_DATAREP_STRING];
};

// The standard wants displacements of filetypes to ascend, and of files that are written no byte to be in two pieces.
// No more is looked at than a call can afford.
struct Order {
  bool ascends = true, overlaps = false;
};
Order order_of(const Layout& layout) {
  Order order;
  int left = 1 << 16;
  int64_t before = 0, end = 0;
  layout.each_run(0, layout.size(), [&](int64_t at, int64_t bytes) {
    order.ascends = at >= before;
    order.overlaps |= at < end;
    before = at;
    end = std::max(end, at + bytes);
    return order.ascends && --left > 0;
  });
  return order;
}

Error check_filetype(const Datatype& etype, const Datatype& filetype) {
  for (const Datatype* type : {&etype, &filetype})
    if (!type->committed)
      return failure(MPI_ERR_TYPE, "{} is not committed: call MPI_Type_commit first (argument {})", description(*type),
                     type == &etype ? "etype" : "filetype");
  const int64_t unit = etype.layout->size(), size = filetype.layout->size();
  if (unit <= 0) return failure(MPI_ERR_TYPE, "an etype without data cannot be counted (argument etype)");
  if (size % unit != 0)
    return failure(MPI_ERR_TYPE,
                   "the filetype has {} bytes, which is no multiple of the {} of the etype "
                   "(argument filetype)",
                   size, unit);
  if (filetype.layout->true_lower_bound() < 0)
    return failure(MPI_ERR_TYPE, "the filetype has a negative displacement (argument filetype)");
  if (!order_of(*filetype.layout).ascends)
    return failure(MPI_ERR_TYPE, "the displacements of the filetype descend, which a view cannot (argument filetype)");
  return {};
}

Error make_view(File& file, MPI_Offset disp, Datatype& etype, Datatype& filetype, const char* datarep, FileView& made) {
  if (Error e = no_split(file)) return e;
  if (file.accesses > 0)
    return failure(MPI_ERR_PENDING, "{}: nonblocking accesses are not complete: wait for them first (argument fh)",
                   file.name);
  if (strnlen(datarep, MPI_MAX_DATAREP_STRING) == MPI_MAX_DATAREP_STRING)
    return failure(MPI_ERR_UNSUPPORTED_DATAREP, "the name of the data representation is too long (argument datarep)");
  made.representation = find_representation(datarep);
  if (!made.representation)
    return failure(MPI_ERR_UNSUPPORTED_DATAREP,
                   "the data representation {} is not known: native, internal, external32, and what "
                   "MPI_Register_datarep has made (argument datarep)",
                   datarep);
  if (disp == MPI_DISPLACEMENT_CURRENT && !file.is_sequential())
    return failure(MPI_ERR_ARG, "MPI_DISPLACEMENT_CURRENT is for files of MPI_MODE_SEQUENTIAL (argument disp)");
  if (disp < 0 && disp != MPI_DISPLACEMENT_CURRENT) return not_negative(disp, "disp");
  if (disp >= 0 && file.is_sequential())
    return failure(MPI_ERR_ARG, "a file of MPI_MODE_SEQUENTIAL wants MPI_DISPLACEMENT_CURRENT (argument disp)");
  if (Error e = check_filetype(etype, filetype)) return e;
  Result<Ref<Datatype>> unit = type_in_file(etype, *made.representation);
  if (!unit) return std::move(unit).error();
  Result<Ref<Datatype>> tile = type_in_file(filetype, *made.representation);
  if (!tile) return std::move(tile).error();
  made.etype = Ref<Datatype>(&etype);
  made.filetype = Ref<Datatype>(&filetype);
  made.etype_bytes = (*unit)->layout->size();
  made.bytes.tile = (*tile)->layout;
  made.bytes.displacement = disp;
  made.overlaps = order_of(*made.bytes.tile).overlaps;
  if (made.bytes.tile->extent() > 0 || made.bytes.is_empty()) return {};
  return failure(MPI_ERR_TYPE, "the filetype's extent is {}: its tiles would not follow each other (argument filetype)",
                 made.bytes.tile->extent());
}

Error same_views(const File& file, const std::vector<ViewSaid>& all) {
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r].etype_extent != all[0].etype_extent)
      return failure(MPI_ERR_NOT_SAME,
                     "{}: the etype's extent is {} bytes on rank 0 and {} on rank {} (argument etype)", file.name,
                     all[0].etype_extent, all[r].etype_extent, r);
    if (std::strcmp(all[r].representation, all[0].representation) != 0)
      return failure(MPI_ERR_NOT_SAME,
                     "{}: the data representation is {} on rank 0 and {} on rank {} (argument datarep)", file.name,
                     all[0].representation, all[r].representation, r);
  }
  return {};
}

// From where the shared pointer stands.
Error displacement_now(File& file, int64_t& displacement) {
  int64_t etypes = 0;
  if (Error e = advance_shared(file, 0, etypes)) return e;
  const auto view = file.current_view();
  displacement = view->bytes.is_empty() ? view->bytes.displacement : view->bytes.offset_of(etypes * view->etype_bytes);
  return {};
}

// Whole etypes of the view that lie before the file's end; one that the end cuts counts.
Error etypes_to_end(File& file, const FileView& view, int64_t& etypes) {
  int64_t size = 0;
  if (Error e = file.io->size(size)) return e;
  etypes = (view.bytes.position_at(size) + view.etype_bytes - 1) / view.etype_bytes;
  return {};
}

Error seek_to(File& file, MPI_Offset offset, int whence, int64_t current, int64_t& place) {
  if (file.is_sequential())
    return failure(MPI_ERR_UNSUPPORTED_OPERATION, "{}: a file of MPI_MODE_SEQUENTIAL has no offsets (argument fh)",
                   file.name);
  int64_t from = 0;
  if (whence == MPI_SEEK_CUR) {
    from = current;
  } else if (whence == MPI_SEEK_END) {
    if (Error e = etypes_to_end(file, *file.current_view(), from)) return e;
  } else if (whence != MPI_SEEK_SET) {
    return failure(MPI_ERR_ARG, "{} is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END (argument whence)", whence);
  }
  if (__builtin_add_overflow(from, offset, &place) || place < 0)
    return failure(MPI_ERR_ARG, "{}: the pointer would be at {}, before the begin of the view (argument offset)",
                   file.name, static_cast<int64_t>(static_cast<uint64_t>(from) + static_cast<uint64_t>(offset)));
  return {};
}

Error add_registered(const char* datarep, Representation made) {
  const size_t length = strnlen(datarep, MPI_MAX_DATAREP_STRING);
  if (length == 0 || length == MPI_MAX_DATAREP_STRING)
    return failure(MPI_ERR_ARG, "the name of a data representation has 1 to {} characters (argument datarep)",
                   MPI_MAX_DATAREP_STRING - 1);
  if (!made.extent) return failure(MPI_ERR_ARG, "the extent function is NULL (argument dtype_file_extent_fn)");
  made.name = datarep;
  return add_representation(std::move(made));
}

MPI_Datatype handed_out(Datatype& type) {
  if (type.predefined) return type.handle;
  MPI_Datatype given;
  type.add_handle();
  given = type.handle;
  return given;
}

}  // namespace

Error file_set_view(File& fh, MPI_Offset disp, Datatype& etype, Datatype& filetype, const char* datarep, Info* info) {
  auto made = std::make_shared<FileView>();
  Error mine = make_view(fh, disp, etype, filetype, datarep, *made);
  await_earlier(fh);
  ViewSaid said{mine.mpi_class(), etype.layout->extent(), made->etype_bytes, mine ? 0 : made->bytes.fingerprint(), {}};
  std::strncpy(said.representation, datarep, sizeof said.representation - 1);
  std::vector<ViewSaid> all;
  if (Error e = exchange(fh.comm(), Function::File_set_view, said, all)) return e;
  const auto failed = std::ranges::find_if(all, [](const ViewSaid& s) { return s.failed != 0; });
  if (failed != all.end())
    return tell_failure(fh.comm(), Function::File_set_view, static_cast<int>(failed - all.begin()), std::move(mine));
  if (Error e = same_views(fh, all)) return e;
  if (disp == MPI_DISPLACEMENT_CURRENT) {
    if (Error e = agree(fh.comm(), Function::File_set_view, displacement_now(fh, made->bytes.displacement))) return e;
  }
  // Nobody uses the shared pointer any more, or does so again before it is set.
  if (Error e = agree(fh.comm(), Function::File_set_view, fh.rank() == 0 ? set_shared(fh, 0) : Error())) return e;
  const Lock lock(fh.mutex);
  const auto other = std::ranges::find_if(all, [&](const ViewSaid& s) {
    return s.fingerprint != all[0].fingerprint || s.etype_bytes != all[0].etype_bytes;
  });
  fh.other_view = other == all.end() ? 0 : static_cast<int>(other - all.begin());
  fh.view = std::move(made);
  fh.position = 0;
  fh.views.reset();
  fh.views_too_large = false;
  fh.hints.take(info, fh.rank() == 0);
  return {};
}

Error file_get_view(File& fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep) {
  const auto view = fh.current_view();
  *disp = view->bytes.displacement;
  *etype = handed_out(*view->etype);
  *filetype = handed_out(*view->filetype);
  std::strcpy(datarep, view->representation->name.c_str());
  return {};
}

Error file_get_position(File& fh, MPI_Offset* offset) {
  if (fh.is_sequential())
    return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                   "{}: a file of MPI_MODE_SEQUENTIAL has no individual pointers (argument fh)", fh.name);
  const Lock lock(fh.mutex);
  *offset = fh.position;
  return {};
}

Error file_get_position_shared(File& fh, MPI_Offset* offset) {
  if (fh.is_sequential())
    return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                   "{}: the shared pointer of a file of MPI_MODE_SEQUENTIAL is neither set nor asked for (the "
                   "standard, section 14.4.4; argument fh)",
                   fh.name);
  if (Error e = alike_views(fh)) return e;
  int64_t etypes = 0;
  Error error = advance_shared(fh, 0, etypes);
  *offset = etypes;
  return error;
}

Error file_seek(File& fh, MPI_Offset offset, int whence) {
  int64_t place = 0, current;
  {
    const FileLock lock(fh);
    current = fh.position;
  }
  if (Error e = seek_to(fh, offset, whence, current, place)) return e;
  const Lock lock(fh.mutex);
  fh.position = place;
  return {};
}

Error file_seek_shared(File& fh, MPI_Offset offset, int whence) {
  await_earlier(fh);
  Error mine = no_split(fh);
  if (!mine) mine = alike_views(fh);
  // What is added to the current place must not be less than nothing on any rank: rank 0 tells.
  std::vector<std::array<int64_t, 3>> all;
  if (Error e = exchange(fh.comm(), Function::File_seek_shared,
                         std::array<int64_t, 3>{offset, whence, mine.mpi_class()}, all))
    return e;
  for (size_t r = 0; r < all.size(); ++r)
    if (all[r][2]) return tell_failure(fh.comm(), Function::File_seek_shared, static_cast<int>(r), std::move(mine));
  for (size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      return failure(MPI_ERR_NOT_SAME, "{}: ranks 0 and {} seek the shared pointer to different places", fh.name, r);
  if (fh.rank() == 0) {
    int64_t place = 0, current = 0;
    mine = advance_shared(fh, 0, current);
    if (!mine) mine = seek_to(fh, offset, whence, current, place);
    if (!mine) mine = set_shared(fh, place);
  }
  return agree(fh.comm(), Function::File_seek_shared, std::move(mine));
}

Error file_get_byte_offset(File& fh, MPI_Offset offset, MPI_Offset* disp) {
  if (Error e = not_negative(offset, "offset")) return e;
  const auto view = fh.current_view();
  if (Error e = check_place(fh, *view, offset, 0)) return e;
  *disp = view->bytes.is_empty() ? view->bytes.displacement : view->bytes.offset_of(offset * view->etype_bytes);
  return {};
}

Error file_get_type_extent(File& fh, Datatype& datatype, int64_t& extent) {
  Result<Ref<Datatype>> there = type_in_file(datatype, *fh.current_view()->representation);
  if (!there) return std::move(there).error();
  extent = (*there)->layout->extent();
  return {};
}

Error file_get_size(File& fh, MPI_Offset* size) {
  int64_t bytes = 0;
  Error error = fh.io->size(bytes);
  *size = bytes;
  return error;
}

Error file_set_size(File& fh, MPI_Offset size) {
  Error mine = no_split(fh);
  if (!mine) mine = writable(fh);
  if (!mine) mine = not_sequential(fh);
  if (!mine) mine = not_negative(size, "size");
  return by_rank_0(fh, Function::File_set_size, size, "the size", std::move(mine), [&] { return fh.io->resize(size); });
}

Error file_preallocate(File& fh, MPI_Offset size) {
  Error mine = no_split(fh);
  if (!mine) mine = writable(fh);
  if (!mine) mine = not_sequential(fh);
  if (!mine) mine = not_negative(size, "size");
  return by_rank_0(fh, Function::File_preallocate, size, "the size", std::move(mine),
                   [&] { return fh.io->reserve(size); });
}

Error file_sync(File& fh) {
  await_earlier(fh);
  Error mine = no_split(fh);
  if (!mine && !(fh.amode & MPI_MODE_RDONLY)) mine = fh.io->sync();
  if (Error e = agree(fh.comm(), Function::File_sync, std::move(mine))) return e;
  return fh.written ? fh.written->compare(fh, Function::File_sync) : Error();
}

Error file_set_atomicity(File& fh, int flag) {
  Error error =
      by_rank_0(fh, Function::File_set_atomicity, flag != 0, "the flag", no_split(fh), [] { return Error(); });
  if (error) return error;
  const Lock lock(fh.mutex);
  fh.atomic = flag != 0;
  return {};
}

Error file_get_atomicity(File& fh, int* flag) {
  const Lock lock(fh.mutex);
  *flag = fh.atomic;
  return {};
}

Error file_get_amode(File& fh, int* amode) {
  *amode = fh.amode;
  return {};
}

Error file_get_group(File& fh, MPI_Group* group) {
  *group = make_group(fh.group->processes, fh.group->rank);
  return {};
}

Error file_set_info(File& fh, Info* info) {
  await_earlier(fh);
  if (Error e = agree(fh.comm(), Function::File_set_info, no_split(fh))) return e;
  const Lock lock(fh.mutex);
  fh.hints.take(info, fh.rank() == 0);
  return {};
}

Error file_get_info(File& fh, MPI_Info* info_used) {
  auto* made = new Info;
  const Lock lock(fh.mutex);
  const auto word = [](Hints::CollectiveBuffering c) {
    return c == Hints::CollectiveBuffering::always  ? "enable"
           : c == Hints::CollectiveBuffering::never ? "disable"
                                                    : "automatic";
  };
  for (const auto& [key, value] : fh.hints.told) made->set(key, value);
  made->set("filename", fh.name);
  made->set("file_perm", fmt::format("{:o}", fh.hints.permissions));
  made->set("cb_buffer_size", std::to_string(fh.hints.cb_buffer_size));
  if (fh.hints.cb_nodes > 0) made->set("cb_nodes", std::to_string(std::min(fh.hints.cb_nodes, fh.size())));
  const io::Stripes stripes = fh.io->stripes();
  const auto tell = [&](const char* key, int64_t hint, int64_t there) {
    if (hint > 0 || there > 0) made->set(key, std::to_string(hint > 0 ? hint : there));
  };
  tell("striping_unit", fh.hints.striping_unit, stripes.bytes);
  tell("striping_factor", fh.hints.striping_factor, stripes.count);
  made->set("romio_cb_read", word(fh.hints.buffered_reads));
  made->set("romio_cb_write", word(fh.hints.buffered_writes));
  if (fh.hints.buffered_reads == fh.hints.buffered_writes &&
      fh.hints.buffered_reads != Hints::CollectiveBuffering::automatic)
    made->set("collective_buffering", fh.hints.buffered_reads == Hints::CollectiveBuffering::always ? "true" : "false");
  *info_used = inventory::hand_out(*made);
  return {};
}

Error register_datarep(const char* datarep, MPI_Datarep_conversion_function* read,
                       MPI_Datarep_conversion_function* write, MPI_Datarep_extent_function* extent, void* extra_state) {
  return add_registered(datarep,
                        {.read_small = read, .write_small = write, .extent = extent, .extra_state = extra_state});
}

Error register_datarep_c(const char* datarep, MPI_Datarep_conversion_function_c* read,
                         MPI_Datarep_conversion_function_c* write, MPI_Datarep_extent_function* extent,
                         void* extra_state) {
  return add_registered(datarep, {.read = read, .write = write, .extent = extent, .extra_state = extra_state});
}

}  // namespace tutti::mpi::file
