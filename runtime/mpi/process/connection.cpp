// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/connection.hpp"

#include <mpi-ext.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/bytes.hpp"
#include "base/fault_point.hpp"
#include "boot/joining.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "members/processes.hpp"
#include "memory/peer_memory.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/process.hpp"
#include "mpi/process/beside.hpp"
#include "mpi/process/connections.hpp"
#include "mpi/process/numbers_told.hpp"
#include "transport/guard.hpp"
#include "transport/router.hpp"

namespace tutti::mpi::processes {
namespace {

using engine::Engine;

// A description of a group that is longer is none.
constexpr size_t kLongestWords = size_t{1} << 32;

// ---- what the sides tell each other

using transport::Router;

// A process as it tells of itself. On one node its transport listens at the loopback device alone, at `near`, until
// processes of another node are known, who need `far`. One of a job on several nodes has no other address than that.
struct Member {
  members::GlobalName name;
  std::string host;
  uint32_t user = 0;
  NetworkPlace place;
  memory::KnownWord word;  // in its memory
  std::string near, far;   // empty: not opened

  bool is_beside(const Member& other) const { return place.known() && place == other.place; }
  // Both sides decide alike.
  bool meets_near(const Member& other) const { return is_beside(other) && !near.empty() && !other.near.empty(); }
  const std::string& address_from(const Member& other) const { return meets_near(other) ? near : far; }
  Router::Away away_of(const Member& other) const { return meets_near(other) ? Router::Away::near : Router::Away::far; }
  bool needs_far(const std::vector<Member>& others) const {
    return far.empty() && !std::ranges::all_of(others, [this](const Member& other) { return meets_near(other); });
  }
};

std::string as_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> as_bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// An error, or what goes on. Both sides and all ranks hear the same.
struct Words {
  std::string problem;  // empty: none
  int32_t problem_class = MPI_SUCCESS;
  uint64_t context = 0;
  std::vector<std::string> members;  // packed

  std::string packed() const {
    Bytes out;
    put_text(out, problem);
    put(out, problem_class);
    put(out, context);
    put(out, static_cast<uint32_t>(members.size()));
    for (const std::string& member : members) put_text(out, member);
    return as_text(out);
  }
  static std::optional<Words> unpacked(const std::string& text) {
    std::span<const std::byte> from = as_bytes_of(text);
    Words words;
    uint32_t count = 0;
    if (!get_text(from, words.problem) || !get(from, words.problem_class) || !get(from, words.context) ||
        !get(from, count))
      return {};
    for (uint32_t i = 0; i < count; ++i)
      if (!get_text(from, words.members.emplace_back())) return {};
    return words;
  }
  static Words of(Error error) {
    Words words;
    words.problem_class = error.mpi_class();
    words.problem = error.message();
    return words;
  }
  Error error() const { return failure(problem_class, "{}", problem); }
};

// Opens the way to me: what stands in front of the transport includes it then.
Result<std::string> address_for(Router::Away away) TUTTI_ENGINE_OWNED {
  Process& p = process();
  const bool directly = &p.engine->transport() == &p.transport->direct();
  Result<std::string> address = p.transport->open_to(away);
  if (!address) return std::move(address).error().within("connecting to another job");
  if (directly) p.engine->switch_transport(*p.transport);
  return address;
}

// What I tell of myself. `far`: some of the others have turned out to be.
Words my_words(int root, bool far) {
  Process& p = process();
  const Engine::Guard own(*p.engine);
  const NetworkPlace place = transport::Ucx::loopback_place();
  const bool is_near = place.known() && !p.transport->reaches_far();
  std::string addresses[2];
  for (const Router::Away away : {Router::Away::near, Router::Away::far}) {
    const bool wanted = away == Router::Away::near ? is_near : !is_near || far || p.transport->is_open_to(away);
    if (!wanted) continue;
    Result<std::string> address = address_for(away);
    if (!address) return Words::of(std::move(address).error());
    addresses[static_cast<size_t>(away)] = *std::move(address);
  }
  hear_of_connections();
  Bytes me;
  put(me, p.processes->job());
  put(me, static_cast<int32_t>(my_process()));
  put_text(me, p.job->view().host);
  put(me, static_cast<uint32_t>(::geteuid()));
  put(me, place);
  const memory::KnownWord word = p.transport->known_word();
  put(me, word.pid);
  put(me, word.address);
  put(me, word.value);
  for (const std::string& address : addresses) put_text(me, address);
  Words words;
  words.context = static_cast<uint64_t>(root);
  words.members.push_back(as_text(me));
  return words;
}

std::optional<Member> member_of(const std::string& packed) {
  std::span<const std::byte> from = as_bytes_of(packed);
  Member member;
  if (!get(from, member.name.job) || !get(from, member.name.rank) || !get_text(from, member.host) ||
      !get(from, member.user) || !get(from, member.place) || !get(from, member.word.pid) ||
      !get(from, member.word.address) || !get(from, member.word.value) || !get_text(from, member.near) ||
      !get_text(from, member.far))
    return {};
  return member;
}

// One side's words out of those of its ranks.
Words words_of_side(const std::vector<std::string>& texts) {
  Words side;
  uint64_t root = 0;  // rank 0's
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    std::optional<Words> words = Words::unpacked(texts[rank]);
    if (!words) return Words::of(failure(MPI_ERR_OTHER, "rank {} has sent something else", rank));
    if (words->problem_class != MPI_SUCCESS) return *std::move(words);
    if (rank == 0) root = words->context;
    if (words->context != root)
      return Words::of(failure(MPI_ERR_ROOT, "rank {} calls with root {}, rank 0 with root {} (argument root)", rank,
                               words->context, root));
    side.members.push_back(words->members.front());
  }
  return side;
}

// At the root: ours against theirs. An error of the way there is the answer.
std::string exchanged(Socket& socket, const std::string& mine, bool first) {
  // Both may be longer than what a socket holds: one side sends first.
  Result<std::string> theirs = beside([&]() -> Result<std::string> {
    if (first)
      if (Error e = socket.send(mine)) return e;
    Result<std::string> received = socket.receive(kLongestWords);
    if (received && !first)
      if (Error e = socket.send(mine)) return e;
    return received;
  });
  TUTTI_FAULT_POINT("connect.exchanged");
  return theirs ? *std::move(theirs) : Words::of(std::move(theirs).error()).packed();
}

struct Side {
  std::vector<Member> members;
  std::vector<int> numbers;
};

Error senseless() {
  return failure(MPI_ERR_PORT, "the other side has sent something else");
}

Result<std::vector<Member>> members_of(const Words& words) {
  std::vector<Member> members;
  for (const std::string& packed : words.members) {
    std::optional<Member> member = member_of(packed);
    if (!member) return senseless();
    members.push_back(*std::move(member));
  }
  return members;
}

// How the two sides come to know each other. All ranks of both have the same view of it at each step.
class Meeting {
 public:
  Meeting(Comm& comm, int root, bool accepts, Function function)
      : comm_(comm),
        root_(root),
        accepts_(accepts),
        function_(function),
        context_(accepts ? engine::random_context() : 0) {}

  Error begin(const Reach& reach, const Awaited* awaited) {
    TUTTI_FAULT_POINT("connect.begun");
    Result<Words> ours = words_of_ours(false);
    if (!ours) return std::move(ours).error();
    if (ours->problem_class != MPI_SUCCESS) return ours->error();
    Error unreached;
    if (is_root()) {
      const Socket gives_up(::eventfd(0, EFD_CLOEXEC));
      bool told = false;
      const auto look = [&] {
        if (!comm_.hidden.harm || std::exchange(told, true)) return;
        const uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = ::write(gives_up.fd(), &one, sizeof one);
      };
      Result<Socket> reached = beside([&] { return reach(gives_up.fd()); }, awaited, look);
      if (reached && *reached)
        socket_ = *std::move(reached);
      else
        unreached = reached ? failure(MPIX_ERR_PROC_FAILED, "a rank of the communicator has failed")
                            : std::move(reached).error();
    }
    TUTTI_FAULT_POINT("connect.reached");
    return exchange(*ours, std::move(unreached));
  }
  // Some are not beside each other: who listens where only his neighbours come has another address now.
  Error meet_far() {
    const auto needs = [](const std::vector<Member>& side, const std::vector<Member>& others) {
      return std::ranges::any_of(side, [&](const Member& member) { return member.needs_far(others); });
    };
    if (!needs(ours_, theirs_) && !needs(theirs_, ours_)) return {};
    Result<Words> ours = words_of_ours(me().needs_far(theirs_));
    if (!ours) return std::move(ours).error();
    Error e = exchange(*ours, {});  // the others wait for it, also for a problem
    return ours->problem_class == MPI_SUCCESS ? std::move(e) : ours->error();
  }

  const Member& me() const { return ours_[static_cast<size_t>(comm_.rank())]; }
  std::vector<Member>& theirs() { return theirs_; }
  Socket& socket() { return socket_; }
  uint64_t context() const { return context_; }

 private:
  bool is_root() const { return comm_.rank() == root_; }
  Result<Words> words_of_ours(bool far) {
    Result<std::vector<std::string>> texts = gather_texts(comm_, my_words(root_, far).packed(), function_);
    if (!texts) return std::move(texts).error();
    return words_of_side(*texts);
  }
  // The context of the side that accepts is everybody's.
  Error exchange(Words& ours, Error unreached) {
    std::string answer;
    ours.context = context_;
    if (is_root()) {
      answer = unreached ? Words::of(std::move(unreached)).packed() : exchanged(socket_, ours.packed(), accepts_);
      if (std::optional<Words> words = accepts_ ? Words::unpacked(answer) : std::nullopt) {
        words->context = context_;
        answer = words->packed();
      }
    }
    if (Error e = spread_text(comm_, root_, answer)) return e;
    const std::optional<Words> theirs = Words::unpacked(answer);
    if (!theirs) return senseless();
    if (theirs->problem_class != MPI_SUCCESS) return theirs->error();
    if (ours.problem_class != MPI_SUCCESS) return {};
    Result<std::vector<Member>> here = members_of(ours), there = members_of(*theirs);
    if (!here || !there) return senseless();
    ours_ = *std::move(here);
    theirs_ = *std::move(there);
    if (std::ranges::any_of(theirs_, [this](const Member& other) { return other.user != me().user; }))
      transport::let_in_other_users();  // before any of them knows us
    context_ = theirs->context;
    return {};
  }

  Comm& comm_;
  const int root_;
  const bool accepts_;
  const Function function_;
  uint64_t context_;
  Socket socket_;
  std::vector<Member> ours_, theirs_;
};

// By which numbers the others know the processes of this side.
Result<NumbersTold> tell_numbers(Comm& comm, int root, bool accepts, Socket& socket, const std::vector<int>& mine,
                                 Function function) {
  Result<std::vector<std::string>> rows = gather_texts(comm, NumbersTold::row_as_text(mine), function);
  if (!rows) return std::move(rows).error();
  const std::optional<NumbersTold> ours = NumbersTold::of(*rows);
  if (!ours) return senseless();
  std::string theirs;
  if (comm.rank() == root) theirs = exchanged(socket, ours->packed(), accepts);
  if (Error e = spread_text(comm, root, theirs)) return e;
  std::optional<NumbersTold> told = NumbersTold::unpacked(theirs, static_cast<int>(mine.size()), comm.size());
  if (told) return *std::move(told);
  const std::optional<Words> words = Words::unpacked(theirs);
  return words && words->problem_class ? words->error() : senseless();
}

// No process may stand on both sides, of which both hear.
Error check_disjoint(const Group& local, const std::vector<int>& remote) {
  const ProcessRanks rank_of(local.processes, static_cast<int64_t>(remote.size()));
  for (size_t i = 0; i < remote.size(); ++i)
    if (const int rank = rank_of(remote[i]); rank >= 0)
      return failure(MPI_ERR_COMM,
                     "the groups are not disjoint: rank {} of the local one is rank {} of the remote one, too", rank,
                     i);
  return {};
}

Ref<Group> group_of(const ProcessList& numbers) {
  const int me = numbers.rank_of(my_process());
  return Ref<Group>::adopt(new Group(numbers, me < 0 ? MPI_UNDEFINED : me));
}

Result<Ref<Comm>> make_joined(Comm& comm, int root, bool accepts, Meeting& meeting, const Side& other,
                              const NumbersTold& known_as) {
  const uint64_t context = meeting.context();
  Process& p = comm.process;
  auto connection = std::make_unique<Connection>();
  connection->context = context;
  connection->local = comm.group->processes.to_vector();
  connection->remote = other.numbers;
  connection->root = comm.process_of(root);
  Connection& made = *connection;
  {
    const Engine::Guard own(*p.engine);
    for (size_t i = 0; i < other.numbers.size(); ++i)
      if (p.processes->is_foreign(other.numbers[i])) {
        p.processes->meet(other.numbers[i], other.members[i].address_from(meeting.me()),
                          known_as.at(static_cast<int>(i), comm.rank()));
        p.transport->add_foreign(other.numbers[i], meeting.me().away_of(other.members[i]));
        if (meeting.me().is_beside(other.members[i])) p.transport->add_memory(other.numbers[i], other.members[i].word);
      }
    connections().add(std::move(connection));
  }
  auto joined = Ref<Comm>::adopt(new Comm(comm.group, group_of(other.numbers), accepts, context, comm.errhandler));
  joined->attributes.copy_predefined(comm.attributes);
  if (comm.rank() == root) {
    made.lifeline = meeting.socket().give_up();
    watch_lifeline(made);
  }
  return joined;
}

}  // namespace

Result<std::vector<std::string>> gather_texts(Comm& comm, const std::string& mine, Function function) {
  const auto size = static_cast<size_t>(comm.size());
  const uint64_t length = mine.size();
  std::vector<uint64_t> lengths(size);
  coll::Call first = allgather_bytes(&length, lengths.data(), sizeof length);
  first.signature = contract::word_of(function);
  if (Error e = run(comm, first)) return e;
  const uint64_t longest = *std::ranges::max_element(lengths);
  std::string padded = mine, all(longest * size, '\0');
  padded.resize(longest);
  if (Error e = run(comm, allgather_bytes(padded.data(), all.data(), static_cast<int64_t>(longest)))) return e;
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < size; ++rank) texts.push_back(all.substr(rank * longest, lengths[rank]));
  return texts;
}

Error spread_text(Comm& comm, int root, std::string& text) {
  uint64_t length = text.size();
  if (Error e = run(comm, bcast_bytes(&length, sizeof length, root))) return e;
  text.resize(length);
  return run(comm, bcast_bytes(text.data(), static_cast<int64_t>(length), root));
}

Result<Ref<Comm>> join_groups(Comm& comm, int root, bool accepts, Function function, const Reach& reach,
                              const Awaited* awaited) {
  if (comm.is_inter())
    return failure(MPI_ERR_COMM, "an intercommunicator has no group that could be one side of another (argument comm)");
  if (root < 0 || root >= comm.size())
    return failure(MPI_ERR_ROOT, "root {} is no rank of the communicator of {} (argument root)", root, comm.size());
  Meeting meeting(comm, root, accepts, function);
  if (Error e = meeting.begin(reach, awaited)) return e;
  if (Error e = meeting.meet_far()) return e;

  Side other;
  {
    const Engine::Guard own(engine_of_process());
    for (Member& member : meeting.theirs()) {
      const int number = process().processes->number_of(member.name, member.host);
      if (number < 0) return senseless();
      other.numbers.push_back(number);
      other.members.push_back(std::move(member));
    }
  }
  TUTTI_FAULT_POINT("connect.known");
  if (Error e = check_disjoint(*comm.group, other.numbers)) return e;
  Result<NumbersTold> known_as = tell_numbers(comm, root, accepts, meeting.socket(), other.numbers, function);
  if (!known_as) return std::move(known_as).error();
  TUTTI_FAULT_POINT("connect.numbered");
  return make_joined(comm, root, accepts, meeting, other, *known_as);
}

}  // namespace tutti::mpi::processes
