// SPDX-License-Identifier: BSD-3-Clause
// Events of the tool information interface (the standard, section 15.3.8): each message and each collective is
// told once, with what it was and when; what no callback is safe for is told to the handler of dropped events.
#include "check.hpp"

namespace {

struct Told {
  int source, tag;
  MPI_Count bytes, time;
};
std::vector<Told> matched, unexpected;
int begun = 0, ended = 0, freed = 0;
MPI_Count dropped = 0;

void message(MPI_T_event_instance event, MPI_T_event_registration, MPI_T_cb_safety, void* list) {
  Told told{};
  struct {
    int source, tag;
    MPI_Count bytes, context;
  } copy;
  int source = -1;
  if (MPI_T_event_read(event, 0, &told.source) || MPI_T_event_read(event, 1, &told.tag) ||
      MPI_T_event_read(event, 2, &told.bytes) || MPI_T_event_get_timestamp(event, &told.time) ||
      MPI_T_event_get_source(event, &source) || MPI_T_event_copy(event, &copy))
    std::abort();
  if (source != 0 || copy.source != told.source || copy.tag != told.tag || copy.bytes != told.bytes) std::abort();
  if (MPI_T_event_read(event, 4, &told.source) != MPI_T_ERR_INVALID_INDEX) std::abort();
  static_cast<std::vector<Told>*>(list)->push_back(told);
}
void count(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void* number) {
  ++*static_cast<int*>(number);
}
void told_dropped(MPI_Count events, MPI_T_event_registration, int, MPI_T_cb_safety, void*) {
  dropped += events;
}
void told_freed(MPI_T_event_registration, MPI_T_cb_safety, void* number) {
  ++*static_cast<int*>(number);
}

MPI_T_event_registration listen(const char* name, MPI_T_event_cb_function callback, void* data,
                                MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_THREAD_SAFE) {
  int index = -1;
  OK(MPI_T_event_get_index(name, &index));
  MPI_T_event_registration made;
  OK(MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &made));
  OK(MPI_T_event_register_callback(made, safety, MPI_INFO_NULL, data, callback));
  return made;
}

void information() {
  int number = 0;
  OK(MPI_T_event_get_num(&number));
  CHECK_EQ(number, 8);
  for (int i = 0; i < number; ++i) {
    char name[100], desc[200];
    int name_len = sizeof name, desc_len = sizeof desc, verbosity, elements = 8, bind, index = -1;
    MPI_Datatype types[8];
    MPI_Aint places[8];
    MPI_T_enum names;
    MPI_Info info;
    OK(MPI_T_event_get_info(i, name, &name_len, &verbosity, types, places, &elements, &names, &info, desc, &desc_len,
                            &bind));
    CHECK_EQ(elements, 4);
    CHECK_EQ(bind, i < 4 ? int{MPI_T_BIND_NO_OBJECT} : int{MPI_T_BIND_MPI_COMM});
    CHECK(types[0] == MPI_INT && types[2] == MPI_COUNT && places[1] == 4 && places[2] == 8);
    OK(MPI_Info_free(&info));
    OK(MPI_T_event_get_index(name, &index));
    CHECK_EQ(index, i);
  }
  CHECK_EQ(MPI_T_event_get_index("nothing", &number), MPI_T_ERR_INVALID_NAME);
  OK(MPI_T_source_get_num(&number));
  CHECK_EQ(number, 1);
  MPI_T_source_order order;
  MPI_Count ticks, most, first, second;
  OK(MPI_T_source_get_info(0, nullptr, nullptr, nullptr, nullptr, &order, &ticks, &most, nullptr));
  CHECK(order == MPI_T_SOURCE_ORDERED && ticks > 0 && most > 0);
  OK(MPI_T_source_get_timestamp(0, &first));
  OK(MPI_T_source_get_timestamp(0, &second));
  CHECK(second >= first);
  CHECK_EQ(MPI_T_source_get_timestamp(1, &first), MPI_T_ERR_INVALID_INDEX);
}

// What is bound to a communicator hears of that one alone.
void bound(const check::Program& program) {
  const int next = (program.rank() + 1) % program.size(),
            before = (program.rank() + program.size() - 1) % program.size();
  MPI_Comm twin;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
  std::vector<Told> of_twin;
  int begun_there = 0, ended_there = 0, index = -1;
  const auto listen_to = [&](const char* name, MPI_T_event_cb_function callback, void* data) {
    MPI_T_event_registration made;
    OK(MPI_T_event_get_index(name, &index));
    OK(MPI_T_event_handle_alloc(index, &twin, MPI_INFO_NULL, &made));
    OK(MPI_T_event_register_callback(made, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, data, callback));
    return made;
  };
  MPI_T_event_registration all[] = {listen_to("messages.matched_of_comm", message, &of_twin),
                                    listen_to("collectives.begun_of_comm", count, &begun_there),
                                    listen_to("collectives.ended_of_comm", count, &ended_there)};
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int tag = 0; tag < 6; ++tag) {
    int out = tag, in = -1;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, next, tag, &in, 1, MPI_INT, before, tag, tag % 3 ? MPI_COMM_WORLD : twin,
                    MPI_STATUS_IGNORE));
    CHECK_EQ(in, tag);
  }
  OK(MPI_Barrier(twin));
  CHECK_EQ(begun_there, 1);
  CHECK_EQ(ended_there, 1);
  if (program.size() > 1) {
    CHECK_EQ(of_twin.size(), 2u);
    for (size_t i = 0; i < of_twin.size(); ++i) CHECK_EQ(of_twin[i].tag, static_cast<int>(3 * i));
  }
  MPI_T_event_registration none;
  MPI_Comm null = MPI_COMM_NULL;
  CHECK(MPI_T_event_handle_alloc(index, &null, MPI_INFO_NULL, &none) != MPI_SUCCESS);
  for (MPI_T_event_registration r : all) OK(MPI_T_event_handle_free(r, nullptr, nullptr));
  OK(MPI_Comm_free(&twin));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program program(&argc, &argv);
  int provided;
  OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  information();
  bound(program);
  const int next = (program.rank() + 1) % program.size(),
            before = (program.rank() + program.size() - 1) % program.size();
  MPI_T_event_registration all[] = {
      listen("messages.matched", message, &matched), listen("messages.unexpected", message, &unexpected),
      listen("collectives.begun", count, &begun), listen("collectives.ended", count, &ended)};
  OK(MPI_T_event_set_dropped_handler(all[0], told_dropped));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Count start, end;
  OK(MPI_T_source_get_timestamp(0, &start));
  for (int i = 0; i < 10; ++i) {
    std::vector<char> out(static_cast<size_t>(1 + 1000 * i * i)), in(out.size());
    OK(MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_CHAR, next, i, in.data(), static_cast<int>(in.size()),
                    MPI_CHAR, before, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  OK(MPI_T_source_get_timestamp(0, &end));
  if (program.size() > 1) {
    CHECK_EQ(matched.size() + static_cast<size_t>(dropped), 10u);
    CHECK_EQ(dropped, 0);
    for (size_t i = 0; i < 10; ++i) {
      CHECK_EQ(matched[i].source, before);
      CHECK_EQ(matched[i].tag, static_cast<int>(i));
      CHECK_EQ(matched[i].bytes, static_cast<MPI_Count>(1 + 1000 * i * i));
      CHECK(matched[i].time >= start && matched[i].time <= end);
      if (i > 0) CHECK(matched[i].time >= matched[i - 1].time);
    }
    CHECK(unexpected.size() <= 10);
  }
  const int begun_before = begun;
  CHECK_EQ(begun, ended);
  int one = 1, sum;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  MPI_Request request;
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(begun, begun_before + 2);
  CHECK_EQ(ended, begun_before + 2);

  // A callback that needs all of MPI is not called while the engine is at work.
  std::vector<Told> never;
  MPI_T_event_registration strict = listen("messages.unexpected", message, &never, MPI_T_CB_REQUIRE_NONE);
  int data = 0, got = 0, flag = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Request sent;
  OK(MPI_Isend(&data, 1, MPI_INT, next, 20, MPI_COMM_WORLD, &sent));
  while (!flag) OK(MPI_Iprobe(before, 20, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&got, 1, MPI_INT, before, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  CHECK(never.empty());
  OK(MPI_T_event_set_dropped_handler(strict, told_dropped));
  MPI_Info info;
  OK(MPI_T_event_handle_get_info(strict, &info));
  OK(MPI_Info_free(&info));
  OK(MPI_T_event_register_callback(strict, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &never, message));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Isend(&data, 1, MPI_INT, next, 21, MPI_COMM_WORLD, &sent));
  for (flag = 0; !flag;) OK(MPI_Iprobe(before, 21, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&got, 1, MPI_INT, before, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  if (program.size() > 1) {
    CHECK_EQ(never.size(), 1u);
    CHECK_EQ(dropped, 1);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));  // before which nobody sends more
  OK(MPI_T_event_handle_free(strict, &freed, told_freed));
  for (MPI_T_event_registration r : all) OK(MPI_T_event_handle_free(r, &freed, told_freed));
  CHECK_EQ(freed, 5);
  const size_t heard = matched.size();
  OK(MPI_Sendrecv(&one, 1, MPI_INT, next, 0, &sum, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(matched.size(), heard);
  CHECK_EQ(MPI_T_event_handle_free(strict, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_finalize());
}
