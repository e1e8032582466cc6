// SPDX-License-Identifier: BSD-3-Clause
// Files by chance: views, types in memory and ways to access that a seed chooses, step by step, beside a model of the
// file that every rank keeps for all ranks. What is read, the counts of statuses, pointers, and at the end the file's
// bytes are those of the model.
//   random [SEED [STEPS]]
#include <memory>

#include "scratch.hpp"

namespace {

constexpr int kUnknown = -1;  // a byte that nobody has written
const MPI_Datatype kEtypes[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

// A view of one rank: slots of a tile, of which each has some etypes.
struct View {
  MPI_Offset displacement = 0;
  int etype = 0, slot_etypes = 1, slots_of_tile = 1;
  std::vector<int> slots;  // of this rank, in ascending order

  int etype_bytes() const { return 1 << etype; }
  int slot_bytes() const { return slot_etypes * etype_bytes(); }
  MPI_Offset offset_of(MPI_Offset position) const {  // of a byte of the view
    const MPI_Offset in_tile = static_cast<MPI_Offset>(slots.size()) * slot_bytes();
    const MPI_Offset tile = position / in_tile, rest = position % in_tile;
    return displacement + tile * slots_of_tile * slot_bytes() +
           MPI_Offset{slots[static_cast<size_t>(rest / slot_bytes())]} * slot_bytes() + rest % slot_bytes();
  }
};

struct Access {
  MPI_Offset at = 0;  // in etypes of the view
  int etypes = 0;
  bool gaps = false;  // in memory: every other etype
};

// What all ranks think is in the file.
struct Model {
  std::vector<int> bytes;
  std::vector<View> views;
  std::vector<MPI_Offset> pointers;
  MPI_Offset shared = 0;

  static int value(unsigned step, int rank, int part, MPI_Offset i) {
    return static_cast<unsigned char>(
        check::mix(step, static_cast<unsigned>(rank * 64 + part), static_cast<unsigned>(i)));
  }
  void write(int rank, const Access& access, unsigned step, int part) {
    const View& view = views[static_cast<size_t>(rank)];
    for (MPI_Offset i = 0; i < MPI_Offset{access.etypes} * view.etype_bytes(); ++i) {
      const auto at = static_cast<size_t>(view.offset_of(access.at * view.etype_bytes() + i));
      if (at >= bytes.size()) bytes.resize(at + 1, kUnknown);
      bytes[at] = value(step, rank, part, i);
    }
  }
  // How many bytes such a read finds before the end of the file.
  MPI_Offset readable(int rank, const Access& access) const {
    const View& view = views[static_cast<size_t>(rank)];
    MPI_Offset n = 0;
    while (n < MPI_Offset{access.etypes} * view.etype_bytes() &&
           view.offset_of(access.at * view.etype_bytes() + n) < static_cast<MPI_Offset>(bytes.size()))
      ++n;
    return n;
  }
};

constexpr int kMostParts = 3;

// One rank's memory for an access.
class Buffer {
 public:
  Buffer(const View& view, const Access& access) : view_(view), access_(access) {
    etype_ = kEtypes[view.etype];
    if (access.gaps) {
      MPI_Datatype one;
      OK(MPI_Type_create_resized(etype_, 0, 2 * view.etype_bytes(), &one));
      OK(MPI_Type_contiguous(std::max(access.etypes, 1), one, &type_));
      OK(MPI_Type_free(&one));
      OK(MPI_Type_commit(&type_));
    }
    bytes_.assign(static_cast<size_t>(access.etypes) * (access.gaps ? 2 : 1) * view.etype_bytes() + 8, 0xee);
  }
  ~Buffer() {
    if (access_.gaps) MPI_Type_free(&type_);
  }
  Buffer(const Buffer&) = delete;

  void* data() { return bytes_.data(); }
  int count() const { return access_.gaps ? (access_.etypes > 0 ? 1 : 0) : access_.etypes; }
  MPI_Datatype type() const { return access_.gaps ? type_ : etype_; }
  unsigned char& byte(MPI_Offset i) {
    const int size = view_.etype_bytes();
    return bytes_[static_cast<size_t>(access_.gaps ? i / size * 2 * size + i % size : i)];
  }
  MPI_Offset size() const { return MPI_Offset{access_.etypes} * view_.etype_bytes(); }
  void fill(unsigned step, int rank, int part) {
    for (MPI_Offset i = 0; i < size(); ++i) byte(i) = static_cast<unsigned char>(Model::value(step, rank, part, i));
  }
  // What was read is what the model has, and nothing else has changed.
  void check(const Model& model, int rank, unsigned step) {
    const MPI_Offset there = model.readable(rank, access_);
    for (MPI_Offset i = 0; i < there; ++i) {
      const int wanted = model.bytes[static_cast<size_t>(view_.offset_of(access_.at * view_.etype_bytes() + i))];
      if (wanted != kUnknown)
        CHECK_EQ_IN(byte(i), wanted, "step %u, byte %lld of %lld", step, (long long)i, (long long)there);
    }
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const auto size = static_cast<size_t>(view_.etype_bytes());
      const bool gap = i >= bytes_.size() - 8 || (access_.gaps && i / size % 2 == 1);
      if (gap) CHECK_EQ_IN(bytes_[i], 0xee, "step %u, byte %zu of memory is none of the access", step, i);
    }
  }

 private:
  const View view_;
  const Access access_;
  MPI_Datatype etype_, type_ = MPI_DATATYPE_NULL;
  std::vector<unsigned char> bytes_;
};

class Run {
 public:
  Run(Scratch& scratch, unsigned seed) : chance_(seed), rank_(check::world_rank) {
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size_));
    path_ = scratch.file("random." + std::to_string(seed));
    MPI_Info info;
    OK(MPI_Info_create(&info));
    const char* ways[] = {"automatic", "enable", "disable"};
    OK(MPI_Info_set(info, "romio_cb_write", ways[chance_.below(3)]));
    OK(MPI_Info_set(info, "romio_cb_read", ways[chance_.below(3)]));
    OK(MPI_Info_set(info, "cb_buffer_size", chance_.one_in(2) ? "4096" : "16384"));
    OK(MPI_Info_set(info, "cb_nodes", std::to_string(1 + chance_.below(size_)).c_str()));
    file_ = opened(path_, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
    OK(MPI_Info_free(&info));
    model_.views.resize(static_cast<size_t>(size_));
    model_.pointers.assign(static_cast<size_t>(size_), 0);
    choose_views();
  }

  void step(unsigned number) {
    step_ = number;
    const int what = chance_.below(20);
    if (what < 2) return choose_views();
    if (what == 2) return change_size();
    if (what == 3) return move_pointers();
    if (what < 6 && alike_) return in_order(what == 4);
    const bool writes = what % 2 == 0;
    const int form = chance_.below(8);
    if (writes) choose_atomicity();
    access(writes, form);
    settle();
  }

  void end() {
    OK(MPI_File_close(&file_));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank_ == 0) {
      const std::vector<unsigned char> got = contents(path_);
      CHECK_EQ(got.size(), model_.bytes.size());
      for (size_t i = 0; i < got.size(); ++i)
        if (model_.bytes[i] != kUnknown) CHECK_EQ_IN(got[i], model_.bytes[i], "byte %zu of the file", i);
    }
  }

 private:
  const View& mine() const { return model_.views[static_cast<size_t>(rank_)]; }

  // What one rank has written the others find from now on.
  void settle() {
    OK(MPI_File_sync(file_));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file_));
  }

  // Slots of one tile, each of one rank; or a whole tile for all alike, as shared pointers want it.
  void choose_views() {
    View common;
    common.etype = chance_.below(4);
    common.slot_etypes = 1 + (chance_.one_in(3) ? chance_.below(200) : chance_.below(9));
    common.displacement = chance_.below(3) * 8 + chance_.below(8);
    common.slots_of_tile = size_ + chance_.below(2 * size_);
    alike_ = chance_.one_in(4);
    for (View& view : model_.views) view = common;
    for (int slot = 0; slot < common.slots_of_tile; ++slot) {
      const int owner = slot < size_ ? slot : chance_.below(size_ + 1);  // or nobody's
      for (int rank = 0; rank < size_; ++rank)
        if (alike_ ? slot % 2 == 0 : rank == owner) model_.views[static_cast<size_t>(rank)].slots.push_back(slot);
    }
    const MPI_Datatype etype = kEtypes[common.etype], type = filetype(mine(), chance_.below(3));
    OK(MPI_File_set_view(file_, mine().displacement, etype, type, "native", MPI_INFO_NULL));
    MPI_Datatype left = type;
    OK(MPI_Type_free(&left));
    model_.pointers.assign(model_.pointers.size(), 0);
    model_.shared = 0;
  }

  static MPI_Datatype filetype(const View& view, int how) {
    const MPI_Datatype etype = kEtypes[view.etype];
    const int count = static_cast<int>(view.slots.size());
    std::vector<int> lengths(view.slots.size(), view.slot_etypes), places;
    std::vector<MPI_Aint> bytes;
    for (const int slot : view.slots) {
      places.push_back(slot * view.slot_etypes);
      bytes.push_back(MPI_Aint{slot} * view.slot_bytes());
    }
    MPI_Datatype blocks, type;
    if (how == 0) {
      OK(MPI_Type_indexed(count, lengths.data(), places.data(), etype, &blocks));
    } else if (how == 1) {
      OK(MPI_Type_create_hindexed_block(count, view.slot_etypes, bytes.data(), etype, &blocks));
    } else {
      const std::vector<MPI_Datatype> types(view.slots.size(), etype);
      OK(MPI_Type_create_struct(count, lengths.data(), bytes.data(), types.data(), &blocks));
    }
    OK(MPI_Type_create_resized(blocks, 0, MPI_Aint{view.slots_of_tile} * view.slot_bytes(), &type));
    OK(MPI_Type_free(&blocks));
    OK(MPI_Type_commit(&type));
    return type;
  }

  void change_size() {
    const auto now = static_cast<int>(model_.bytes.size());
    const int wanted = chance_.below(now + 100);
    if (chance_.one_in(2)) {
      OK(MPI_File_set_size(file_, wanted));
      model_.bytes.resize(static_cast<size_t>(wanted), kUnknown);
    } else {
      OK(MPI_File_preallocate(file_, wanted));
      if (wanted > now) model_.bytes.resize(static_cast<size_t>(wanted), kUnknown);
    }
    settle();
    MPI_Offset told = -1;
    OK(MPI_File_get_size(file_, &told));
    CHECK_EQ(told, static_cast<MPI_Offset>(model_.bytes.size()));
    OK(MPI_Barrier(MPI_COMM_WORLD));  // before anybody writes more
  }

  void move_pointers() {
    for (int rank = 0; rank < size_; ++rank) {
      MPI_Offset& pointer = model_.pointers[static_cast<size_t>(rank)];
      const int by = chance_.below(40);
      const bool from_here = chance_.one_in(2);
      if (rank == rank_) OK(MPI_File_seek(file_, by, from_here ? MPI_SEEK_CUR : MPI_SEEK_SET));
      pointer = from_here ? pointer + by : by;
    }
    MPI_Offset told = -1, bytes = -1;
    OK(MPI_File_get_position(file_, &told));
    CHECK_EQ(told, model_.pointers[static_cast<size_t>(rank_)]);
    OK(MPI_File_get_byte_offset(file_, told, &bytes));
    CHECK_EQ(bytes, mine().offset_of(told * mine().etype_bytes()));
  }

  void choose_atomicity() {
    if (!chance_.one_in(6)) return;
    atomic_ = !atomic_;
    OK(MPI_File_set_atomicity(file_, atomic_));
  }

  int length() { return chance_.one_in(5) ? 0 : chance_.one_in(4) ? chance_.below(900) : chance_.below(60); }

  void check_status(const MPI_Status& status, MPI_Offset bytes) {
    int count = -1;
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ_IN(count, bytes, "step %u", step_);
  }

  // Views that are alike are written by one rank after the other.
  void access(bool writes, int form) {
    const bool pointers = form >= 4;
    const bool several = form == 2 || form == 3;
    const int parts = several ? 1 + chance_.below(kMostParts) : 1;
    std::vector<std::vector<Access>> all(static_cast<size_t>(size_));
    MPI_Offset next = chance_.below(100);
    for (int rank = 0; rank < size_; ++rank) {
      MPI_Offset at = alike_ && writes ? next : chance_.below(100);
      if (pointers) at = model_.pointers[static_cast<size_t>(rank)];
      for (int part = 0; part < parts; ++part) {
        const bool may = !(alike_ && writes && pointers) || rank == 0;  // their pointers might meet
        const Access one{at, may ? length() : 0, chance_.one_in(3)};
        all[static_cast<size_t>(rank)].push_back(one);
        at += one.etypes;
      }
      next = at;
      if (pointers) model_.pointers[static_cast<size_t>(rank)] = at;
    }
    if (writes)
      for (int rank = 0; rank < size_; ++rank)
        for (int part = 0; part < parts; ++part)
          if (all[static_cast<size_t>(rank)][static_cast<size_t>(part)].etypes > 0)
            model_.write(rank, all[static_cast<size_t>(rank)][static_cast<size_t>(part)], step_, part);
    const std::vector<Access>& own = all[static_cast<size_t>(rank_)];
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int part = 0; part < parts; ++part) {
      buffers.push_back(std::make_unique<Buffer>(mine(), own[static_cast<size_t>(part)]));
      if (writes) buffers.back()->fill(step_, rank_, part);
    }
    std::vector<MPI_Status> statuses(static_cast<size_t>(parts));
    writes ? write(form, own, buffers, statuses) : read(form, own, buffers, statuses);
    for (int part = 0; part < parts; ++part) {
      Buffer& buffer = *buffers[static_cast<size_t>(part)];
      const Access& one = own[static_cast<size_t>(part)];
      check_status(statuses[static_cast<size_t>(part)], writes ? buffer.size() : model_.readable(rank_, one));
      if (!writes) buffer.check(model_, rank_, step_);
    }
  }

  void write(int form, const std::vector<Access>& own, std::vector<std::unique_ptr<Buffer>>& buffers,
             std::vector<MPI_Status>& statuses) {
    std::vector<MPI_Request> requests(own.size(), MPI_REQUEST_NULL);
    for (size_t i = 0; i < own.size(); ++i) {
      Buffer& b = *buffers[i];
      const MPI_Offset at = own[i].at;
      switch (form) {
          // clang-format off
        case 0: OK(MPI_File_write_at(file_, at, b.data(), b.count(), b.type(), &statuses[i])); break;
        case 1: OK(MPI_File_write_at_all(file_, at, b.data(), b.count(), b.type(), &statuses[i])); break;
        case 2: OK(MPI_File_iwrite_at(file_, at, b.data(), b.count(), b.type(), &requests[i])); break;
        case 3: OK(MPI_File_iwrite_at_all(file_, at, b.data(), b.count(), b.type(), &requests[i])); break;
        case 4: OK(MPI_File_write(file_, b.data(), b.count(), b.type(), &statuses[i])); break;
        case 5: OK(MPI_File_write_all(file_, b.data(), b.count(), b.type(), &statuses[i])); break;
        // clang-format on
        case 6:
          OK(MPI_File_write_all_begin(file_, b.data(), b.count(), b.type()));
          OK(MPI_File_write_all_end(file_, b.data(), &statuses[i]));
          break;
        default:
          OK(MPI_File_iwrite_all(file_, b.data(), b.count(), b.type(), &requests[i]));
      }
    }
    finish(form, requests, statuses);
  }
  void read(int form, const std::vector<Access>& own, std::vector<std::unique_ptr<Buffer>>& buffers,
            std::vector<MPI_Status>& statuses) {
    std::vector<MPI_Request> requests(own.size(), MPI_REQUEST_NULL);
    for (size_t i = 0; i < own.size(); ++i) {
      Buffer& b = *buffers[i];
      const MPI_Offset at = own[i].at;
      switch (form) {
          // clang-format off
        case 0: OK(MPI_File_read_at(file_, at, b.data(), b.count(), b.type(), &statuses[i])); break;
        case 1: OK(MPI_File_read_at_all(file_, at, b.data(), b.count(), b.type(), &statuses[i])); break;
        case 2: OK(MPI_File_iread_at(file_, at, b.data(), b.count(), b.type(), &requests[i])); break;
        case 3: OK(MPI_File_iread_at_all(file_, at, b.data(), b.count(), b.type(), &requests[i])); break;
        case 4: OK(MPI_File_read(file_, b.data(), b.count(), b.type(), &statuses[i])); break;
        case 5: OK(MPI_File_read_all(file_, b.data(), b.count(), b.type(), &statuses[i])); break;
        // clang-format on
        case 6:
          OK(MPI_File_read_all_begin(file_, b.data(), b.count(), b.type()));
          OK(MPI_File_read_all_end(file_, b.data(), &statuses[i]));
          break;
        default:
          OK(MPI_File_iread_all(file_, b.data(), b.count(), b.type(), &requests[i]));
      }
    }
    finish(form, requests, statuses);
  }
  static void finish(int form, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses) {
    if (form == 2 || form == 3 || form == 7)
      OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()));
  }

  // By the shared pointer, one rank after the other.
  void in_order(bool writes) {
    MPI_Offset at = model_.shared;
    Access own;
    for (int rank = 0; rank < size_; ++rank) {
      const Access one{at, length(), chance_.one_in(3)};
      if (writes && one.etypes > 0) model_.write(rank, one, step_, 0);
      if (rank == rank_) own = one;
      at += one.etypes;
    }
    model_.shared = at;
    Buffer buffer(mine(), own);
    MPI_Status status;
    if (writes) {
      buffer.fill(step_, rank_, 0);
      OK(MPI_File_write_ordered(file_, buffer.data(), buffer.count(), buffer.type(), &status));
      check_status(status, buffer.size());
    } else {
      OK(MPI_File_read_ordered(file_, buffer.data(), buffer.count(), buffer.type(), &status));
      check_status(status, model_.readable(rank_, own));
      buffer.check(model_, rank_, step_);
    }
    settle();
    MPI_Offset told = -1;
    OK(MPI_File_get_position_shared(file_, &told));
    CHECK_EQ(told, model_.shared);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  Chance chance_;
  const int rank_;
  int size_ = 0;
  unsigned step_ = 0;
  bool alike_ = false, atomic_ = false;
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
  Model model_;
};

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const unsigned first = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  const unsigned steps = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 60;
  Scratch scratch;
  for (unsigned seed = first; seed < first + 6; ++seed) {
    Run run(scratch, seed);
    for (unsigned step = 1; step <= steps; ++step) run.step(step);
    run.end();
  }
}
