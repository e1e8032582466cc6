// SPDX-License-Identifier: BSD-3-Clause
// Wrong programs, hundreds of small ones, each on a communicator of its own, and their right twins.
// In a wrong one, one rank makes another call than the rest, or the same with other arguments: the
// error must say so, and no rank may hang. In its twin all ranks make the one call and then the other;
// further right ones differ between the ranks in what they may. Of them nothing may be said. Prints for each class
// what was found, what missed, and what accused falsely.   usage: mismatch [PART OF] (a share of all)
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "check.hpp"

namespace {

constexpr int kMost = 8;  // ranks

// The arguments that a rank gives; each wrong program changes one.
struct Arguments {
  int root = 0;
  int count = 4;
  MPI_Datatype type = MPI_INT;
  MPI_Op op = MPI_SUM;
  bool in_place = false;
};

struct Buffers {
  std::vector<double> in, out;
  std::array<int, kMost> counts, places, bytes;
  std::array<MPI_Datatype, kMost> types;
  explicit Buffers(const Arguments& a) {
    int size = 1;
    MPI_Type_size(a.type, &size);
    in.resize(256 + static_cast<size_t>(a.count) * kMost * size / sizeof(double));
    out.resize(in.size());
    counts.fill(a.count);
    types.fill(a.type);
    for (int i = 0; i < kMost; ++i) {
      places[i] = i * a.count;
      bytes[i] = i * a.count * size;
    }
  }
};

// A collective; `request` is MPI_REQUEST_NULL behind a blocking one.
using Call = std::function<int(MPI_Comm, const Arguments&, Buffers&, MPI_Request*)>;
enum class Form { blocking, nonblocking, persistent };
constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent"};
struct Collective {
  std::string name;
  std::string base;  // the blocking form's
  Form form;
  bool rooted, reduces, has_data;
  Call call;
};

void* in_of(const Arguments& a, Buffers& b, bool allowed = true) {
  return a.in_place && allowed ? MPI_IN_PLACE : b.in.data();
}
bool is_root(MPI_Comm comm, const Arguments& a) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  return rank == a.root;
}

// Of the persistent form the initialisation alone: it is what the ranks call in one order.
#define FORMS(Name, IName, rooted, reduces, has_data, ...)                                        \
  all.push_back({"MPI_" #Name, "MPI_" #Name, Form::blocking, rooted, reduces, has_data,           \
                 [](MPI_Comm c, const Arguments& a, Buffers& b, MPI_Request*) {                   \
                   (void)a, (void)b;                                                              \
                   return MPI_##Name(__VA_ARGS__ c);                                              \
                 }});                                                                             \
  all.push_back({"MPI_" #Name "_init", "MPI_" #Name, Form::persistent, rooted, reduces, has_data, \
                 [](MPI_Comm c, const Arguments& a, Buffers& b, MPI_Request* r) {                 \
                   (void)a, (void)b;                                                              \
                   const int code = MPI_##Name##_init(__VA_ARGS__ c, MPI_INFO_NULL, r);           \
                   return code == MPI_SUCCESS ? MPI_Request_free(r) : code;                       \
                 }});                                                                             \
  all.push_back({"MPI_" #IName, "MPI_" #Name, Form::nonblocking, rooted, reduces, has_data,       \
                 [](MPI_Comm c, const Arguments& a, Buffers& b, MPI_Request* r) {                 \
                   (void)a, (void)b;                                                              \
                   return MPI_##IName(__VA_ARGS__ c, r);                                          \
                 }})
#define SEND in_of(a, b), a.count, a.type
#define SEND_ROOTED in_of(a, b, is_root(c, a)), a.count, a.type
#define RECV b.out.data(), a.count, a.type

std::vector<Collective> collectives() {
  std::vector<Collective> all;
  FORMS(Barrier, Ibarrier, false, false, false, );
  FORMS(Bcast, Ibcast, true, false, true, b.out.data(), a.count, a.type, a.root, );
  FORMS(Gather, Igather, true, false, true, SEND_ROOTED, RECV, a.root, );
  FORMS(Gatherv, Igatherv, true, false, true, SEND_ROOTED, b.out.data(), b.counts.data(), b.places.data(), a.type,
        a.root, );
  FORMS(Scatter, Iscatter, true, false, true, b.in.data(), a.count, a.type,
        a.in_place && is_root(c, a) ? MPI_IN_PLACE : b.out.data(), a.count, a.type, a.root, );
  FORMS(Scatterv, Iscatterv, true, false, true, b.in.data(), b.counts.data(), b.places.data(), a.type,
        a.in_place && is_root(c, a) ? MPI_IN_PLACE : b.out.data(), a.count, a.type, a.root, );
  FORMS(Allgather, Iallgather, false, false, true, SEND, RECV, );
  FORMS(Allgatherv, Iallgatherv, false, false, true, SEND, b.out.data(), b.counts.data(), b.places.data(), a.type, );
  FORMS(Alltoall, Ialltoall, false, false, true, SEND, RECV, );
  FORMS(Alltoallv, Ialltoallv, false, false, true, in_of(a, b), b.counts.data(), b.places.data(), a.type, b.out.data(),
        b.counts.data(), b.places.data(), a.type, );
  FORMS(Alltoallw, Ialltoallw, false, false, true, in_of(a, b), b.counts.data(), b.bytes.data(), b.types.data(),
        b.out.data(), b.counts.data(), b.bytes.data(), b.types.data(), );
  FORMS(Reduce, Ireduce, true, true, true, in_of(a, b, is_root(c, a)), b.out.data(), a.count, a.type, a.op, a.root, );
  FORMS(Allreduce, Iallreduce, false, true, true, in_of(a, b), b.out.data(), a.count, a.type, a.op, );
  FORMS(Reduce_scatter, Ireduce_scatter, false, true, true, in_of(a, b), b.out.data(), b.counts.data(), a.type, a.op, );
  FORMS(Reduce_scatter_block, Ireduce_scatter_block, false, true, true, in_of(a, b), b.out.data(), a.count, a.type,
        a.op, );
  FORMS(Scan, Iscan, false, true, true, in_of(a, b), b.out.data(), a.count, a.type, a.op, );
  FORMS(Exscan, Iexscan, false, true, true, in_of(a, b), b.out.data(), a.count, a.type, a.op, );
  const auto constructor = [&](const char* name, auto make) {
    all.push_back(
        {name, name, Form::blocking, false, false, false, [make](MPI_Comm c, const Arguments&, Buffers&, MPI_Request*) {
           MPI_Comm made = MPI_COMM_NULL;
           const int code = make(c, &made);
           if (code == MPI_SUCCESS && made != MPI_COMM_NULL) MPI_Comm_free(&made);
           return code;
         }});
  };
  constructor("MPI_Comm_dup", [](MPI_Comm c, MPI_Comm* made) { return MPI_Comm_dup(c, made); });
  constructor("MPI_Comm_split", [](MPI_Comm c, MPI_Comm* made) { return MPI_Comm_split(c, 0, 0, made); });
  constructor("MPI_Comm_split_type", [](MPI_Comm c, MPI_Comm* made) {
    return MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made);
  });
  constructor("MPI_Comm_create", [](MPI_Comm c, MPI_Comm* made) {
    MPI_Group group;
    MPI_Comm_group(c, &group);
    const int code = MPI_Comm_create(c, group, made);
    MPI_Group_free(&group);
    return code;
  });
  const auto window = [&](const char* name, auto make) {
    all.push_back(
        {name, name, Form::blocking, false, false, false, [make](MPI_Comm c, const Arguments&, Buffers&, MPI_Request*) {
           MPI_Win made = MPI_WIN_NULL;
           const int code = make(c, &made);
           if (code == MPI_SUCCESS && made != MPI_WIN_NULL) MPI_Win_free(&made);
           return code;
         }});
  };
  window("MPI_Win_create",
         [](MPI_Comm c, MPI_Win* made) { return MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, c, made); });
  window("MPI_Win_allocate", [](MPI_Comm c, MPI_Win* made) {
    void* base;
    return MPI_Win_allocate(8, 1, MPI_INFO_NULL, c, &base, made);
  });
  window("MPI_Win_create_dynamic",
         [](MPI_Comm c, MPI_Win* made) { return MPI_Win_create_dynamic(MPI_INFO_NULL, c, made); });
  all.push_back({"MPI_Comm_idup", "MPI_Comm_dup", Form::nonblocking, false, false, false,
                 [](MPI_Comm c, const Arguments&, Buffers&, MPI_Request* r) {
                   static MPI_Comm made[4096];  // written when the request completes
                   static int n = 0;
                   return MPI_Comm_idup(c, &made[n++ % 4096], r);
                 }});
  return all;
}

struct Tally {
  int found = 0, missed = 0, falsely = 0, right = 0;
};

class Judge {
  using Calls = std::vector<std::pair<const Collective*, const Arguments*>>;

 public:
  Judge(int rank, int size, int part, int of) : rank_(rank), size_(size), part_(part), of_(of) {}

  int size() const { return size_; }

  // One rank differs, after `before` calls in which none does. The sentence holds `words`.
  void wrong(const std::string& kind, const Collective& rest, const Arguments& rest_given, const Collective& odd,
             const Arguments& odd_given, std::vector<std::string> words, size_t before = 0) {
    const int number = number_++;
    if (number % of_ != part_) return;
    const bool is_odd = rank_ == number / of_ % size_;
    Calls calls(before, {&rest, &rest_given});
    calls.emplace_back(is_odd ? &odd : &rest, is_odd ? &odd_given : &rest_given);
    const auto [failed, text] = run(calls);
    Tally& tally = tallies_[kind];
    bool all_said = true;
    for (const std::string& word : words) all_said = all_said && text.find(word) != text.npos;
    // Ranks that were through with the communicator before it was found do not hear of it.
    int said[2] = {failed && all_said, failed && !all_said}, anywhere[2];
    OK(MPI_Allreduce(said, anywhere, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    const bool found = anywhere[0] && !anywhere[1];
    ++(found ? tally.found : tally.missed);
    if (!found)
      std::fprintf(stderr, "rank %d, %s against %s (%s): \"%s\"\n", rank_, odd.name.c_str(), rest.name.c_str(),
                   kind.c_str(), text.c_str());
    run_right(kind, {{&rest, &rest_given}, {&odd, &odd_given}});
  }

  // What this rank does fits what the others do.
  void right(const std::string& kind, const Collective& call, const Arguments& given) {
    const int number = number_++;
    if (number % of_ == part_) run_right(kind, {{&call, &given}});
  }

  bool report() const {
    Tally sum;
    for (const auto& [kind, t] : tallies_) {
      if (rank_ == 0)
        std::printf("%-28s %4d found %4d missed %4d right %4d accused falsely\n", kind.c_str(), t.found, t.missed,
                    t.right, t.falsely);
      sum.found += t.found;
      sum.missed += t.missed;
      sum.falsely += t.falsely;
      sum.right += t.right;
    }
    if (rank_ == 0)
      std::printf("%-28s %4d found %4d missed %4d right %4d accused falsely\n", "all", sum.found, sum.missed, sum.right,
                  sum.falsely);
    return sum.missed + sum.falsely == 0 && sum.found + sum.right > 0;
  }

 private:
  void run_right(const std::string& kind, const Calls& calls) {
    const auto [failed, text] = run(calls);
    int bad = failed, anywhere = 0;
    OK(MPI_Allreduce(&bad, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    ++(anywhere ? tallies_[kind].falsely : tallies_[kind].right);
    if (bad)
      std::fprintf(stderr, "rank %d, %s (%s): \"%s\"\n", rank_, calls.back().first->name.c_str(), kind.c_str(),
                   text.c_str());
  }

  // A few calls, these, and one more, in which most ranks hear of what one has found.
  std::pair<bool, std::string> run(const Calls& calls) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int code = MPI_SUCCESS;  // others may be ahead, and their mismatch found while I am here
    for (int i = 0; i < number_ % 3 && code == MPI_SUCCESS; ++i) code = MPI_Barrier(comm);
    for (const auto& [what, given] : calls) {
      Buffers& buffers = *new Buffers(*given);  // what is abandoned may still be written to
      MPI_Request request = MPI_REQUEST_NULL;
      if (code == MPI_SUCCESS) code = what->call(comm, *given, buffers, &request);
      if (code == MPI_SUCCESS && request != MPI_REQUEST_NULL) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (code == MPI_SUCCESS) code = MPI_Barrier(comm);
    const std::string text = code == MPI_SUCCESS ? "" : check::error_text(code);
    MPI_Comm_free(&comm);
    return {code != MPI_SUCCESS, text};
  }

  const int rank_, size_, part_, of_;

 public:
  // On a file: one rank calls another collective than the rest.
  void files() {
    using FileCall = std::pair<const char*, int (*)(MPI_File)>;
    static int data[4];
    const FileCall calls[] = {
        {"MPI_File_sync", [](MPI_File f) { return MPI_File_sync(f); }},
        {"MPI_File_set_atomicity", [](MPI_File f) { return MPI_File_set_atomicity(f, 0); }},
        {"MPI_File_seek_shared", [](MPI_File f) { return MPI_File_seek_shared(f, 0, MPI_SEEK_SET); }},
        {"MPI_File_set_view",
         [](MPI_File f) { return MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL); }},
        {"MPI_File_write_at_all",
         [](MPI_File f) { return MPI_File_write_at_all(f, 0, data, 4, MPI_INT, MPI_STATUS_IGNORE); }},
        {"MPI_File_write_ordered",
         [](MPI_File f) { return MPI_File_write_ordered(f, data, 4, MPI_INT, MPI_STATUS_IGNORE); }},
        {"MPI_File_read_all_begin",
         [](MPI_File f) {
           const int code = MPI_File_read_all_begin(f, data, 4, MPI_INT);
           return code ? code : MPI_File_read_all_end(f, data, MPI_STATUS_IGNORE);
         }},
        {"MPI_File_set_info", [](MPI_File f) { return MPI_File_set_info(f, MPI_INFO_NULL); }},
        {"MPI_File_iwrite_at_all",
         [](MPI_File f) {
           MPI_Request request;
           const int code = MPI_File_iwrite_at_all(f, 0, data, 4, MPI_INT, &request);
           return code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
         }},
        {"MPI_File_iread_all",
         [](MPI_File f) {
           MPI_Request request;
           const int code = MPI_File_iread_all(f, data, 4, MPI_INT, &request);
           return code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
         }},
    };
    for (const FileCall& rest : calls)
      for (const FileCall& odd : calls) {
        if (number_++ % of_ != part_) continue;
        MPI_File file;
        OK(MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        int code = (rank_ == size_ - 1 ? odd : rest).second(file);
        if (code == MPI_SUCCESS) code = MPI_File_sync(file);
        const std::string text = code == MPI_SUCCESS ? "" : check::error_text(code);
        const bool told = text.find(rest.first) != text.npos && text.find(odd.first) != text.npos &&
                          text.find("the file /dev/null") != text.npos;
        int said[2] = {told, code != MPI_SUCCESS && !told}, anywhere[2];
        OK(MPI_Allreduce(said, anywhere, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        const bool wrong = rest.first != odd.first;
        Tally& tally = tallies_["on a file"];
        if (wrong) {
          ++(anywhere[0] && !anywhere[1] ? tally.found : tally.missed);
        } else {
          ++(anywhere[0] || anywhere[1] ? tally.falsely : tally.right);
          OK(MPI_File_close(&file));
        }
        if (wrong ? !anywhere[0] || anywhere[1] : anywhere[0] || anywhere[1])
          std::fprintf(stderr, "rank %d, on a file, %s and %s: \"%s\"\n", rank_, rest.first, odd.first, text.c_str());
      }
  }

  // On a window: one rank fences it while the others free it, or the other way round.
  void windows() {
    for (int odd = 0; odd < 2 * size_; ++odd) {
      if (number_++ % of_ != part_) continue;
      MPI_Win win;
      OK(MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
      OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
      OK(MPI_Win_set_name(win, "halo"));
      OK(MPI_Win_fence(0, win));
      const bool fences = (rank_ == odd % size_) == (odd < size_);
      MPI_Win freed = win;
      int code = fences ? MPI_Win_fence(0, win) : MPI_Win_free(&freed);
      if (fences && code == MPI_SUCCESS) code = MPI_Win_fence(0, win);
      const std::string text = code == MPI_SUCCESS ? "" : check::error_text(code);
      const bool told = text.find("MPI_Win_free") != text.npos && text.find("MPI_Win_fence") != text.npos &&
                        text.find("window halo") != text.npos;
      int said[2] = {told, code != MPI_SUCCESS && !told}, anywhere[2];
      OK(MPI_Allreduce(said, anywhere, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
      Tally& tally = tallies_["on a window"];
      ++(anywhere[0] && !anywhere[1] ? tally.found : tally.missed);
      if (!anywhere[0] || anywhere[1])
        std::fprintf(stderr, "rank %d, on a window, odd %d: \"%s\"\n", rank_, odd, text.c_str());
    }
  }

 private:
  int number_ = 0;
  std::map<std::string, Tally> tallies_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  const int part = argc > 2 ? std::atoi(argv[1]) : 0, of = argc > 2 ? std::atoi(argv[2]) : 1;
  Judge judge(world.rank(), world.size(), part, of);
  const std::vector<Collective> all = collectives();
  const Arguments usual;

  for (const Collective& rest : all)
    for (const Collective& odd : all) {
      if (&rest == &odd || (rest.form == Form::nonblocking && odd.form == Form::nonblocking)) continue;
      const bool persistent = rest.form == Form::persistent || odd.form == Form::persistent;
      if (persistent && rest.form != odd.form && rest.base != odd.base) continue;
      const auto [less, more] = std::minmax(rest.form, odd.form);
      judge.wrong(std::string(kForms[static_cast<int>(less)]) + " x " + kForms[static_cast<int>(more)], rest, usual,
                  odd, usual, {rest.name, odd.name});
    }
  judge.windows();
  judge.files();
  for (const Collective& call : all) {
    const auto change = [&](const char* kind, auto set, std::vector<std::string> words) {
      Arguments other = usual;
      set(other);
      words.push_back(call.name);
      judge.wrong(kind, call, usual, call, other, std::move(words));
    };
    if (call.rooted) change("root", [&](Arguments& a) { a.root = 1; }, {"root 1", "root 0"});
    if (call.base.find("lltoall") != std::string::npos)
      change("in place on one", [](Arguments& a) { a.in_place = true; }, {"MPI_IN_PLACE", "a send buffer"});
    if (call.reduces) change("operation", [](Arguments& a) { a.op = MPI_MAX; }, {"MPI_MAX", "MPI_SUM"});
    if (!call.has_data || call.form == Form::persistent) continue;
    change("type", [](Arguments& a) { a.type = MPI_FLOAT; }, {});
    change("count, longer", [](Arguments& a) { a.count = 6; }, {});
    change("count, shorter", [](Arguments& a) { a.count = 3; }, {});
    change("count, none", [](Arguments& a) { a.count = 0; }, {});
    Arguments other_type = usual;  // where what is kept of calls like it serves all ranks but one
    other_type.type = MPI_FLOAT;
    judge.wrong("type, of a repeated call", call, usual, call, other_type, {call.name}, 3);
    // Blocks that two ranks count: too long for shared memory on one side, or on both.
    if (call.base.back() != 'v' && call.base.back() != 'w') continue;
    change("count, much longer", [](Arguments& a) { a.count = 5000; }, {});
    Arguments longer = usual, longest = usual;
    longer.count = 4000, longest.count = 5000;
    judge.wrong("count, much shorter", call, longest, call, usual, {call.name});
    judge.wrong("count, of long blocks", call, longest, call, longer, {call.name});
  }

  // ---- right twins
  MPI_Datatype two_ints, four_ints;
  OK(MPI_Type_contiguous(2, MPI_INT, &two_ints));
  OK(MPI_Type_commit(&two_ints));
  const int lengths[] = {1, 3}, offsets[] = {0, 1};
  OK(MPI_Type_indexed(2, lengths, offsets, MPI_INT, &four_ints));
  OK(MPI_Type_commit(&four_ints));
  const bool odd = world.rank() % 2;
  for (const Collective& call : all) {
    for (int i = 0; i < 8; ++i) judge.right("the same call", call, usual);
    if (!call.has_data || call.form == Form::persistent) continue;
    Arguments a = usual;
    if (call.rooted) {
      a.root = world.size() - 1;
      judge.right("another root for all", call, a);
    }
    a = usual;
    a.count = 0;
    judge.right("zero counts", call, a);
    a.type = odd ? MPI_DOUBLE : MPI_CHAR;
    if (!call.reduces) judge.right("zero counts, other types", call, a);
    a = usual;
    a.in_place = odd;
    // With MPI_IN_PLACE on some ranks only: not where its meaning is every rank's. What else the standard wants on all
    // is told by strict.
    if (call.name.find("lltoall") == std::string::npos) judge.right("in place on some", call, a);
    if (call.reduces) {
      a = usual;
      a.type = odd ? MPI_INT : MPI_INT32_T;
      judge.right("one type by two names", call, a);
      continue;
    }
    a = usual;
    a.count = odd ? 2 : 4;
    a.type = odd ? two_ints : MPI_INT;
    judge.right("other factorings", call, a);
    a.count = odd ? 1 : 4;
    a.type = odd ? four_ints : MPI_INT;
    judge.right("other factorings", call, a);
    a.count = odd ? 16 : 4;
    a.type = odd ? MPI_BYTE : MPI_INT;
    judge.right("bytes", call, a);
    a.type = odd ? MPI_PACKED : MPI_INT;
    judge.right("packed", call, a);
  }
  OK(MPI_Type_free(&two_ints));
  OK(MPI_Type_free(&four_ints));
  CHECK(judge.report());
  return 0;
}
