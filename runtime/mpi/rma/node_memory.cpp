// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rma/node_memory.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "contract/signature.hpp"
#include "functions.hpp"
#include "mpi/coll/collective_start.hpp"
#include "rma/node_words.hpp"

namespace tutti::mpi::one_sided {
namespace {

using transport::SharedFile;
using transport::SharedWay;

constexpr int64_t kPage = 4096;

constexpr int64_t whole_pages(int64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// Before the parts.
int64_t words_of(size_t members) {
  return whole_pages(static_cast<int64_t>(rma::NodeWords::bytes(static_cast<int>(members))));
}

// How it went at a rank; MPI_SUCCESS, and what it has to say, or its trouble.
struct Verdict {
  int32_t error_class = MPI_SUCCESS;
  bool same = false;
  char text[299] = "";

  void say(const std::string& what) { std::memcpy(text, what.data(), std::min(what.size(), sizeof text - 1)); }
};

Result<std::vector<Verdict>> tell_all(Comm& comm, Function function, const Error& mine, const std::string& word,
                                      bool same) {
  Verdict verdict;
  verdict.error_class = mine.mpi_class();
  verdict.same = same;
  verdict.say(mine ? mine.message() : word);
  std::vector<Verdict> all(static_cast<size_t>(comm.size()));
  coll::Call exchange = allgather_bytes(&verdict, all.data(), sizeof verdict);
  exchange.signature = contract::word_of(function);
  if (Error e = run(comm, exchange)) return e;
  return all;
}

// Its first rank makes the file, with room for what the ranks say to each other.
Error make(NodeMemory& memory, SharedWay way, const std::string& name, int64_t bytes) {
  Result<std::unique_ptr<SharedFile>> made = SharedFile::make(way, name, bytes, words_of(memory.ranks.size()));
  if (!made) return std::move(made).error();
  memory.file = *std::move(made);
  return {};
}

// The others open it by its word. Each takes what its own part needs, also of pages that are its neighbours', too.
Error open_and_take(NodeMemory& memory, const std::string& word, int64_t bytes, int64_t own) {
  if (!memory.file) {
    Result<std::unique_ptr<SharedFile>> opened = SharedFile::open(word, bytes);
    if (!opened) return std::move(opened).error();
    memory.file = *std::move(opened);
  }
  const int64_t from = memory.offsets[static_cast<size_t>(memory.me)];
  const int64_t low = from / kPage * kPage;
  return memory.file->take(low, own == 0 ? 0 : whole_pages(from + own) - low);
}

}  // namespace

int NodeMemory::member(int rank) const {
  const auto at = std::ranges::lower_bound(ranks, rank);
  return at == ranks.end() || *at != rank ? -1 : static_cast<int>(at - ranks.begin());
}

int64_t lay_out(const Parts& parts, const std::vector<int>& ranks, Spacing spacing, std::vector<int64_t>& offsets) {
  constexpr int64_t kMost = INT64_MAX / 2;
  int64_t bytes = words_of(ranks.size());
  for (const int rank : ranks) {
    if (spacing == Spacing::pages) bytes = whole_pages(bytes);
    offsets.push_back(bytes);
    if (__builtin_add_overflow(bytes, parts[rank].size, &bytes) || bytes > kMost) return 0;
  }
  return whole_pages(bytes);
}

Result<std::unique_ptr<NodeMemory>> share_in_groups(Comm& comm, Function function, const Parts& parts,
                                                    const std::vector<Sharing>& sharing, const std::string& name) {
  const std::vector<int32_t> groups = sharing_groups(sharing);
  const auto me = static_cast<size_t>(comm.rank());
  auto memory = std::make_unique<NodeMemory>();
  std::vector<Sharing> own;
  bool anybody = false;
  for (size_t rank = 0; rank < groups.size(); ++rank) {
    anybody = anybody || groups[rank] != static_cast<int32_t>(rank);
    if (groups[rank] != groups[me]) continue;
    if (rank == me) memory->me = static_cast<int>(memory->ranks.size());
    memory->ranks.push_back(static_cast<int>(rank));
    own.push_back(sharing[rank]);
  }
  if (!anybody) return std::unique_ptr<NodeMemory>();
  const bool shares = own.size() > 1;
  const int64_t bytes = shares ? lay_out(parts, memory->ranks, Spacing::pages, memory->offsets) : 0;
  const std::optional<SharedWay> way = way_of_all(own);
  Error error;
  if (shares && bytes > 0 && way && memory->me == 0) error = make(*memory, *way, name, bytes);
  Result<std::vector<Verdict>> words =
      tell_all(comm, function, error, memory->file ? memory->file->word() : "", memory->file != nullptr);
  if (!words) return std::move(words).error();
  const Verdict& first = (*words)[static_cast<size_t>(memory->ranks.front())];
  const bool is_made = shares && first.same;
  error = is_made ? open_and_take(*memory, first.text, bytes, parts[static_cast<int>(me)].size)
                  : failure(MPI_ERR_NO_MEM, "nobody has made the memory");
  const uint8_t mine = !error;
  std::vector<uint8_t> good(groups.size());
  coll::Call agree = allgather_bytes(&mine, good.data(), 1);
  agree.signature = contract::word_of(function);
  if (Error e = run(comm, agree)) return e;
  if (memory->file) memory->file->forget_name();
  const auto is_good = [&](int rank) { return good[static_cast<size_t>(rank)] != 0; };
  if (!std::ranges::all_of(memory->ranks, is_good)) return std::unique_ptr<NodeMemory>();
  return memory;
}

Result<std::unique_ptr<NodeMemory>> share_among_all(Comm& comm, const Parts& parts, SharedWay way, Spacing spacing,
                                                    const std::string& name, bool& same) {
  auto memory = std::make_unique<NodeMemory>();
  memory->ranks.resize(static_cast<size_t>(comm.size()));
  std::iota(memory->ranks.begin(), memory->ranks.end(), 0);
  memory->me = comm.rank();
  const int64_t bytes = lay_out(parts, memory->ranks, spacing, memory->offsets);
  if (bytes == 0) return failure(MPI_ERR_SIZE, "the sizes of all ranks make more than 2^62 bytes (argument size)");
  const auto trouble_of = [](const std::vector<Verdict>& all) -> Error {
    for (const Verdict& v : all)
      if (v.error_class != MPI_SUCCESS) return Error(v.error_class, v.text);
    return {};
  };
  Error error;
  if (memory->me == 0) error = make(*memory, way, name, bytes);
  const std::string word = memory->file ? memory->file->word() : "";
  Result<std::vector<Verdict>> words = tell_all(comm, Function::Win_allocate_shared, error, word, same);
  if (!words) return std::move(words).error();
  if (Error e = trouble_of(*words)) return e;
  same = std::ranges::all_of(*words, &Verdict::same);
  error = open_and_take(*memory, words->front().text, bytes, parts[memory->me].size);
  Result<std::vector<Verdict>> outcome = tell_all(comm, Function::Win_allocate_shared, error, "", false);
  if (memory->file) memory->file->forget_name();
  if (!outcome) return std::move(outcome).error();
  if (Error e = trouble_of(*outcome)) return e;
  return memory;
}

}  // namespace tutti::mpi::one_sided
