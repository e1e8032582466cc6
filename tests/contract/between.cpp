// SPDX-License-Identifier: BSD-3-Clause
// Collectives between two groups that do not match: wrong programs, each on an intercommunicator of its own,
// and their right twins. In a wrong one, one rank makes another call than the rest, or the same with another
// root, operation, type or count: the error must say so, and no rank may hang. In its twin all ranks make the
// one call and then the other. Prints for each class what was found, what missed, and what accused falsely.
#include <array>
#include <map>
#include <utility>

#include "check.hpp"

namespace {

constexpr int kMost = 8;  // ranks

struct Two {
  int group = -1, rank = -1, count = 0, others = 0;
  MPI_Comm comm = MPI_COMM_NULL;
};

// The arguments that a rank gives. The root is rank `root` of group 0.
struct Given {
  int root = 0;
  int root_as = MPI_UNDEFINED;  // what this rank says instead
  int count = 4;
  MPI_Datatype type = MPI_INT;
  MPI_Op op = MPI_SUM;
};
int root_of(const Two& two, const Given& a) {
  if (a.root_as != MPI_UNDEFINED) return a.root_as;
  return two.group == 1 ? a.root : two.rank == a.root ? MPI_ROOT : MPI_PROC_NULL;
}

struct Buffers {
  std::vector<double> in, out;
  std::array<int, kMost> counts, places, bytes, parts;
  std::array<MPI_Datatype, kMost> types;
  Buffers(const Two& two, const Given& a) {
    int size = 1;
    MPI_Type_size(a.type, &size);
    in.resize(256 + static_cast<size_t>(a.count) * kMost * kMost);
    out.resize(in.size());
    counts.fill(a.count);
    types.fill(a.type);
    // Both groups divide a vector of as many elements.
    parts.fill(a.count * two.others);
    for (int i = 0; i < kMost; ++i) places[i] = i * a.count, bytes[i] = i * a.count * size;
  }
};

using Call = std::function<int(const Two&, const Given&, Buffers&, MPI_Request*)>;
enum class Form { blocking, nonblocking, persistent };
constexpr const char* kForms[] = {"blocking", "nonblocking", "persistent"};
struct Collective {
  std::string name, base;
  Form form;
  bool rooted, reduces, has_data;
  Call call;
};

#define FORMS(Name, IName, rooted, reduces, has_data, ...)                                        \
  all.push_back({"MPI_" #Name, "MPI_" #Name, Form::blocking, rooted, reduces, has_data,           \
                 [](const Two& t, const Given& a, Buffers& b, MPI_Request*) {                     \
                   (void)a, (void)b;                                                              \
                   return MPI_##Name(__VA_ARGS__ t.comm);                                         \
                 }});                                                                             \
  all.push_back({"MPI_" #Name "_init", "MPI_" #Name, Form::persistent, rooted, reduces, has_data, \
                 [](const Two& t, const Given& a, Buffers& b, MPI_Request* r) {                   \
                   (void)a, (void)b;                                                              \
                   const int code = MPI_##Name##_init(__VA_ARGS__ t.comm, MPI_INFO_NULL, r);      \
                   return code == MPI_SUCCESS ? MPI_Request_free(r) : code;                       \
                 }});                                                                             \
  all.push_back({"MPI_" #IName, "MPI_" #Name, Form::nonblocking, rooted, reduces, has_data,       \
                 [](const Two& t, const Given& a, Buffers& b, MPI_Request* r) {                   \
                   (void)a, (void)b;                                                              \
                   return MPI_##IName(__VA_ARGS__ t.comm, r);                                     \
                 }})
#define SEND b.in.data(), a.count, a.type
#define RECV b.out.data(), a.count, a.type
#define SEND_V b.in.data(), b.counts.data(), b.places.data(), a.type
#define RECV_V b.out.data(), b.counts.data(), b.places.data(), a.type
#define ROOT root_of(t, a)

std::vector<Collective> collectives() {
  std::vector<Collective> all;
  FORMS(Barrier, Ibarrier, false, false, false, );
  FORMS(Bcast, Ibcast, true, false, true, RECV, ROOT, );
  FORMS(Gather, Igather, true, false, true, SEND, RECV, ROOT, );
  FORMS(Gatherv, Igatherv, true, false, true, SEND, RECV_V, ROOT, );
  FORMS(Scatter, Iscatter, true, false, true, SEND, RECV, ROOT, );
  FORMS(Scatterv, Iscatterv, true, false, true, SEND_V, RECV, ROOT, );
  FORMS(Allgather, Iallgather, false, false, true, SEND, RECV, );
  FORMS(Allgatherv, Iallgatherv, false, false, true, SEND, RECV_V, );
  FORMS(Alltoall, Ialltoall, false, false, true, SEND, RECV, );
  FORMS(Alltoallv, Ialltoallv, false, false, true, SEND_V, RECV_V, );
  FORMS(Alltoallw, Ialltoallw, false, false, true, b.in.data(), b.counts.data(), b.bytes.data(), b.types.data(),
        b.out.data(), b.counts.data(), b.bytes.data(), b.types.data(), );
  FORMS(Reduce, Ireduce, true, true, true, b.in.data(), RECV, a.op, ROOT, );
  FORMS(Allreduce, Iallreduce, false, true, true, b.in.data(), RECV, a.op, );
  FORMS(Reduce_scatter, Ireduce_scatter, false, true, true, b.in.data(), b.out.data(), b.parts.data(), a.type, a.op, );
  FORMS(Reduce_scatter_block, Ireduce_scatter_block, false, true, true, b.in.data(), b.out.data(), a.count * t.others,
        a.type, a.op, );
  const auto constructor = [&](const char* name, auto make) {
    all.push_back(
        {name, name, Form::blocking, false, false, false, [make](const Two& t, const Given&, Buffers&, MPI_Request*) {
           MPI_Comm made = MPI_COMM_NULL;
           const int code = make(t.comm, &made);
           if (code == MPI_SUCCESS && made != MPI_COMM_NULL) MPI_Comm_free(&made);
           return code;
         }});
  };
  constructor("MPI_Comm_dup", [](MPI_Comm c, MPI_Comm* made) { return MPI_Comm_dup(c, made); });
  constructor("MPI_Comm_split", [](MPI_Comm c, MPI_Comm* made) { return MPI_Comm_split(c, 0, 0, made); });
  constructor("MPI_Intercomm_merge", [](MPI_Comm c, MPI_Comm* made) { return MPI_Intercomm_merge(c, 0, made); });
  return all;
}

struct Tally {
  int found = 0, missed = 0, falsely = 0, right = 0;
};

class Judge {
  using Calls = std::vector<std::pair<const Collective*, Given>>;

 public:
  explicit Judge(const Two& two) : two_(two), me_(two.group ? two.others + two.rank : two.rank) {}

  int number() const { return number_; }
  // Rank `odd_rank` of the union differs. The sentence holds `words`.
  void wrong(const std::string& kind, const Collective& rest, const Given& rest_given, int odd_rank,
             const Collective& odd, const Given& odd_given, std::vector<std::string> words, bool has_twin = true) {
    judge(kind, {{me_ == odd_rank ? &odd : &rest, me_ == odd_rank ? odd_given : rest_given}}, std::move(words),
          odd.name);
    if (has_twin) right(kind, {{&rest, rest_given}, {&odd, odd_given}});
  }
  void judge(const std::string& kind, const Calls& calls, const std::vector<std::string>& words,
             const std::string& what) {
    const auto [failed, text] = run(calls);
    bool all_said = true;
    for (const std::string& word : words) all_said = all_said && text.find(word) != text.npos;
    // Ranks that were through with the communicator before it was found do not hear of it.
    int said[2] = {failed && all_said, failed && !all_said}, anywhere[2];
    OK(MPI_Allreduce(said, anywhere, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    const bool found = anywhere[0] && !anywhere[1];
    ++(found ? tallies_[kind].found : tallies_[kind].missed);
    if (!found) std::fprintf(stderr, "rank %d, %s (%s): \"%s\"\n", me_, what.c_str(), kind.c_str(), text.c_str());
  }
  void right(const std::string& kind, const Calls& calls) {
    const auto [failed, text] = run(calls);
    int bad = failed, anywhere = 0;
    OK(MPI_Allreduce(&bad, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    ++(anywhere ? tallies_[kind].falsely : tallies_[kind].right);
    if (bad)
      std::fprintf(stderr, "rank %d, %s (%s, right): \"%s\"\n", me_, calls.back().first->name.c_str(), kind.c_str(),
                   text.c_str());
  }
  bool report() const {
    Tally sum;
    for (const auto& [kind, t] : tallies_) {
      if (me_ == 0)
        std::printf("%-28s %4d found %4d missed %4d right %4d accused falsely\n", kind.c_str(), t.found, t.missed,
                    t.right, t.falsely);
      sum.found += t.found, sum.missed += t.missed, sum.falsely += t.falsely, sum.right += t.right;
    }
    if (me_ == 0)
      std::printf("%-28s %4d found %4d missed %4d right %4d accused falsely\n", "all", sum.found, sum.missed, sum.right,
                  sum.falsely);
    return sum.missed + sum.falsely == 0 && sum.found > 0 && sum.right > 0;
  }

 private:
  std::pair<bool, std::string> run(const Calls& calls) {
    Two two = two_;
    OK(MPI_Comm_dup(two_.comm, &two.comm));
    OK(MPI_Comm_set_errhandler(two.comm, MPI_ERRORS_RETURN));
    int code = MPI_SUCCESS;  // others may be ahead, and their mismatch found while I am here
    for (int i = 0; i < number_++ % 3 && code == MPI_SUCCESS; ++i) code = MPI_Barrier(two.comm);
    for (const auto& [what, given] : calls) {
      Buffers& buffers = *new Buffers(two, given);  // what is abandoned may still be written to
      MPI_Request request = MPI_REQUEST_NULL;
      if (code == MPI_SUCCESS) code = what->call(two, given, buffers, &request);
      if (code == MPI_SUCCESS && request != MPI_REQUEST_NULL) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (code == MPI_SUCCESS) code = MPI_Barrier(two.comm);
    const std::string text = code == MPI_SUCCESS ? "" : check::error_text(code);
    MPI_Comm_free(&two.comm);
    return {code != MPI_SUCCESS, text};
  }

  const Two two_;
  const int me_;
  int number_ = 0;
  std::map<std::string, Tally> tallies_;
};

// Every collective against some others, and its other forms.
void orders(Judge& judge, const Two& two, const std::vector<Collective>& all) {
  const Given usual;
  const int size = two.count + two.others, first = two.group ? two.others : two.count;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < all.size(); ++j) {
      const Collective &rest = all[i], &odd = all[j];
      if (i == j || (rest.form == Form::nonblocking && odd.form == Form::nonblocking)) continue;
      const bool persistent = rest.form == Form::persistent || odd.form == Form::persistent;
      if (persistent && rest.form != odd.form && rest.base != odd.base) continue;
      if (rest.base != odd.base && (i + 2 * j) % 5) continue;  // a share
      int odd_rank = judge.number() % size;
      // Whoever stands beside the root tells nobody of its call, nor is told of another one.
      const bool silent = rest.rooted && odd.rooted && rest.form != Form::persistent;
      if (silent && odd_rank < first) odd_rank = first;
      const auto [less, more] = std::minmax(rest.form, odd.form);
      judge.wrong(std::string(kForms[static_cast<int>(less)]) + " x " + kForms[static_cast<int>(more)], rest, usual,
                  odd_rank, odd, usual, {rest.name, odd.name, " of group "});
    }
}

void arguments(Judge& judge, const Two& two, const std::vector<Collective>& all) {
  const Given usual;
  const int first = two.group ? two.others : two.count, second = two.group ? two.count : two.others;
  for (const Collective& call : all) {
    const auto change = [&](const char* kind, int odd_rank, auto set, std::vector<std::string> words,
                            bool has_twin = true) {
      Given other = usual;
      set(other);
      words.push_back(call.name);
      judge.wrong(kind, call, usual, odd_rank, call, other, std::move(words), has_twin);
    };
    const int giver = call.rooted ? first + judge.number() % second : judge.number() % (first + second);
    if (call.rooted) {
      if (first > 1) {
        change("root, another one", giver, [](Given& a) { a.root = 1; }, {"root 1", "root"});
        change("root, two", 1, [](Given& a) { a.root_as = MPI_ROOT; }, {"MPI_ROOT"}, false);
      }
      change("root, nobody", 0, [](Given& a) { a.root_as = MPI_PROC_NULL; }, {"MPI_PROC_NULL", "root 0"}, false);
      Given beside = usual;
      if (two.group == 1) beside.root_as = MPI_PROC_NULL;
      judge.judge("root, nobody to give to", {{&call, beside}}, {"MPI_ROOT", "MPI_PROC_NULL", call.name}, call.name);
    }
    if (call.reduces) change("operation", giver, [](Given& a) { a.op = MPI_MAX; }, {"MPI_MAX", "MPI_SUM"});
    if (!call.has_data || call.form == Form::persistent) continue;
    change("type", giver, [](Given& a) { a.type = MPI_FLOAT; }, {});
    change("count, longer", giver, [](Given& a) { a.count = 6; }, {});
    change("count, shorter", giver, [](Given& a) { a.count = 3; }, {});
    Given longer = usual;  // the groups' vectors, or what one sends and the other expects
    longer.count = two.group == 0 ? 5000 : 4;
    judge.judge("count, of one group", {{&call, longer}}, {call.name}, call.name);
  }
}

void twins(Judge& judge, const Two& two, const std::vector<Collective>& all) {
  MPI_Datatype two_ints;
  OK(MPI_Type_contiguous(2, MPI_INT, &two_ints));
  OK(MPI_Type_commit(&two_ints));
  const int first = two.group ? two.others : two.count;
  for (const Collective& call : all) {
    Given a;
    for (int i = 0; i < 3; ++i) judge.right("the same call", {{&call, a}, {&call, a}});
    a.root = first - 1;
    if (call.rooted) judge.right("another root for all", {{&call, a}});
    a = Given();
    a.count = 0;
    judge.right("zero counts", {{&call, a}});
    if (call.form == Form::persistent || call.reduces) continue;
    a = Given();
    a.count = two.group ? 2 : 4;
    a.type = two.group ? two_ints : MPI_INT;
    judge.right("other factorings", {{&call, a}});
  }
  OK(MPI_Type_free(&two_ints));
}

// MPI_IN_PLACE means nothing between two groups.
void in_place(const Two& two) {
  std::vector<int> data(64), counts(kMost, 1), places(kMost, 0);
  const int root = two.group ? 0 : two.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  OK(MPI_Comm_set_errhandler(two.comm, MPI_ERRORS_RETURN));
  FAILS(MPI_Allreduce(MPI_IN_PLACE, data.data(), 1, MPI_INT, MPI_SUM, two.comm), MPI_ERR_BUFFER);
  FAILS(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, data.data(), 1, MPI_INT, two.comm), MPI_ERR_BUFFER);
  FAILS(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, data.data(), 1, MPI_INT, two.comm), MPI_ERR_BUFFER);
  FAILS(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, data.data(), counts.data(), places.data(), MPI_INT, two.comm),
        MPI_ERR_BUFFER);
  FAILS(MPI_Reduce_scatter_block(MPI_IN_PLACE, data.data(), 1, MPI_INT, MPI_SUM, two.comm), MPI_ERR_BUFFER);
  if (root == 0) FAILS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, root, two.comm), MPI_ERR_BUFFER);
  if (root == 0) FAILS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, nullptr, 0, MPI_INT, root, two.comm), MPI_ERR_BUFFER);
  if (root == MPI_ROOT) FAILS(MPI_Reduce(nullptr, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, root, two.comm), MPI_ERR_BUFFER);
  FAILS(MPI_Bcast(data.data(), 1, MPI_INT, two.others, two.comm), MPI_ERR_ROOT);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  const int cut = world.size() / 2, group = world.rank() >= cut;
  MPI_Comm local;
  OK(MPI_Comm_split(MPI_COMM_WORLD, group, 0, &local));
  Two two;
  two.group = group;
  OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, group ? 0 : cut, 0, &two.comm));
  OK(MPI_Comm_rank(two.comm, &two.rank));
  OK(MPI_Comm_size(two.comm, &two.count));
  OK(MPI_Comm_remote_size(two.comm, &two.others));
  const std::vector<Collective> all = collectives();
  Judge judge(two);
  orders(judge, two, all);
  arguments(judge, two, all);
  twins(judge, two, all);
  in_place(two);
  OK(MPI_Comm_free(&two.comm));
  OK(MPI_Comm_free(&local));
  CHECK(judge.report());
}
