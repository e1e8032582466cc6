// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a call have to give alike, and one gives otherwise; and what they may give as they like.
#include "misuse/misuse.hpp"

namespace misuse {
namespace {

using Ints = std::vector<int>;
using Call = std::function<int(MPI_Comm)>;

class Agreements {
 public:
  Agreements(Judge& judge, bool strict, int rank, int size)
      : judge_(judge), strict_(strict), rank_(rank), size_(size) {}

  void groups();
  void groups_between();
  void grids();
  void graphs();
  void distributed();
  void split_types();
  void in_place();
  void operations();
  void data();

 private:
  bool odd() const { return rank_ == size_ - 1; }
  Text odd_text() const { return "rank " + std::to_string(size_ - 1); }

  // On a communicator of its own, since what is wrong ends it; and a barrier, in which ranks hear of it that were through
  // before it was found.
  std::pair<int, Text> run(const Call& call, MPI_Comm parent = MPI_COMM_WORLD) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(parent, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int code = call(comm);
    if (code == MPI_SUCCESS) code = MPI_Barrier(comm);
    const Text text = code == MPI_SUCCESS ? "" : check::error_text(code);
    MPI_Comm_free(&comm);
    return {code, text};
  }
  void wrong(const Text& kind, const Text& name, const Call& call, int wanted, const std::vector<Text>& words,
             MPI_Comm parent = MPI_COMM_WORLD) {
    const auto [code, text] = run(call, parent);
    bool said = code != MPI_SUCCESS && check::error_class(code) == wanted;
    for (const Text& word : words) said = said && text.find(word) != text.npos;
    int mine[2] = {said, code != MPI_SUCCESS && !said}, any[2];
    OK(MPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (!any[0] || any[1]) std::fprintf(stderr, "rank %d, %s: \"%s\"\n", rank_, name.c_str(), text.c_str());
    judge_.wrong(kind, name, any[0] && !any[1] ? MPI_ERR_OTHER : MPI_SUCCESS, MPI_ERR_OTHER);
  }
  void right(const Text& kind, const Text& name, const Call& call, MPI_Comm parent = MPI_COMM_WORLD) {
    judge_.right(kind, name, run(call, parent).first);
  }
  // Told by strict alone.
  void wrong_if_strict(const Text& kind, const Text& name, const Call& call, int wanted, const std::vector<Text>& words,
                       MPI_Comm parent = MPI_COMM_WORLD) {
    if (strict_)
      wrong(kind, name, call, wanted, words, parent);
    else
      right(kind, name, call, parent);
  }

  static int freed(int code, MPI_Comm made) {
    if (code == MPI_SUCCESS && made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
    return code;
  }
  static Call create(const Ints& members) {
    return [members](MPI_Comm comm) {
      MPI_Group all, some;
      MPI_Comm made = MPI_COMM_NULL;
      OK(MPI_Comm_group(comm, &all));
      OK(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some));
      const int code = MPI_Comm_create(comm, some, &made);
      OK(MPI_Group_free(&some));
      OK(MPI_Group_free(&all));
      return freed(code, made);
    };
  }

  Judge& judge_;
  const bool strict_;
  const int rank_, size_;
};

void Agreements::groups() {
  const Text kind = "groups of MPI_Comm_create";
  Ints all, reversed;
  for (int r = 0; r < size_; ++r) all.push_back(r), reversed.insert(reversed.begin(), r);
  const Ints all_but_odd(all.begin(), all.end() - 1);
  wrong(kind, "another order", create(odd() ? reversed : all), MPI_ERR_GROUP,
        {"MPI_Comm_create with the group of ranks 0, 1",
         odd_text() + " has the group of ranks " + std::to_string(size_ - 1)});
  wrong(kind, "groups that overlap", create(Ints(all.begin(), all.begin() + rank_ + 1)), MPI_ERR_GROUP,
        {"calls MPI_Comm_create with the group of rank", " where rank 0 has the group of rank 0"});
  wrong(kind, "one knows of no member", create(odd() ? Ints() : all), MPI_ERR_GROUP,
        {odd_text() + " has an empty group"});
  wrong(kind, "a member takes itself for none", create(odd() ? all_but_odd : all), MPI_ERR_GROUP,
        {"where " + odd_text() + " has the group of rank"});
  if (size_ > 2)
    wrong_if_strict(kind, "one that is outside gives another group", create(odd() ? Ints{0} : all_but_odd),
                    MPI_ERR_GROUP, {"calls MPI_Comm_create with the group of rank 0 where"});
  right(kind, "all", create(all));
  right(kind, "all, in another order", create(reversed));
  right(kind, "none", create({}));
  right(kind, "groups of one", create({rank_}));
  right(kind, "two groups", create(odd() ? Ints{rank_} : all_but_odd));
  right(kind, "a group that others are outside of", create(all_but_odd));
  right(kind, "outside, with an empty group", create(odd() ? Ints() : all_but_odd));
}

void Agreements::groups_between() {
  const Text kind = "groups between two groups";
  MPI_Comm half, both;
  const bool first = rank_ < size_ - 1;  // all but the last, and the last
  OK(MPI_Comm_split(MPI_COMM_WORLD, first, 0, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? size_ - 1 : 0, 0, &both));
  Ints mine;
  for (int r = 0; r < (first ? size_ - 1 : 1); ++r) mine.push_back(r);
  right(kind, "all", create(mine), both);
  right(kind, "the first of each", create({0}), both);
  right(kind, "of one side none", create(first ? mine : Ints()), both);
  if (size_ > 2)
    wrong(kind, "one differs", create(rank_ == 1 ? Ints{0, 1} : Ints{0}), MPI_ERR_GROUP,
          {"MPI_Comm_create with the group of rank", " of group A has the group of rank"}, both);
  OK(MPI_Comm_free(&both));
  OK(MPI_Comm_free(&half));
}

void Agreements::grids() {
  const Text kind = "grids";
  const auto cart = [](Ints dims, Ints periods, int reorder) {
    return [=](MPI_Comm comm) {
      MPI_Comm made = MPI_COMM_NULL;
      const int code =
          MPI_Cart_create(comm, static_cast<int>(dims.size()), dims.data(), periods.data(), reorder, &made);
      return freed(code, made);
    };
  };
  const Text n = std::to_string(size_);
  const auto told = [&](const Text& name, const Text& odd_has, const Text& rest_has) {
    // Of two ranks either may be the odd one.
    return size_ > 2 ? std::vector<Text>{odd_text() + " calls MPI_Cart_create with " + name + " = " + odd_has,
                                         "have " + rest_has}
                     : std::vector<Text>{"MPI_Cart_create with " + name + " = "};
  };
  wrong(kind, "dims", cart(odd() ? Ints{1, size_} : Ints{size_, 1}, {1, 1}, 0), MPI_ERR_ARG,
        told("dims", "[1, " + n + "]", "[" + n + ", 1]"));
  wrong(kind, "ndims", cart(odd() ? Ints{size_} : Ints{size_, 1}, {1, 1}, 0), MPI_ERR_ARG, told("ndims", "1", "2"));
  wrong(kind, "periods", cart({size_, 1}, {0, odd()}, 0), MPI_ERR_ARG, told("periods", "[0, 1]", "[0, 0]"));
  wrong(kind, "reorder", cart({size_, 1}, {0, 0}, odd()), MPI_ERR_ARG, told("reorder", "true", "false"));
  wrong(kind, "a grid for fewer", cart(odd() ? Ints{1} : Ints{size_}, {1}, 0), MPI_ERR_ARG,
        {"MPI_Cart_create with dims"});
  right(kind, "the same", cart({size_, 1}, {1, 0}, 1));
  right(kind, "other numbers for true", cart({size_, 1}, {odd() ? 256 : 1, 0}, odd() ? -1 : 1));
  right(kind, "smaller than the communicator", cart({size_ - 1}, {0}, 0));
  right(kind, "no dimension", cart({}, {}, 0));

  const auto sub = [&](Ints remain) {
    return [=, this](MPI_Comm comm) {
      const int dims[] = {1, size_}, periods[] = {1, 1};
      MPI_Comm grid, made = MPI_COMM_NULL;
      OK(MPI_Cart_create(comm, 2, dims, periods, 0, &grid));
      const int code = MPI_Cart_sub(grid, remain.data(), &made);
      OK(MPI_Comm_free(&grid));
      return freed(code, made);
    };
  };
  wrong(kind, "remain_dims", sub(odd() ? Ints{1, 0} : Ints{0, 1}), MPI_ERR_ARG,
        {"MPI_Cart_sub with remain_dims = [", "[0, 1]"});
  right(kind, "the same remain_dims", sub({0, odd() ? 2 : 1}));

  // The number 256 is true.
  const int dims[] = {size_}, periods[] = {256};
  int read_dims[1], read_periods[1], at[1];
  MPI_Comm ring;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring));
  OK(MPI_Cart_get(ring, 1, read_dims, read_periods, at));
  CHECK(read_periods[0] == 1);
  OK(MPI_Comm_free(&ring));
}

void Agreements::graphs() {
  const Text kind = "graphs";
  const auto graph = [](Ints index, Ints edges, int reorder) {
    return [=](MPI_Comm comm) {
      MPI_Comm made = MPI_COMM_NULL;
      const int code =
          MPI_Graph_create(comm, static_cast<int>(index.size()), index.data(), edges.data(), reorder, &made);
      return freed(code, made);
    };
  };
  Ints index, edges, other;  // each node with the next one
  for (int r = 0; r < size_; ++r) index.push_back(r + 1), edges.push_back((r + 1) % size_), other.push_back(r);
  const Ints fewer(index.begin(), index.end() - 1);
  Ints uneven = index;
  uneven[0] = 0;
  wrong(kind, "edges", graph(index, odd() ? other : edges, 0), MPI_ERR_ARG, {"MPI_Graph_create with edges = ["});
  wrong(kind, "nnodes", graph(odd() ? fewer : index, Ints(edges.size(), 0), 0), MPI_ERR_ARG,
        {"MPI_Graph_create with nnodes = "});
  wrong(kind, "index", graph(odd() ? uneven : index, edges, 0), MPI_ERR_ARG, {"MPI_Graph_create with index = ["});
  wrong(kind, "reorder", graph(index, edges, odd()), MPI_ERR_ARG, {"MPI_Graph_create with reorder = "});
  right(kind, "the same", graph(index, edges, 1));
  right(kind, "fewer nodes than ranks", graph(fewer, Ints(fewer.size(), 0), 0));
  right(kind, "no node", graph({}, {}, 0));
  // More than a sentence holds, where the last one differs.
  Ints many(12 * static_cast<size_t>(size_), 0), last = many, far;
  for (int r = 0; r < size_; ++r) far.push_back(12 * (r + 1));
  last.back() = 1;
  wrong(kind, "the last of many edges", graph(far, odd() ? last : many, 0), MPI_ERR_ARG,
        {"MPI_Graph_create with other edges than rank"});
}

void Agreements::distributed() {
  const Text kind = "distributed graphs";
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  const auto adjacent = [=](const int* from_weights, const int* to_weights, int reorder, bool alone = false) {
    return [=](MPI_Comm comm) {
      MPI_Comm made = MPI_COMM_NULL;
      const int degree = alone ? 0 : 1;
      const int code = MPI_Dist_graph_create_adjacent(comm, degree, &before, from_weights, degree, &next, to_weights,
                                                      MPI_INFO_NULL, reorder, &made);
      return freed(code, made);
    };
  };
  const int five = 5, six = 6;
  const int* const some = odd() ? MPI_UNWEIGHTED : &five;
  const Text name = "MPI_Dist_graph_create_adjacent";
  wrong(kind, "weights on some", adjacent(some, some, 0), MPI_ERR_ARG,
        {name + " with weights = ", "MPI_UNWEIGHTED", "an array"});
  wrong(kind, "reorder", adjacent(&five, &five, odd()), MPI_ERR_ARG, {name + " with reorder = "});
  wrong_if_strict(kind, "another weight at the other end", adjacent(&five, odd() ? &six : &five, 0), MPI_ERR_TOPOLOGY,
                  {odd_text() + " gives the edge to rank 0 the weight 6, which that one gives the weight 5"});
  right(kind, "weights", adjacent(&five, &five, 1));
  right(kind, "no weights", adjacent(MPI_UNWEIGHTED, MPI_UNWEIGHTED, 0));
  right(kind, "no edges", adjacent(odd() ? nullptr : MPI_WEIGHTS_EMPTY, MPI_WEIGHTS_EMPTY, 0, true));
  const int mine = 10 + rank_, theirs = 10 + before;
  right(kind, "a weight for each edge", adjacent(&theirs, &mine, 0));

  const auto create = [=, this](int givers, const int* weights, int reorder) {
    return [=, this](MPI_Comm comm) {
      MPI_Comm made = MPI_COMM_NULL;
      const int degree = 1, n = rank_ < givers ? 1 : 0;
      const int code = MPI_Dist_graph_create(comm, n, &rank_, &degree, &next, weights, MPI_INFO_NULL, reorder, &made);
      return freed(code, made);
    };
  };
  wrong(kind, "weights on some, by all", create(size_, some, 0), MPI_ERR_ARG,
        {"MPI_Dist_graph_create with weights = "});
  wrong(kind, "reorder, by all", create(size_, &five, odd()), MPI_ERR_ARG, {"MPI_Dist_graph_create with reorder = "});
  right(kind, "given by all", create(size_, odd() ? &six : &five, 1));
  right(kind, "given by one", create(1, rank_ ? MPI_WEIGHTS_EMPTY : &five, 0));
  right(kind, "given by one, others have no array", create(1, rank_ ? nullptr : MPI_UNWEIGHTED, 0));
}

void Agreements::split_types() {
  const Text kind = "split types";
  const auto split = [](int type) {
    return [=](MPI_Comm comm) {
      MPI_Comm made = MPI_COMM_NULL;
      return freed(MPI_Comm_split_type(comm, type, 0, MPI_INFO_NULL, &made), made);
    };
  };
  wrong(kind, "two of them", split(odd() ? int{MPI_COMM_TYPE_HW_UNGUIDED} : int{MPI_COMM_TYPE_SHARED}), MPI_ERR_ARG,
        {"MPI_Comm_split_type with split_type = MPI_COMM_TYPE_", "MPI_COMM_TYPE_SHARED"});
  const auto by_resource = [](const char* type) {
    return [=](MPI_Comm comm) {
      MPI_Comm made = MPI_COMM_NULL;
      MPI_Info info = MPI_INFO_NULL;
      if (type) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_hw_resource_type", type);
      }
      const int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_GUIDED, 0, info, &made);
      if (type) MPI_Info_free(&info);
      return freed(code, made);
    };
  };
  wrong(kind, "two resources", by_resource(odd() ? "hwloc://Core" : "hwloc://Machine"), MPI_ERR_ARG,
        {"MPI_Comm_split_type with mpi_hw_resource_type = hwloc://", "hwloc://Machine"});
  right(kind, "one resource by two names", by_resource(odd() ? "socket" : "hwloc://Package"));
  right(kind, "some name no resource", by_resource(odd() ? nullptr : "hwloc://Machine"));
  right(kind, "one", split(MPI_COMM_TYPE_SHARED));
  right(kind, "some undefined", split(odd() ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_SHARED}));
  right(kind, "all undefined", split(MPI_UNDEFINED));
}

void Agreements::in_place() {
  const Text kind = "MPI_IN_PLACE on some ranks";
  static double from[64], to[64];
  void* const some = odd() ? MPI_IN_PLACE : static_cast<void*>(from);
  static Ints counts(8, 1), places{0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<Text> words{"MPI_IN_PLACE", "a send buffer"};
  const Call allreduce = [=](MPI_Comm c) { return MPI_Allreduce(some, to, 1, MPI_DOUBLE, MPI_SUM, c); };
  const Call allgather = [=](MPI_Comm c) { return MPI_Allgather(some, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, c); };
  const Call allgatherv = [=](MPI_Comm c) {
    return MPI_Allgatherv(some, 1, MPI_DOUBLE, to, counts.data(), places.data(), MPI_DOUBLE, c);
  };
  const Call alltoall = [=](MPI_Comm c) { return MPI_Alltoall(some, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, c); };
  wrong_if_strict(kind, "MPI_Allreduce", allreduce, MPI_ERR_BUFFER, words);
  wrong_if_strict(kind, "MPI_Allgather", allgather, MPI_ERR_BUFFER, words);
  wrong_if_strict(kind, "MPI_Allgatherv", allgatherv, MPI_ERR_BUFFER, words);
  wrong(kind, "MPI_Alltoall", alltoall, MPI_ERR_BUFFER, words);
  // Where the standard leaves it to each rank.
  right(kind, "MPI_Scan", [=](MPI_Comm c) { return MPI_Scan(some, to, 1, MPI_DOUBLE, MPI_SUM, c); });
  right(kind, "MPI_Exscan", [=](MPI_Comm c) { return MPI_Exscan(some, to, 1, MPI_DOUBLE, MPI_SUM, c); });
  right(kind, "MPI_Reduce_scatter",
        [=](MPI_Comm c) { return MPI_Reduce_scatter(some, to, counts.data(), MPI_DOUBLE, MPI_SUM, c); });
  right(kind, "MPI_Reduce_scatter_block",
        [=](MPI_Comm c) { return MPI_Reduce_scatter_block(some, to, 1, MPI_DOUBLE, MPI_SUM, c); });
  right(kind, "MPI_Gather", [=, this](MPI_Comm c) {
    return MPI_Gather(rank_ ? static_cast<void*>(from) : MPI_IN_PLACE, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, 0, c);
  });
  right(kind, "MPI_Reduce", [=, this](MPI_Comm c) {
    return MPI_Reduce(rank_ ? static_cast<void*>(from) : MPI_IN_PLACE, to, 1, MPI_DOUBLE, MPI_SUM, 0, c);
  });
  right(kind, "on all", [](MPI_Comm c) {
    const int code = MPI_Allreduce(MPI_IN_PLACE, to, 1, MPI_DOUBLE, MPI_MAX, c);
    return code ? code : MPI_Alltoall(MPI_IN_PLACE, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, c);
  });
}

void add(void* from, void* to, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(to)[i] += static_cast<int*>(from)[i];
}

void Agreements::operations() {
  const Text kind = "operations that commute on some";
  const auto reduce = [](bool commutes) {
    return [=](MPI_Comm comm) {
      MPI_Op op;
      OK(MPI_Op_create(add, commutes, &op));
      const int code = MPI_Allreduce(in, out, 4, MPI_INT, op, comm);
      OK(MPI_Op_free(&op));
      return code;
    };
  };
  wrong(kind, "MPI_Allreduce", reduce(odd()), MPI_ERR_OP,
        {"an operation that commutes", "an operation that does not commute"});
  right(kind, "on none", reduce(false));
  right(kind, "on all", reduce(true));
}

// Where no words for the data differ.
void Agreements::data() {
  const Text kind = "data of one description";
  const auto of_structs = [](bool turned) {
    return [=](MPI_Comm comm) {
      const int lengths[] = {1, 1};
      const MPI_Aint places[] = {0, 4};
      const MPI_Datatype types[] = {turned ? MPI_FLOAT : MPI_INT, turned ? MPI_INT : MPI_FLOAT};
      MPI_Datatype both;
      OK(MPI_Type_create_struct(2, lengths, places, types, &both));
      OK(MPI_Type_commit(&both));
      const int code = MPI_Bcast(out, 1, both, 0, comm);
      OK(MPI_Type_free(&both));
      return code;
    };
  };
  const auto of_arrays = [](int first) {
    return [=](MPI_Comm comm) {
      int size, rank;
      OK(MPI_Comm_size(comm, &size));
      OK(MPI_Comm_rank(comm, &rank));
      Ints counts(static_cast<size_t>(size), 2), places;
      counts.front() = first;
      for (int r = 0; r < size; ++r) places.push_back(4 * r);
      return MPI_Allgatherv(in, counts[static_cast<size_t>(rank)], MPI_INT, out, counts.data(), places.data(), MPI_INT,
                            comm);
    };
  };
  wrong(kind, "MPI_Bcast of structs", of_structs(odd()), MPI_ERR_TYPE,
        {"MPI_Bcast with data of another type signature", " than rank", "on a communicator of"});
  wrong(kind, "MPI_Allgatherv", of_arrays(odd() ? 3 : 2), MPI_ERR_COUNT,
        {"MPI_Allgatherv with another amount of data", " than rank"});
  right(kind, "MPI_Bcast of structs", of_structs(true));
  right(kind, "MPI_Allgatherv", of_arrays(3));
}

}  // namespace

void agreements(Judge& judge, bool strict, int rank, int size) {
  if (size < 2) return;
  Agreements those(judge, strict, rank, size);
  those.groups();
  those.groups_between();
  those.grids();
  those.graphs();
  those.distributed();
  those.split_types();
  those.in_place();
  those.operations();
  those.data();
}

}  // namespace misuse
