// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/remote_node.hpp"

#include <signal.h>

#include <algorithm>

#include "launcher/node/environment.hpp"
#include "mpi.h"

namespace tutti::launcher {

void RemoteNode::launch(const Common<NodeTask>& task, int, std::span<const int> ranks) {
  ranks_.assign(ranks.begin(), ranks.end());
  alive_.assign(ranks.size(), true);
  talk_ = after(talk_, Message::launch);
  send_(Message::launch, task.packed([](const NodeTask& of_all) {
    NodeTask told = of_all;
    told.environment = without_host_variables(std::move(told.environment));
    told.node = -1;  // each finds itself by its name, so that all are told the same
    return wire::pack(told);
  }));
}

bool RemoteNode::has(int rank) const {
  return std::ranges::binary_search(ranks_, rank);
}

bool RemoteNode::ends(int rank) {
  const auto at = std::ranges::lower_bound(ranks_, rank);
  if (at == ranks_.end() || *at != rank) return false;
  const auto index = at - ranks_.begin();
  const bool was_alive = alive_[static_cast<size_t>(index)];
  alive_[static_cast<size_t>(index)] = false;
  return was_alive;
}

// Nothing is told of ranks unless all is right.
bool RemoteNode::end_alike(std::string_view payload, NodeEvents& job, int node) {
  std::vector<EndsAlike> ends;
  if (!wire::unpack(payload, ends)) return false;
  for (const EndsAlike& group : ends) {
    if (!are_apart(group.ranks)) return false;
    for (const Span& span : group.ranks)
      for (int place = span.first; place < span.end(); ++place)
        if (static_cast<size_t>(place) >= ranks_.size() || !this->ends(ranks_[static_cast<size_t>(place)]))
          return false;
  }
  for (const EndsAlike& group : ends) {
    RankEnd end = group.how;
    for (const Span& span : group.ranks)
      for (int place = span.first; place < span.end(); ++place) {
        end.rank = ranks_[static_cast<size_t>(place)];
        job.rank_ended(node, end);
        if (end.pid != 0) end.pid = kUntold;
      }
  }
  return true;
}

LauncherEvents::LauncherEvents(Loop& loop, std::string name, bool each_failure, SendMessage send)
    : name_(std::move(name)),
      send_(std::move(send)),
      ends_(loop, each_failure,
            {.say = [this](const RankEnd& end) { say(Message::rank_ended, end); },
             .say_together = [this](const std::vector<EndsAlike>& ends) { say(Message::ranks_ended, ends); }}) {}

// The state changes first: what is heard may make this side say something at once.
Error LauncherEvents::hear(Message type, std::string_view payload, Node& node) {
  if (!may_come(talk_, Sender::launcher, type)) return failure(MPI_ERR_OTHER, "{}", out_of_place(talk_, type));
  talk_ = after(talk_, type);
  return dispatch(type, payload, node) ? Error() : failure(MPI_ERR_OTHER, "{}", out_of_shape(type));
}

Error RemoteNode::hear(Message type, std::string_view payload, NodeEvents& job, int node) {
  if (!may_come(talk_, Sender::daemon, type)) return failure(MPI_ERR_OTHER, "{}", out_of_place(talk_, type));
  talk_ = after(talk_, type);
  return dispatch(type, payload, job, node) ? Error() : failure(MPI_ERR_OTHER, "{}", out_of_shape(type));
}

bool LauncherEvents::dispatch(Message type, std::string_view payload, Node& node) {
  using wire::unpack;
  int number = 0;
  bool flag = false;
  uint64_t word = 0;
  std::string text, data;
  Addresses addresses;
  switch (type) {
    case Message::launch: {
      NodeTask task;
      if (!unpack(payload, task)) return false;
      if (task.node < 0)
        task.node = static_cast<int>(std::ranges::find(task.map.nodes, name_) - task.map.nodes.begin());
      if (!is_consistent(task)) return false;
      task.environment = with_own_host_variables(std::move(task.environment));
      const int number = task.node;
      const std::vector<int> ranks = task.map.ranks_on(number);
      ends_.begin(ranks);
      return node.launch(Common<NodeTask>(std::move(task)), number, ranks), true;
    }
    case Message::signal_ranks:
      if (!unpack(payload, number)) return false;
      if (number == SIGTERM || number == SIGKILL) ends_.are_told_to_end();
      return node.signal_ranks(number), true;
    case Message::finish:
      return unpack(payload, flag) && (node.finish(flag), true);
    case Message::give_input:
      return unpack(payload, text) && (node.give_input(Common<std::string>(std::move(text))), true);
    case Message::give_file:
      return unpack(payload, text, data) && (node.give_file(Common<FilePiece>({text, std::move(data)})), true);
    case Message::output_taken:
      return unpack(payload, word) && (node.output_taken(word), true);
    case Message::fence_done:
      return unpack(payload, text, number, data) &&
             (node.fence_done(Common<FenceEnd>({text, number, std::move(data)})), true);
    case Message::find_modex:
      return unpack(payload, word, number) && (node.find_modex(word, number), true);
    case Message::modex_answer:
      return unpack(payload, word, number, data) && (node.modex_answer(word, number, data), true);
    case Message::take_addresses:
      return unpack(payload, addresses) && (node.take_addresses(Common<Addresses>(std::move(addresses))), true);
    case Message::deliver_event:
      return unpack(payload, data) && (node.deliver_event(data), true);
    case Message::ranks_failed: {
      std::vector<int> ranks;
      return unpack(payload, ranks, text) && (node.ranks_failed(ranks, text), true);
    }
    case Message::reply: {
      Reply reply;
      return unpack(payload, word, reply) && (node.reply(word, reply), true);
    }
    case Message::learn: {
      NodeTask kin;
      return unpack(payload, kin) && is_consistent(kin) && (node.learn(Common<NodeTask>(std::move(kin))), true);
    }
    case Message::look: {
      Question question;
      return unpack(payload, question) && (node.look(std::move(question)), true);
    }
    case Message::call:
      return unpack(payload) && (node.call(), true);
    default:
      return false;
  }
}

bool RemoteNode::dispatch(Message type, std::string_view payload, NodeEvents& job, int node) {
  using wire::unpack;
  int number = 0, code = 0;
  uint64_t word = 0;
  std::string text, data;
  Addresses addresses;
  OutputStream stream = OutputStream::out;
  RankEnd end;
  const auto is_rank = [&](int rank) { return has(rank); };
  const auto is_stream = [](OutputStream s) { return s == OutputStream::out || s == OutputStream::err; };
  switch (type) {
    case Message::launched:
      return unpack(payload) && (job.launched(node), true);
    case Message::launch_failed:
      return unpack(payload, code, text) && (job.launch_failed(node, code, text), true);
    case Message::rank_ended:
      return unpack(payload, end) && ends(end.rank) && (job.rank_ended(node, end), true);
    case Message::ranks_ended:
      return end_alike(payload, job, node);
    case Message::rank_aborted:
      return unpack(payload, number, code, text) && is_rank(number) &&
             (job.rank_aborted(node, number, code, text), true);
    case Message::rank_crashed:
      return unpack(payload, number, text) && is_rank(number) && (job.rank_crashed(node, number, text), true);
    case Message::rank_waits:
      return unpack(payload, number) && is_rank(number) && (job.rank_waits(node, number), true);
    case Message::output:
      return unpack(payload, number, stream, data) && is_rank(number) && is_stream(stream) &&
             (job.output(node, number, stream, std::move(data)), true);
    case Message::note:
      return unpack(payload, text) && (job.note(node, text), true);
    case Message::remark: {
      Level level = Level::note;
      return unpack(payload, level, text) && (level == Level::warning || level == Level::note) &&
             (job.remark(node, level, text), true);
    }
    case Message::input_wanted:
      return unpack(payload) && (job.input_wanted(node), true);
    case Message::fence:
      return unpack(payload, text, data, addresses) && (job.fence(node, text, data, addresses), true);
    case Message::modex_wanted:
      return unpack(payload, word, number) && (job.modex_wanted(node, word, number), true);
    case Message::modex_found:
      return unpack(payload, word, number, data) && (job.modex_found(node, word, number, data), true);
    case Message::addresses_wanted:
      return unpack(payload, text) && (job.addresses_wanted(node, text), true);
    case Message::event:
      return unpack(payload, data) && (job.event(node, data), true);
    case Message::asked: {
      Ask ask;
      return unpack(payload, word, ask) && (job.asked(node, word, ask), true);
    }
    case Message::looked: {
      std::vector<RankView> views;
      return unpack(payload, word, views) && (job.looked(node, word, std::move(views)), true);
    }
    case Message::grouped: {
      std::vector<RankGroup> groups;
      return unpack(payload, word, groups) && are_sound(groups) && (job.grouped(node, word, std::move(groups)), true);
    }
    case Message::profiled: {
      std::vector<RankProfile> profiles;
      return unpack(payload, profiles) && std::ranges::all_of(profiles, is_sound) &&
             (job.profiled(node, std::move(profiles)), true);
    }
    case Message::answered:
      return unpack(payload) && (job.answered(node), true);
    case Message::finished:
      return unpack(payload) && (job.finished(node), true);
    default:
      return false;
  }
}

}  // namespace tutti::launcher
