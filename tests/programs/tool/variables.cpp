// SPDX-License-Identifier: BSD-3-Clause
// The tool information interface (the standard, chapter 15): before MPI_Init, while it runs and after MPI_Finalize;
// all control variables read, and written where that is possible; counters that count what happens between start
// and stop; categories that hold each variable once; the interface's own error classes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "check.hpp"

namespace {

// The interface's errors never go to an error handler, whose MPI_ERRORS_ARE_FATAL would end the job.
#define REFUSED(call, error) CHECK_EQ((call), (error))

std::string name_of_cvar(int index) {
  char name[200], desc[400];
  int name_len = sizeof name, desc_len = sizeof desc, verbosity, bind, scope;
  MPI_Datatype type;
  MPI_T_enum names;
  OK(MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &type, &names, desc, &desc_len, &bind, &scope));
  CHECK_EQ(name_len, static_cast<int>(std::strlen(name)) + 1);
  CHECK(std::strlen(desc) > 5);
  CHECK_EQ(bind, MPI_T_BIND_NO_OBJECT);
  CHECK(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
  int found = -1;
  OK(MPI_T_cvar_get_index(name, &found));
  CHECK_EQ(found, index);
  if (names != MPI_T_ENUM_NULL) {
    int items = 0, value = -1, length = sizeof desc;
    OK(MPI_T_enum_get_info(names, &items, desc, &length));
    CHECK(items > 1);
    for (int i = 0; i < items; ++i) {
      length = sizeof desc;
      OK(MPI_T_enum_get_item(names, i, &value, desc, &length));
      CHECK(std::strlen(desc) > 0);
    }
    REFUSED(MPI_T_enum_get_item(names, items, &value, desc, &length), MPI_T_ERR_INVALID_INDEX);
  }
  return name;
}

struct Control {
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 0, scope = 0;
  explicit Control(int index) {
    OK(MPI_T_cvar_get_info(index, nullptr, nullptr, nullptr, &type, nullptr, nullptr, nullptr, nullptr, &scope));
    OK(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count));
  }
  explicit Control(const char* name) : Control(index_of(name)) {}
  ~Control() {
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  }
  static int index_of(const char* name) {
    int index = -1;
    OK(MPI_T_cvar_get_index(name, &index));
    return index;
  }
  std::vector<char> read() const {
    std::vector<char> value(8 * static_cast<size_t>(count));
    OK(MPI_T_cvar_read(handle, value.data()));
    return value;
  }
};

// What is read can be written, and is what it was; or writing is refused as the scope says.
void each_control_variable(bool before_init) {
  int count = 0;
  OK(MPI_T_cvar_get_num(&count));
  CHECK(count > 10);
  std::set<std::string> names;
  for (int i = 0; i < count; ++i) {
    const std::string name = name_of_cvar(i);
    CHECK(names.insert(name).second);
    const Control control(i);
    const std::vector<char> value = control.read();
    const int code = MPI_T_cvar_write(control.handle, value.data());
    if (control.scope == MPI_T_SCOPE_CONSTANT)
      CHECK_EQ(code, MPI_T_ERR_CVAR_SET_NEVER);
    else if (before_init)
      OK(code);
    else
      CHECK(code == MPI_SUCCESS || code == MPI_T_ERR_CVAR_SET_NEVER);
    CHECK(control.read() == value);
  }
  REFUSED(MPI_T_cvar_get_info(count, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
          MPI_T_ERR_INVALID_INDEX);
  int index;
  REFUSED(MPI_T_cvar_get_index("no such thing", &index), MPI_T_ERR_INVALID_NAME);
  MPI_T_cvar_handle none = MPI_T_CVAR_HANDLE_NULL;
  REFUSED(MPI_T_cvar_read(none, &index), MPI_T_ERR_INVALID_HANDLE);
  REFUSED(MPI_T_cvar_handle_free(&none), MPI_T_ERR_INVALID_HANDLE);
}

// How texts are returned: what fits, and how long all of it is.
void texts() {
  char name[64];
  int length = 0;
  const int index = Control::index_of("log.level");
  const auto get = [&](char* into, int* len) {
    OK(MPI_T_cvar_get_info(index, into, len, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  };
  get(name, &length);
  CHECK_EQ(length, 10);
  length = 64;
  get(nullptr, &length);
  CHECK_EQ(length, 10);
  std::memset(name, 'x', sizeof name);
  length = 4;
  get(name, &length);
  CHECK_EQ(std::string(name), "log");
  CHECK_EQ(name[4], 'x');
  get(name, nullptr);
}

void set_before_init() {
  {
    const Control spins("wait.spins");
    CHECK(spins.type == MPI_COUNT && spins.count == 1);
    MPI_Count value = 123;
    OK(MPI_T_cvar_write(spins.handle, &value));
    value = 0;
    OK(MPI_T_cvar_read(spins.handle, &value));
    CHECK_EQ(value, 123);
    value = -5;  // refused by the setting itself
    REFUSED(MPI_T_cvar_write(spins.handle, &value), MPI_T_ERR_INVALID);
    OK(MPI_T_cvar_read(spins.handle, &value));
    CHECK_EQ(value, 123);
  }
  const Control helper("progress.thread");
  int off = 0, bad = 17;
  OK(MPI_T_cvar_write(helper.handle, &off));
  REFUSED(MPI_T_cvar_write(helper.handle, &bad), MPI_T_ERR_INVALID);
}

struct Session {
  MPI_T_pvar_session session;
  Session() { OK(MPI_T_pvar_session_create(&session)); }
  ~Session() {
    OK(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
  }
};

int pvar(const char* name, int variable_class) {
  int index = -1;
  OK(MPI_T_pvar_get_index(name, variable_class, &index));
  return index;
}

void each_performance_variable() {
  int count = 0;
  OK(MPI_T_pvar_get_num(&count));
  CHECK(count > 8);
  const Session session;
  for (int i = 0; i < count; ++i) {
    char name[100], desc[300];
    int name_len = sizeof name, desc_len = sizeof desc, verbosity, variable_class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum names;
    OK(MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &variable_class, &type, &names, desc, &desc_len, &bind,
                           &readonly, &continuous, &atomic));
    CHECK_EQ(pvar(name, variable_class), i);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_T_pvar_handle handle;
    int elements = 0;
    OK(MPI_T_pvar_handle_alloc(session.session, i, bind == MPI_T_BIND_NO_OBJECT ? nullptr : &comm, &handle, &elements));
    int size = 1;
    if (bind == MPI_T_BIND_MPI_COMM) MPI_Comm_size(comm, &size);
    if (std::string(name) == "calls.time") size = 664;  // functions
    CHECK_EQ(elements, size);
    std::vector<char> value(8 * static_cast<size_t>(elements));
    const int start = MPI_T_pvar_start(session.session, handle);
    CHECK_EQ(start, continuous ? int{MPI_T_ERR_PVAR_NO_STARTSTOP} : int{MPI_SUCCESS});
    OK(MPI_T_pvar_read(session.session, handle, value.data()));
    CHECK_EQ(MPI_T_pvar_stop(session.session, handle),
             continuous ? int{MPI_T_ERR_PVAR_NO_STARTSTOP} : int{MPI_SUCCESS});
    CHECK_EQ(MPI_T_pvar_reset(session.session, handle), readonly ? int{MPI_T_ERR_PVAR_NO_WRITE} : int{MPI_SUCCESS});
    CHECK_EQ(MPI_T_pvar_write(session.session, handle, value.data()),
             readonly ? int{MPI_T_ERR_PVAR_NO_WRITE} : int{MPI_SUCCESS});
    CHECK_EQ(MPI_T_pvar_readreset(session.session, handle, value.data()),
             readonly ? int{MPI_T_ERR_PVAR_NO_WRITE} : int{MPI_SUCCESS});
    MPI_T_pvar_handle kept = handle;
    OK(MPI_T_pvar_handle_free(session.session, &handle));
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
    REFUSED(MPI_T_pvar_read(session.session, kept, value.data()), MPI_T_ERR_INVALID_HANDLE);
  }
  MPI_T_pvar_session none = MPI_T_PVAR_SESSION_NULL;
  REFUSED(MPI_T_pvar_session_free(&none), MPI_T_ERR_INVALID_SESSION);
  int index;
  REFUSED(MPI_T_pvar_get_index("messages.sent", MPI_T_PVAR_CLASS_TIMER, &index), MPI_T_ERR_INVALID_NAME);
}

// Messages to the next rank are counted, for its place in the communicator, while the handle is started.
void counted(const check::Program& program) {
  const Session mine, another;
  MPI_Comm comm = MPI_COMM_WORLD;
  const int next = (program.rank() + 1) % program.size(),
            before = (program.rank() + program.size() - 1) % program.size();
  const auto size = static_cast<size_t>(program.size());
  MPI_T_pvar_handle handle, other;
  int count;
  OK(MPI_T_pvar_handle_alloc(mine.session, pvar("messages.sent", MPI_T_PVAR_CLASS_COUNTER), &comm, &handle, &count));
  OK(MPI_T_pvar_handle_alloc(another.session, pvar("messages.sent", MPI_T_PVAR_CLASS_COUNTER), &comm, &other, &count));
  REFUSED(MPI_T_pvar_start(another.session, handle), MPI_T_ERR_INVALID_HANDLE);
  std::vector<unsigned long> values(size, 99);
  const auto send = [&](int times) {
    int in = 0, out = 1;
    for (int i = 0; i < times; ++i)
      OK(MPI_Sendrecv(&out, 1, MPI_INT, next, 0, &in, 1, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE));
  };
  const auto value = [&] {
    OK(MPI_T_pvar_read(mine.session, handle, values.data()));
    return values[static_cast<size_t>(next)];
  };
  CHECK_EQ(value(), 0u);
  send(3);
  CHECK_EQ(value(), 0u);  // not started
  OK(MPI_T_pvar_start(mine.session, MPI_T_PVAR_ALL_HANDLES));
  send(5);
  if (program.size() > 1) CHECK_EQ(value(), 5u);
  OK(MPI_T_pvar_stop(mine.session, handle));
  send(2);
  if (program.size() > 1) CHECK_EQ(value(), 5u);
  OK(MPI_T_pvar_start(mine.session, handle));
  send(1);
  if (program.size() > 1) CHECK_EQ(value(), 6u);
  OK(MPI_T_pvar_readreset(mine.session, handle, values.data()));
  if (program.size() > 1) CHECK_EQ(values[static_cast<size_t>(next)], 6u);
  send(2);
  if (program.size() > 1) CHECK_EQ(value(), 2u);
  std::vector<unsigned long> written(size, 100);
  OK(MPI_T_pvar_write(mine.session, handle, written.data()));
  send(1);
  if (program.size() > 1) CHECK_EQ(value(), 101u);
  OK(MPI_T_pvar_handle_free(mine.session, &handle));

  // A level: what nobody has received.
  MPI_T_pvar_handle level;
  OK(MPI_T_pvar_handle_alloc(mine.session, pvar("messages.unexpected_now", MPI_T_PVAR_CLASS_LEVEL), nullptr, &level,
                             &count));
  unsigned long now = 99;
  int data = 0, got = 0, flag = 0;
  OK(MPI_Barrier(comm));  // nobody is behind with what stands above
  OK(MPI_T_pvar_read(mine.session, level, &now));
  CHECK_EQ(now, 0u);
  OK(MPI_Barrier(comm));
  MPI_Request sent;
  OK(MPI_Isend(&data, 1, MPI_INT, next, 4, comm, &sent));
  while (!flag) OK(MPI_Iprobe(before, 4, comm, &flag, MPI_STATUS_IGNORE));
  OK(MPI_T_pvar_read(mine.session, level, &now));
  CHECK_EQ(now, 1u);
  OK(MPI_Barrier(comm));
  OK(MPI_Recv(&got, 1, MPI_INT, before, 4, comm, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

// What is counted only while somebody wants to know: bytes by peer and by way, matches, collectives, time in calls.
void counted_on_demand(const check::Program& program) {
  const Session mine;
  MPI_Comm comm = MPI_COMM_WORLD;
  const auto size = static_cast<size_t>(program.size());
  const auto next = static_cast<size_t>((program.rank() + 1) % program.size());
  const auto before = static_cast<size_t>((program.rank() + program.size() - 1) % program.size());
  int count;
  const auto open = [&](const char* name, int variable_class, void* object) {
    MPI_T_pvar_handle handle;
    OK(MPI_T_pvar_handle_alloc(mine.session, pvar(name, variable_class), object, &handle, &count));
    return handle;
  };
  const auto number = [&](MPI_T_pvar_handle handle) {
    unsigned long value = 0;
    OK(MPI_T_pvar_read(mine.session, handle, &value));
    return value;
  };
  MPI_T_pvar_handle out = open("messages.bytes_sent", MPI_T_PVAR_CLASS_COUNTER, &comm);
  CHECK_EQ(static_cast<size_t>(count), size);
  MPI_T_pvar_handle in = open("messages.bytes_received", MPI_T_PVAR_CLASS_COUNTER, &comm);
  MPI_T_pvar_handle shared = open("transport.shared_memory_bytes", MPI_T_PVAR_CLASS_COUNTER, nullptr);
  MPI_T_pvar_handle over_ucx = open("transport.ucx_bytes", MPI_T_PVAR_CLASS_COUNTER, nullptr);
  MPI_T_pvar_handle messages = open("transport.shared_memory_messages", MPI_T_PVAR_CLASS_COUNTER, nullptr);
  MPI_T_pvar_handle ucx_messages = open("transport.ucx_messages", MPI_T_PVAR_CLASS_COUNTER, nullptr);
  MPI_T_pvar_handle matched = open("messages.matched", MPI_T_PVAR_CLASS_COUNTER, nullptr);
  MPI_T_pvar_handle begun = open("collectives.started", MPI_T_PVAR_CLASS_COUNTER, nullptr);
  MPI_T_pvar_handle time = open("calls.time_in_all", MPI_T_PVAR_CLASS_TIMER, nullptr);
  MPI_T_pvar_handle times = open("calls.time", MPI_T_PVAR_CLASS_TIMER, nullptr);
  const auto functions = static_cast<size_t>(count);
  std::vector<char> to(100'000, 'a'), from(100'000);
  const auto exchange = [&](int bytes) {
    OK(MPI_Sendrecv(to.data(), bytes, MPI_CHAR, static_cast<int>(next), 0, from.data(), bytes, MPI_CHAR,
                    static_cast<int>(before), 0, comm, MPI_STATUS_IGNORE));
  };
  exchange(10);  // not yet
  OK(MPI_T_pvar_start(mine.session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_Barrier(comm));
  std::vector<unsigned long> sent(size), received(size), sent_before(size);
  OK(MPI_T_pvar_read(mine.session, out, sent_before.data()));
  const unsigned long matched_before = number(matched), ways = number(shared) + number(over_ucx);
  const unsigned long all_messages = number(messages) + number(ucx_messages), begun_before = number(begun);
  for (const int bytes : {1, 10, 3000, 100'000}) exchange(bytes);
  OK(MPI_T_pvar_read(mine.session, out, sent.data()));
  OK(MPI_T_pvar_read(mine.session, in, received.data()));
  const bool others = program.size() > 1;  // a message to oneself goes no way
  for (size_t r = 0; r < size; ++r) {
    CHECK_EQ(sent[r] - sent_before[r], others && r == next ? 103'011u : 0u);
    // The neighbour may be ahead: what has come counts from the start on, with the barrier's own messages.
    const bool from_there = others && r == before;
    CHECK(received[r] >= (from_there ? 103'011u : 0u) && received[r] <= (from_there ? 103'011u : 0u) + 1000u);
  }
  CHECK_EQ(number(shared) + number(over_ucx) - ways, others ? 103'011u : 0u);
  CHECK_EQ(number(messages) + number(ucx_messages) - all_messages, others ? 4u : 0u);
  if (others) CHECK_EQ(number(matched) - matched_before, 4u);
  CHECK_EQ(number(begun), begun_before);
  MPI_Request request;
  OK(MPI_Ibarrier(comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(number(begun) > begun_before);
  double seconds = 0, sum = 0;
  std::vector<double> by_function(functions);
  OK(MPI_T_pvar_stop(mine.session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_read(mine.session, time, &seconds));
  OK(MPI_T_pvar_read(mine.session, times, by_function.data()));
  for (const double each : by_function) sum += each;
  const char* level = std::getenv("TUTTI_CONTRACT_CHECK");
  if (!level || std::string(level) != "off") CHECK(seconds > 0 && sum > 0);
  CHECK(seconds < 100 && std::abs(seconds - sum) <= 0.01 * seconds + 1e-3);
  const unsigned long at_end = number(matched);
  exchange(10);  // no more
  CHECK_EQ(number(matched), at_end);
}

// What is kept of objects and collectives that are over, and what lies in shared rings.
void memory(const check::Program& program) {
  const Session mine;
  int count;
  const auto level = [&](const char* name, int variable_class = MPI_T_PVAR_CLASS_LEVEL) {
    MPI_T_pvar_handle handle;
    unsigned long value = 0;
    OK(MPI_T_pvar_handle_alloc(mine.session, pvar(name, variable_class), nullptr, &handle, &count));
    OK(MPI_T_pvar_read(mine.session, handle, &value));
    OK(MPI_T_pvar_handle_free(mine.session, &handle));
    return value;
  };

  constexpr int kMany = 300;
  int data[kMany] = {}, sent[kMany];
  std::vector<MPI_Request> requests(kMany);
  unsigned long before = 0, meanwhile = 0;
  for (int round = 0; round < 2; ++round) {  // the first one fills what is kept
    before = level("memory.idle_objects");
    for (int i = 0; i < kMany; ++i) {
      sent[i] = 3 * i;
      OK(MPI_Irecv(&data[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[static_cast<size_t>(i)]));
    }
    meanwhile = level("memory.idle_objects");
    for (int i = 0; i < kMany; ++i) OK(MPI_Send(&sent[i], 1, MPI_INT, 0, i, MPI_COMM_SELF));
    OK(MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < kMany; ++i) CHECK_EQ(data[i], 3 * i);
  }
#ifdef __SANITIZE_ADDRESS__
  CHECK_EQ(before + meanwhile + level("memory.idle_objects"), 0u);  // each object goes to the allocator
#else
  const char* check_level = std::getenv("TUTTI_CONTRACT_CHECK");
  if (!check_level || std::string(check_level) != "strict") {  // which keeps requests in its books
    CHECK(before >= meanwhile + kMany * sizeof(void*));
    CHECK(level("memory.idle_objects") >= meanwhile + kMany * sizeof(void*));
  }
#endif

  std::vector<int> in(1000, 1), sum(1000);
  OK(MPI_Allreduce(in.data(), sum.data(), 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum[999], program.size());
  if (program.size() > 1) CHECK(level("memory.collectives") > 0);
  CHECK(level("memory.collectives") <= 16u << 20);

  CHECK(level("memory.large_rings_lent") <= 16);
  constexpr int kTimes = 5;
  int value = 0;
  unsigned long most = 0;
  if (program.rank() == 0 && program.size() > 1) {
    for (int i = 0; i < kTimes; ++i) {
      OK(MPI_Send(&i, 1, MPI_INT, 1, 5, MPI_COMM_WORLD));
      const unsigned long unread = level("memory.rings_unread");
      CHECK(unread <= level("memory.rings"));
      most = std::max(most, unread);
    }
    // Readers tell of what they have read once in a quarter of a ring, or with what they send.
    const bool is_shared =
        level("transport.shared_memory_used", MPI_T_PVAR_CLASS_SIZE) == 1 &&
        level("process.ranks_on_node", MPI_T_PVAR_CLASS_SIZE) == static_cast<unsigned long>(program.size());
    if (is_shared) CHECK(most > 0 && level("memory.rings") > 0);
  }
  if (program.size() == 1) CHECK_EQ(level("memory.rings") + level("memory.rings_unread"), 0u);
  if (program.rank() == 1)
    for (int i = 0; i < kTimes; ++i) {
      OK(MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ(value, i);
    }
}

// Each variable is in exactly one category, and all categories hang on the first.
void categories() {
  int count = 0, number = 0, stamp = -1;
  OK(MPI_T_category_get_num(&count));
  OK(MPI_T_category_changed(&stamp));
  std::multiset<int> cvars, pvars, events, below;
  for (int i = 0; i < count; ++i) {
    char name[100], desc[300];
    int name_len = sizeof name, desc_len = sizeof desc, n_cvars, n_pvars, n_categories, n_events, index = -1;
    OK(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &n_cvars, &n_pvars, &n_categories));
    OK(MPI_T_category_get_num_events(i, &n_events));
    OK(MPI_T_category_get_index(name, &index));
    CHECK_EQ(index, i);
    const auto add = [&](std::multiset<int>& to, int n, int (*get)(int, int, int[])) {
      std::vector<int> members(static_cast<size_t>(n) + 1, -1);
      OK(get(i, n, members.data()));
      CHECK_EQ(members.back(), -1);
      to.insert(members.begin(), members.end() - 1);
    };
    add(cvars, n_cvars, MPI_T_category_get_cvars);
    add(pvars, n_pvars, MPI_T_category_get_pvars);
    add(events, n_events, MPI_T_category_get_events);
    add(below, n_categories, MPI_T_category_get_categories);
  }
  const auto each_once = [&](const std::multiset<int>& members, int first, int last) {
    CHECK_EQ(static_cast<int>(members.size()), last - first);
    for (int i = first; i < last; ++i) CHECK_EQ(members.count(i), 1u);
  };
  OK(MPI_T_cvar_get_num(&number));
  each_once(cvars, 0, number);
  OK(MPI_T_pvar_get_num(&number));
  each_once(pvars, 0, number);
  OK(MPI_T_event_get_num(&number));
  each_once(events, 0, number);
  each_once(below, 1, count);
  REFUSED(MPI_T_category_get_index("nowhere", &number), MPI_T_ERR_INVALID_NAME);
  REFUSED(MPI_T_category_get_num_events(count, &number), MPI_T_ERR_INVALID_INDEX);
}

void changed_while_running() {
  const Control level("log.level");
  int value = -1;
  OK(MPI_T_cvar_read(level.handle, &value));
  int other = value == 0 ? 1 : 0;
  OK(MPI_T_cvar_write(level.handle, &other));
  OK(MPI_T_cvar_read(level.handle, &other));
  CHECK_EQ(other, value == 0 ? 1 : 0);
  OK(MPI_T_cvar_write(level.handle, &value));

  // Communicators that are made from now on go by these rules.
  const Control rules("collectives.override");
  std::vector<char> text(static_cast<size_t>(rules.count));
  CHECK(rules.type == MPI_CHAR);
  std::strcpy(text.data(), "allreduce ring");
  OK(MPI_T_cvar_write(rules.handle, text.data()));
  MPI_Comm twin;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
  int one = 1, sum = 0, size = 0;
  MPI_Comm_size(twin, &size);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, twin));
  CHECK_EQ(sum, size);
  OK(MPI_Comm_free(&twin));
  std::strcpy(text.data(), "allreduce nonsense_of_ours");
  REFUSED(MPI_T_cvar_write(rules.handle, text.data()), MPI_T_ERR_INVALID);
  std::fill(text.begin(), text.end(), '\0');
  OK(MPI_T_cvar_write(rules.handle, text.data()));

  const Control spins("wait.spins");
  MPI_Count count = 0;
  OK(MPI_T_cvar_read(spins.handle, &count));
  CHECK_EQ(count, 123);
  REFUSED(MPI_T_cvar_write(spins.handle, &count), MPI_T_ERR_CVAR_SET_NEVER);
}

}  // namespace

int main(int argc, char** argv) {
  int number = 0, provided = -1;
  REFUSED(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  REFUSED(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
  OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_finalize());
  each_control_variable(true);
  texts();
  categories();
  set_before_init();
  {
    const Session session;
    MPI_T_pvar_handle handle;
    MPI_Comm comm = MPI_COMM_WORLD;
    REFUSED(MPI_T_pvar_handle_alloc(session.session, pvar("messages.sent", MPI_T_PVAR_CLASS_COUNTER), &comm, &handle,
                                    &number),
            MPI_T_ERR_NOT_ACCESSIBLE);
    OK(MPI_T_pvar_handle_alloc(session.session, pvar("progress.completed", MPI_T_PVAR_CLASS_COUNTER), nullptr, &handle,
                               &number));
    unsigned long value = 99;
    OK(MPI_T_pvar_start(session.session, handle));
    OK(MPI_T_pvar_read(session.session, handle, &value));
    CHECK_EQ(value, 0u);
  }
  {
    const check::Program program(&argc, &argv);
    each_control_variable(false);
    each_performance_variable();
    counted(program);
    counted_on_demand(program);
    memory(program);
    changed_while_running();
    categories();
  }
  each_control_variable(false);
  OK(MPI_T_finalize());
  REFUSED(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
}
