// SPDX-License-Identifier: BSD-3-Clause
// What the launcher and its daemons say to each other: typed messages, each a frame of a length, a
// type and fields. Fields are packed in order; numbers are little-endian and 64 bits wide.
// Unpacking checks every length: bytes of the network are never trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "launcher/data/compact.hpp"
#include "launcher/data/compact_ranges.hpp"
#include "launcher/data/kin.hpp"
#include "launcher/data/node_contract.hpp"
#include "launcher/data/rank_groups.hpp"
#include "launcher/data/spans.hpp"

namespace tutti::launcher {

inline constexpr int kWireVersion = 21;
inline constexpr size_t kFrameHeader = 5;  // four bytes of length, one of type
inline constexpr size_t kLongestMessage = size_t{1} << 30;
inline constexpr size_t kLongestGreeting = 4096;  // of those who have proved nothing yet

enum class Message : uint8_t {
  // Getting to know each other.
  challenge = 1,  // launcher: its nonce
  hello,          // daemon: version, node, nonce, proof, shape, number of its place
  welcome,        // launcher: proof
  ping,           // both: nothing
  // Of a tree of daemons, whose inner ones pass on what others say and hear.
  relay = 10,   // downwards: nodes, a message and its payload
  give_up,      // downwards: a node that nothing more is expected of
  relayed,      // upwards: as relay
  gathered,     // upwards: nodes, the key of a fence, and what all of them have given for it
  joined,       // upwards: a node whose daemon has proved itself to the one above it, its shape, and that one's node
  parted,       // upwards: a node that is lost, how, and a sentence
  not_started,  // upwards: nodes whose first one could not be started from here, and why
  counted,      // upwards: how many messages have gone over the links below, before the last of these nodes is finished
  // Node's functions, downwards.
  launch = 20,
  signal_ranks,
  finish,
  give_input,
  output_taken,
  fence_done,
  find_modex,
  modex_answer,
  deliver_event,
  look,
  call,
  give_file,
  take_addresses,
  reply,
  learn,
  ranks_failed,
  // NodeEvents' functions, upwards.
  launched = 40,
  launch_failed,
  rank_ended,
  rank_aborted,
  output,
  note,
  input_wanted,
  fence,
  modex_wanted,
  modex_found,
  event,
  finished,
  looked,
  rank_waits,
  answered,
  addresses_wanted,
  remark,
  rank_crashed,
  asked,
  profiled,
  // Of a tree that heals (lineage.hpp). Letters are those of a Correspondence of mpirun with a daemon.
  carried = 62,  // downwards: whom a letter passes on its way from here, and the letter; nobody: it is this one's
  told,          // upwards: a node, and its letter
  attach,        // in a letter: a node asks for its place of that number below the writer
  adopt,         // in a letter: whether it may have it
  gone,     // in a letter: a node has left its place of that number below the writer, whether to go elsewhere, and why
  watch,    // in a letter: from now on the tree heals
  beat,     // to the one above: its number
  answer,   // to one below: the number of the beat
  leave,    // to the one above: the sender has another place
  adopted,  // to one below: it has the place that it has asked for
  refused,  // to one below: it counts as dead
  again,    // to one below: what has been told may be lost, from it and from those below it
  depart,   // to one below: it is not needed any more, nor those below it
  // Of many at once, upwards.
  ranks_ended,      // ranks of a node that have ended alike
  grouped,          // what the ranks of a node do, in groups
  gathered_groups,  // of a tree: nodes, the number of the question, and the groups of all of them
  // Between the launchers of jobs that are kin (launcher/family): a word of theirs, and its fields.
  kin = 80,
};

namespace wire {

template <class T>
concept Scalar = std::is_integral_v<T> || std::is_enum_v<T>;

class Packer {
 public:
  template <Scalar T>
  void operator()(const T& value) {
    uint64_t word = static_cast<uint64_t>(value);
    for (int i = 0; i < 8; ++i, word >>= 8) bytes_.push_back(static_cast<char>(word & 0xff));
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes_ += text;
  }
  void operator()(const std::chrono::nanoseconds& time) { (*this)(time.count()); }
  template <class T>
  void operator()(const std::vector<T>& list) {
    (*this)(list.size());
    for (const T& each : list) (*this)(each);
  }
  template <class T>
    requires std::is_class_v<T>
  void operator()(const T& value) {
    fields(*this, const_cast<T&>(value));
  }
  // Of nodes: thousands of names that count, and of numbers that are alike, are short.
  void names(const std::vector<std::string>& list) {
    const bool plain = has_plain_names(list);
    (*this)(plain);
    plain ? (*this)(compact_names(list)) : (*this)(list);
  }
  void numbers(const std::vector<int>& list) { (*this)(compact_numbers(list)); }
  void spans(const std::vector<Span>& list) { (*this)(compact_spans(list)); }
  void ranges(const std::vector<RankRange>& list) { (*this)(compact_ranges(list)); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <Scalar T>
  void operator()(T& value) {
    if (rest_.size() < 8) return spoil();
    uint64_t word = 0;
    for (int i = 7; i >= 0; --i) word = word << 8 | static_cast<unsigned char>(rest_[static_cast<size_t>(i)]);
    rest_.remove_prefix(8);
    value = static_cast<T>(word);
  }
  void operator()(std::string& text) {
    std::string_view bytes;
    (*this)(bytes);
    text = bytes;
  }
  void operator()(std::string_view& text) {  // as long as the bytes are there
    const size_t size = length();
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  void operator()(std::chrono::nanoseconds& time) {
    int64_t count = 0;
    (*this)(count);
    time = std::chrono::nanoseconds(count);
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    list.clear();
    for (size_t left = length(); left > 0 && right_; --left) (*this)(list.emplace_back());
  }
  template <class T>
    requires std::is_class_v<T>
  void operator()(T& value) {
    fields(*this, value);
  }
  void names(std::vector<std::string>& list) {
    bool plain = false;
    (*this)(plain);
    if (!plain) return (*this)(list);
    std::string text;
    (*this)(text);
    std::optional<std::vector<std::string>> all = expand_names(text);
    all ? void(list = std::move(*all)) : spoil();
  }
  void numbers(std::vector<int>& list) {
    std::vector<Repeat> repeats;
    (*this)(repeats);
    std::optional<std::vector<int>> all = expand_numbers(repeats);
    all ? void(list = std::move(*all)) : spoil();
  }
  void spans(std::vector<Span>& list) {
    std::string text;
    (*this)(text);
    std::optional<std::vector<Span>> all = expand_spans(text);
    all ? void(list = std::move(*all)) : spoil();
  }
  void ranges(std::vector<RankRange>& list) {
    std::string text;
    (*this)(text);
    std::optional<std::vector<RankRange>> all = expand_ranges(text);
    all ? void(list = std::move(*all)) : spoil();
  }
  size_t left() const { return rest_.size(); }  // none either where the bytes are wrong
  bool right() const { return right_ && rest_.empty(); }
  // What is left is these fields, and nothing else.
  template <class... T>
  bool ends_with(T&... last) {
    ((*this)(last), ...);
    return right();
  }

 private:
  size_t length() {  // of a text or a list: no element is shorter than a byte
    uint64_t size = 0;
    (*this)(size);
    if (size > rest_.size()) spoil();
    return right_ ? size : 0;
  }
  void spoil() {
    right_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool right_ = true;
};

template <class... T>
std::string pack(const T&... values) {
  Packer packer;
  (packer(values), ...);
  return packer.take();
}

// False: the bytes are not exactly these fields.
template <class... T>
bool unpack(std::string_view bytes, T&... values) {
  Unpacker unpacker(bytes);
  (unpacker(values), ...);
  return unpacker.right();
}

}  // namespace wire

// The fields of what travels whole.
template <class Archive>
void fields(Archive& a, NodeShape& v) {
  a(v.cores);
  a(v.threads);
  a(v.sockets);
  a(v.numas);
  a(v.l3caches);
}
template <class Archive>
void fields(Archive& a, App& v) {
  a(v.command);
  a(v.folder);
  a(v.real_folder);
  a(v.variables);
}
template <class Archive>
void fields(Archive& a, Repeat& v) {
  a(v.count);
  a(v.value);
}
template <class Archive>
void fields(Archive& a, JobMap& v) {
  a(v.id);
  a.names(v.nodes);
  a.numbers(v.slots);
  a.numbers(v.rank_cores);
  a(v.apps);
  a.ranges(v.ranks.raw_ranges());
}
template <class Archive>
void fields(Archive& a, MapPolicy& v) {
  a(v.by);
  a(v.inside);
  a(v.per_part);
  a(v.rank_by);
  a(v.rank_part);
  a(v.hwthreads);
  a(v.overload);
  a(v.near);
  a(v.cores_per_rank);
  a(v.cores_given);
  a(v.oversubscribe);
  a(v.span);
}
template <class Archive>
void fields(Archive& a, NodeTask& v) {
  a(v.map);
  a(v.key);
  a(v.parent);
  a(v.node);
  a(v.environment);
  a.names(v.allocation);
  a.numbers(v.allocation_slots);
  a(v.policy);
  a(v.bind_to);
  a(v.report_bindings);
  a(v.foreign_mpi);
  a(v.rank_variables);
  a(v.input_rank);
  a(v.pmix_ranks);
  a(v.gpus_per_rank);
  a(v.processors);
  a(v.rank_slots);
  a(v.shares_cores);
  a(v.files);
  a(v.kill_grace);
}
template <class Archive>
void fields(Archive& a, Ask& v) {
  a(v.what);
  a(v.who);
  a(v.words);
  a(v.values);
  a(v.rank);
  a(v.seconds);
  a(v.once);
  a(v.environment);
}
template <class Archive>
void fields(Archive& a, Reply& v) {
  a(v.outcome);
  a(v.words);
  a(v.values);
}
template <class Archive>
void fields(Archive& a, Addresses& v) {
  a(v.key);
  a(v.more);
  a(v.packed);  // what is long comes last, so that nothing makes room behind it
}
template <class Archive>
void fields(Archive& a, FenceEnd& v) {
  a(v.key);
  a(v.status);
  a(v.data);
}
template <class Archive>
void fields(Archive& a, FilePiece& v) {
  a(v.name);
  a(v.bytes);
}
template <class Archive>
void fields(Archive& a, RankAddress& v) {
  a(v.rank);
  a(v.data);
}
template <class Archive>
void fields(Archive& a, RankEnd& v) {
  a(v.rank);
  a(v.pid);
  a(v.wait_status);
  a(v.connected);
  a(v.finalized);
  a(v.cause);
}

template <class Archive>
void fields_of_call(Archive& a, flight::CallRecord& v) {
  a(v.number);
  a(v.caller);
  a(v.context);
  a(v.count);
  a(v.other_count);
  a(v.type);
  a(v.other_type);
  a(v.op);
  a(v.stamp);
  a(v.serial);
  a(v.peer);
  a(v.tag);
  a(v.function);
  a(v.state);
  a(v.marks);
}
template <class Archive>
void fields(Archive& a, CollectiveView& v) {
  fields_of_call(a, v.call);
  a(v.place);
  a(v.communicator);
}
template <class Archive>
void fields(Archive& a, Question& v) {
  a(v.number);
  a(v.records_of);
  a(v.together);
}
template <class Archive>
void fields(Archive& a, FailedView& v) {
  a(v.job);
  a(v.rank);
  a(v.why);
  a(v.milliseconds);
}
template <class Archive>
void fields(Archive& a, ElsewhereView& v) {
  a(v.job_number);
  a(v.rank);
}
template <class Archive>
void fields(Archive& a, RankView& v) {
  a(v.job);
  a(v.job_number);
  a(v.host);
  a(v.program);
  a(v.launcher);
  a(v.rank);
  a(v.size);
  a(v.pid);
  a(v.process_state);
  a(v.kernel);
  a(v.finalized);
  a(v.awaits_debugger);
  a(v.calls);
  a(v.bytes_a_call);
  a(v.inside);
  a(v.looks);
  a(v.call);
  a(v.place);
  a(v.communicator);
  a(v.milliseconds);
  a(v.exact);
  a(v.waits_for);
  a(v.waits_for_count);
  a(v.waits_for_some);
  a(v.waits_elsewhere);
  a(v.file);
  a(v.latest);
  a(v.collectives);
}

template <class Archive>
void fields(Archive& a, FileCalls& v) {
  a(v.rank);
  a(v.text);
}
template <class Archive>
void fields(Archive& a, RankGroup& v) {
  a(v.first);
  a(v.what);
  a.spans(v.ranks);
  a.names(v.hosts);
  a(v.least);
  a(v.most);
  a(v.exact);
  a.spans(v.waits_for);
  a(v.waits_elsewhere);
  a(v.waits_for_some);
  a(v.waits_for_more);
  a(v.files);
}
template <class Archive>
void fields(Archive& a, JobView& v) {
  a(v.ranks);
  a(v.groups);
  a(v.failed);
  a(v.notes);
}

template <class Archive>
void fields(Archive& a, ProfileCulprit& v) {
  a(v.process);
  a(v.kind);
  a(v.time);
}
template <class Archive>
void fields(Archive& a, ProfileFileUse& v) {
  a(v.pieces);
  a(v.bytes);
  a(v.unaligned);
  a(v.time);
}
template <class Archive>
void fields(Archive& a, ProfileSite& v) {
  a(v.function);
  a(v.region);
  a(v.module);
  a(v.offset);
  a(v.calls);
  a(v.collectives);
  a(v.bytes);
  a(v.file);
  a(v.time);
  a(v.waited);
  a(v.culprits);
  a(v.batches);
  a(v.durations);
}
template <class Archive>
void fields(Archive& a, ProfileCollective& v) {
  a(v.context);
  a(v.serial);
  a(v.leader);
  a(v.entered);
  a(v.waits_from);
  a(v.left);
  a(v.site);
  a(v.at_file);
}
template <class Archive>
void fields(Archive& a, ProfileSpan& v) {
  a(v.site);
  a(v.begun);
  a(v.over);
  a(v.waited);
  a(v.waits_to);
  a(v.process);
  a(v.kind);
  a(v.thread);
}
template <class Archive>
void fields(Archive& a, ProfileMessage& v) {
  a(v.is_receive);
  a(v.process);
  a(v.tag);
  a(v.context);
  a(v.number);
  a(v.at);
  a(v.bytes);
  a(v.thread);
}
template <class Archive>
void fields(Archive& a, ProfilePeer& v) {
  a(v.process);
  a(v.messages);
  a(v.bytes);
}
template <class Archive>
void fields(Archive& a, ProfileTimeline& v) {
  a(v.period);
  a(v.spent);
  a(v.least);
  a(v.every);
  a(v.unnamed_messages);
  a(v.other_peers_bytes);
  a(v.spans);
  a(v.messages);
  a(v.peers);
}
template <class Archive>
void fields(Archive& a, RankProfile& v) {
  a(v.rank);
  a(v.size);
  a(v.program);
  a(v.ended);
  a(v.begun);
  a(v.over);
  a(v.lost_sites);
  a(v.every);
  a(v.open_site);
  a(v.sent);
  a(v.sent_bytes);
  a(v.received);
  a(v.received_bytes);
  a(v.files);
  a(v.file_unit);
  a(v.sites);
  a(v.collectives);
  a(v.overlapped);
  a(v.exposed);
  a(v.timeline);
}

// A map that came from the network holds together: every index of it is inside.
bool is_consistent(const NodeTask& task);

}  // namespace tutti::launcher
