// SPDX-License-Identifier: BSD-3-Clause
// A loop that makes and frees objects of a kind takes no more memory the longer it runs: what is
// kept of objects that are gone (plans, ledgers, handles under --check=strict) has a bound. One
// kind after the other: so many that every bound is reached, then so many again, between which the
// memory in use, the resident size, descriptors, mappings and files of the process must not grow. The first argument
// is their number, 100000 for a long run; the second one names a kind, if not all are meant.
// TUTTI_ONLY: glibc's account of the memory in use, in the process of the library.
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "check.hpp"

namespace {

constexpr int kBound = 4'500;  // no more objects of a kind than this are kept, but where one says so
// What is allowed to grow by the end, whatever the number: far less than the smallest object each.
constexpr long kSlack = 64 << 10;
// Of the resident size, which comes in pages, and whose free parts the heap keeps: some bytes each of 100,000.
constexpr long kResidentSlack = 3 << 20;

struct Taken {
  long memory = 0, resident = 0;
  int descriptors = 0, mappings = 0, files = 0;
};

int entries(const char* path, const char* prefix) {
  int count = 0;
  DIR* const folder = opendir(path);
  if (!folder) return 0;
  while (const dirent* entry = readdir(folder)) count += std::strncmp(entry->d_name, prefix, std::strlen(prefix)) == 0;
  closedir(folder);
  return count;
}

Taken taken() {
  Taken now;
  const struct mallinfo2 heap = mallinfo2();
  now.memory = static_cast<long>(heap.uordblks + heap.hblkhd);
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  now.resident = pages * sysconf(_SC_PAGESIZE);
  now.descriptors = entries("/proc/self/fd", "");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    ++now.mappings;
    now.files += line.find("/dev/shm/") != std::string::npos || line.find("memfd:") != std::string::npos;
  }
  return now;
}

int rank, size;
MPI_Comm all;  // of all ranks
MPI_Win win;   // on it
std::vector<int> data(4096), result(4096), counts, places;

// ---- the kinds

struct Kind {
  const char* name;
  std::function<void()> make;  // makes one and frees it
  int bound = kBound;
};

void finish(MPI_Request& request) {
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (request != MPI_REQUEST_NULL) OK(MPI_Request_free(&request));
}
void run(MPI_Request request) {  // a persistent one
  OK(MPI_Start(&request));
  finish(request);
}
void freed(MPI_Datatype type) {
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_free(&type));
}

std::vector<Kind> communicators() {
  const auto free = [](MPI_Comm comm) { OK(MPI_Comm_free(&comm)); };
  std::vector<Kind> kinds;
  kinds.push_back({"Comm_dup", [=] {
                     MPI_Comm c;
                     OK(MPI_Comm_dup(all, &c));
                     free(c);
                   }});
  kinds.push_back({"Comm_dup, used", [=] {
                     MPI_Comm c;
                     OK(MPI_Comm_dup(all, &c));
                     OK(MPI_Allreduce(data.data(), result.data(), 4, MPI_INT, MPI_SUM, c));
                     free(c);
                   }});
  kinds.push_back({"Comm_split", [=] {
                     MPI_Comm c;
                     OK(MPI_Comm_split(all, rank % 2, 0, &c));
                     free(c);
                   }});
  kinds.push_back({"Comm_split_type", [=] {
                     MPI_Comm c;
                     OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c));
                     free(c);
                   }});
  kinds.push_back({"Comm_idup", [=] {
                     MPI_Comm c;
                     MPI_Request request;
                     OK(MPI_Comm_idup(all, &c, &request));
                     finish(request);
                     free(c);
                   }});
  kinds.push_back({"Comm_create", [=] {
                     MPI_Comm c;
                     MPI_Group group;
                     OK(MPI_Comm_group(all, &group));
                     OK(MPI_Comm_create(all, group, &c));
                     OK(MPI_Group_free(&group));
                     free(c);
                   }});
  kinds.push_back({"Comm_create_group", [=] {
                     MPI_Comm c;
                     MPI_Group group;
                     OK(MPI_Comm_group(all, &group));
                     OK(MPI_Comm_create_group(all, group, 3, &c));
                     OK(MPI_Group_free(&group));
                     free(c);
                   }});
  kinds.push_back({"Comm_dup of MPI_COMM_SELF, named", [=] {
                     MPI_Comm c;
                     OK(MPI_Comm_dup(MPI_COMM_SELF, &c));
                     OK(MPI_Comm_set_name(c, "a name that is too long to lie within the string that holds it"));
                     OK(MPI_Comm_disconnect(&c));
                   }});
  return kinds;
}

std::vector<Kind> windows() {
  std::vector<Kind> kinds;
  const auto used = [](MPI_Win made, bool has_memory) {
    OK(MPI_Win_fence(0, made));
    if (has_memory) OK(MPI_Put(data.data(), 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, made));
    OK(MPI_Win_fence(0, made));
    OK(MPI_Win_free(&made));
  };
  kinds.push_back({"Win_create", [=] {
                     MPI_Win made;
                     OK(MPI_Win_create(result.data(), 64, 1, MPI_INFO_NULL, all, &made));
                     used(made, true);
                   }});
  kinds.push_back({"Win_allocate", [=] {
                     MPI_Win made;
                     int* base;
                     OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, all, &base, &made));
                     used(made, true);
                   }});
  kinds.push_back({"Win_allocate_shared", [=] {
                     MPI_Win made;
                     int* base;
                     OK(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, all, &base, &made));
                     used(made, true);
                   }});
  kinds.push_back({"Win_create_dynamic", [=] {
                     MPI_Win made;
                     OK(MPI_Win_create_dynamic(MPI_INFO_NULL, all, &made));
                     OK(MPI_Win_attach(made, result.data(), 64));
                     used(made, false);
                   }});
  kinds.push_back({"Win_create of MPI_COMM_SELF, locked", [=] {
                     MPI_Win made;
                     OK(MPI_Win_create(result.data(), 64, 1, MPI_INFO_NULL, MPI_COMM_SELF, &made));
                     OK(MPI_Win_set_name(made, "a name that is too long to lie within the string that holds it"));
                     OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, made));
                     OK(MPI_Accumulate(data.data(), 4, MPI_INT, 0, 0, 4, MPI_INT, MPI_SUM, made));
                     OK(MPI_Win_unlock(0, made));
                     OK(MPI_Win_free(&made));
                   }});
  return kinds;
}

std::vector<Kind> types() {
  std::vector<Kind> kinds;
  const auto add = [&](const char* name, std::function<void(MPI_Datatype*)> make) {
    kinds.push_back({name, [=] {
                       MPI_Datatype type;
                       make(&type);
                       freed(type);
                     }});
  };
  static const int lengths[] = {1, 2}, at[] = {0, 5};
  static const MPI_Aint bytes[] = {0, 24};
  static const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
  add("Type_contiguous", [](MPI_Datatype* t) { OK(MPI_Type_contiguous(5, MPI_INT, t)); });
  add("Type_vector", [](MPI_Datatype* t) { OK(MPI_Type_vector(5, 2, 3, MPI_INT, t)); });
  add("Type_create_hvector", [](MPI_Datatype* t) { OK(MPI_Type_create_hvector(5, 2, 20, MPI_INT, t)); });
  add("Type_indexed", [](MPI_Datatype* t) { OK(MPI_Type_indexed(2, lengths, at, MPI_INT, t)); });
  add("Type_create_hindexed", [](MPI_Datatype* t) { OK(MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, t)); });
  add("Type_create_indexed_block", [](MPI_Datatype* t) { OK(MPI_Type_create_indexed_block(2, 2, at, MPI_INT, t)); });
  add("Type_create_hindexed_block",
      [](MPI_Datatype* t) { OK(MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, t)); });
  add("Type_create_struct", [](MPI_Datatype* t) { OK(MPI_Type_create_struct(2, lengths, bytes, members, t)); });
  add("Type_create_resized", [](MPI_Datatype* t) { OK(MPI_Type_create_resized(MPI_INT, 0, 16, t)); });
  add("Type_create_subarray", [](MPI_Datatype* t) {
    const int sizes[] = {8, 8}, parts[] = {2, 2}, starts[] = {1, 1};
    OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, t));
  });
  add("Type_create_darray", [](MPI_Datatype* t) {
    const int sizes[] = {8, 8}, how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    OK(MPI_Type_create_darray(2, 0, 2, sizes, how, arguments, grid, MPI_ORDER_C, MPI_INT, t));
  });
  add("Type_dup, named", [](MPI_Datatype* t) {
    OK(MPI_Type_dup(MPI_INT, t));
    OK(MPI_Type_set_name(*t, "a name that is too long to lie within the string that holds it"));
  });
  add("Type of types, used, its contents taken apart", [](MPI_Datatype* t) {
    MPI_Datatype inner, part;
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &inner));
    OK(MPI_Type_contiguous(2, inner, t));
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_commit(t));
    int count;
    MPI_Aint none;
    OK(MPI_Type_get_contents(*t, 1, 0, 1, &count, &none, &part));
    OK(MPI_Type_free(&part));
    OK(MPI_Sendrecv(data.data(), 1, *t, (rank + 1) % size, 0, result.data(), 1, *t, (rank + size - 1) % size, 0, all,
                    MPI_STATUS_IGNORE));
    OK(MPI_Bcast(data.data(), 1, *t, 0, all));
  });
  return kinds;
}

void add_ints(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}
int copy_fn(MPI_Comm, int, void*, void* value, void* out, int* flag) {
  *static_cast<void**>(out) = value;
  *flag = 1;
  return MPI_SUCCESS;
}
void handler(MPI_Comm*, int*, ...) {}
void win_handler(MPI_Win*, int*, ...) {}

std::vector<Kind> small_objects() {
  std::vector<Kind> kinds;
  kinds.push_back({"Op_create", [] {
                     MPI_Op op;
                     OK(MPI_Op_create(add_ints, 1, &op));
                     OK(MPI_Allreduce(data.data(), result.data(), 4, MPI_INT, op, all));
                     OK(MPI_Op_free(&op));
                   }});
  kinds.push_back({"Group", [] {
                     MPI_Group whole, part, both;
                     const int first = 0;
                     OK(MPI_Comm_group(all, &whole));
                     OK(MPI_Group_incl(whole, 1, &first, &part));
                     OK(MPI_Group_union(part, whole, &both));
                     for (MPI_Group* g : {&whole, &part, &both}) OK(MPI_Group_free(g));
                   }});
  kinds.push_back(
      {"Info", [] {
         MPI_Info info, copy;
         OK(MPI_Info_create(&info));
         OK(MPI_Info_set(info, "a key of some length, so that", "it and its value lie in memory of their own"));
         OK(MPI_Info_dup(info, &copy));
         OK(MPI_Info_free(&info));
         OK(MPI_Info_free(&copy));
       }});
  kinds.push_back({"Errhandler", [] {
                     MPI_Errhandler made, before;
                     OK(MPI_Comm_get_errhandler(all, &before));
                     OK(MPI_Comm_create_errhandler(handler, &made));
                     OK(MPI_Comm_set_errhandler(all, made));
                     OK(MPI_Errhandler_free(&made));
                     OK(MPI_Comm_set_errhandler(all, before));
                     OK(MPI_Errhandler_free(&before));
                     OK(MPI_Win_create_errhandler(win_handler, &made));
                     OK(MPI_Errhandler_free(&made));
                   }});
  kinds.push_back({"keys and attributes", [] {
                     int of_comm, of_type;
                     MPI_Comm copy;
                     MPI_Datatype type;
                     OK(MPI_Comm_create_keyval(copy_fn, MPI_COMM_NULL_DELETE_FN, &of_comm, nullptr));
                     OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &of_type, nullptr));
                     OK(MPI_Comm_set_attr(all, of_comm, &data));
                     OK(MPI_Comm_dup(all, &copy));
                     OK(MPI_Comm_delete_attr(all, of_comm));
                     OK(MPI_Comm_free(&copy));
                     OK(MPI_Type_contiguous(2, MPI_INT, &type));
                     OK(MPI_Type_set_attr(type, of_type, &data));
                     OK(MPI_Type_free(&type));
                     OK(MPI_Comm_free_keyval(&of_comm));
                     OK(MPI_Type_free_keyval(&of_type));
                   }});
  kinds.push_back(
      {"names", [] {
         static int n = 0;
         OK(MPI_Comm_set_name(all, ("a name of a communicator, which is long: " + std::to_string(n++)).c_str()));
       }});
  kinds.push_back({"errors", [] { FAILS(MPI_Send(data.data(), -1, MPI_INT, 0, 0, all), MPI_ERR_COUNT); }});
  kinds.push_back({"Alloc_mem", [] {
                     void* memory;
                     OK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory));
                     OK(MPI_Free_mem(memory));
                   }});
  return kinds;
}

std::vector<Kind> messages() {
  std::vector<Kind> kinds;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  const auto add = [&](const char* name, Send send, int n, int source, int tag) {
    kinds.push_back({name, [=] {
                       MPI_Request requests[2];
                       OK(MPI_Irecv(result.data(), n, MPI_INT, source, tag, all, &requests[0]));
                       OK(send(data.data(), n, MPI_INT, next, 5, all, &requests[1]));
                       OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
                     }});
  };
  add("Isend and Irecv", MPI_Isend, 1, before, 5);
  add("Isend and Irecv, 16 KiB", MPI_Isend, 4096, before, 5);
  add("Issend and Irecv", MPI_Issend, 1, before, 5);
  add("Isend and Irecv by wildcards", MPI_Isend, 1, MPI_ANY_SOURCE, MPI_ANY_TAG);
  kinds.push_back({"messages that come early, probed", [=] {
                     MPI_Status status;
                     MPI_Message message;
                     MPI_Request request;
                     OK(MPI_Isend(data.data(), 40, MPI_INT, next, 6, all, &request));
                     OK(MPI_Mprobe(before, 6, all, &message, &status));
                     OK(MPI_Mrecv(result.data(), 40, MPI_INT, &message, &status));
                     finish(request);
                   }});
  kinds.push_back({"many tags",
                   [=] {
                     static int tag = 0;
                     tag = (tag + 1) % 30'000;
                     OK(MPI_Sendrecv(data.data(), 1, MPI_INT, next, tag, result.data(), 1, MPI_INT, before, tag, all,
                                     MPI_STATUS_IGNORE));
                   },
                   20'000});
  kinds.push_back({"cancelled receives", [=] {
                     MPI_Request request;
                     OK(MPI_Irecv(result.data(), 1, MPI_INT, before, 99, all, &request));
                     OK(MPI_Cancel(&request));
                     finish(request);
                   }});
  kinds.push_back({"Bsend", [=] {
                     static std::vector<char> buffer(1 << 16);
                     OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
                     OK(MPI_Bsend(data.data(), 40, MPI_INT, next, 7, all));
                     OK(MPI_Recv(result.data(), 40, MPI_INT, before, 7, all, MPI_STATUS_IGNORE));
                     void* at;
                     int bytes;
                     OK(MPI_Buffer_detach(&at, &bytes));
                   }});
  kinds.push_back({"Isendrecv_replace", [=] {
                     MPI_Request request;
                     OK(MPI_Isendrecv_replace(data.data(), 40, MPI_INT, next, 8, before, 8, all, &request));
                     finish(request);
                   }});
  kinds.push_back({"Send_init and Recv_init", [=] {
                     MPI_Request requests[2];
                     OK(MPI_Recv_init(result.data(), 1, MPI_INT, before, 9, all, &requests[0]));
                     OK(MPI_Send_init(data.data(), 1, MPI_INT, next, 9, all, &requests[1]));
                     OK(MPI_Startall(2, requests));
                     OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
                     for (MPI_Request& r : requests) OK(MPI_Request_free(&r));
                   }});
  kinds.push_back(
      {"Psend_init and Precv_init", [=] {
         MPI_Request both[2];
         OK(MPI_Psend_init(data.data(), 2, 1, MPI_INT, check::world_rank, 1, all, MPI_INFO_NULL, &both[0]));
         OK(MPI_Precv_init(data.data() + 8, 2, 1, MPI_INT, check::world_rank, 1, all, MPI_INFO_NULL, &both[1]));
         OK(MPI_Startall(2, both));
         OK(MPI_Pready_range(0, 1, both[0]));
         OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
         OK(MPI_Request_free(&both[0]));
         OK(MPI_Request_free(&both[1]));
       }});
  kinds.push_back({"Grequest_start", [=] {
                     MPI_Request request;
                     OK(MPI_Grequest_start([](void*, MPI_Status*) -> int { return MPI_SUCCESS; },
                                           [](void*) -> int { return MPI_SUCCESS; },
                                           [](void*, int) -> int { return MPI_SUCCESS; }, nullptr, &request));
                     OK(MPI_Grequest_complete(request));
                     OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                   }});
  kinds.push_back({"Ssend_init, Bsend_init, Rsend_init, never started", [=] {
                     MPI_Request r;
                     OK(MPI_Ssend_init(data.data(), 1, MPI_INT, next, 9, all, &r));
                     OK(MPI_Request_free(&r));
                     OK(MPI_Bsend_init(data.data(), 1, MPI_INT, next, 9, all, &r));
                     OK(MPI_Request_free(&r));
                     OK(MPI_Rsend_init(data.data(), 1, MPI_INT, next, 9, all, &r));
                     OK(MPI_Request_free(&r));
                   }});
  kinds.push_back({"Rput, Rget, Raccumulate", [=] {
                     static int got[64];
                     MPI_Request requests[3];
                     OK(MPI_Rput(data.data(), 4, MPI_INT, next, 0, 4, MPI_INT, win, &requests[0]));
                     OK(MPI_Rget(got, 4, MPI_INT, next, 64, 4, MPI_INT, win, &requests[1]));
                     OK(MPI_Raccumulate(data.data(), 4, MPI_INT, next, 128, 4, MPI_INT, MPI_SUM, win, &requests[2]));
                     OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
                     OK(MPI_Win_flush(next, win));
                   }});
  return kinds;
}

// Each collective by its three forms; lengths that change from call to call have plans of their
// own.
std::vector<Kind> collectives() {
  std::vector<Kind> kinds;
  int* const in = data.data();
  int* const out = result.data();
  const int* const c = counts.data();
  const int* const p = places.data();
  static std::vector<MPI_Datatype> types(static_cast<size_t>(size), MPI_INT);
  const MPI_Datatype* const t = types.data();
#define BOTH(name, init, ...)                               \
  kinds.push_back({"MPI_I" name, [=] {                      \
                     MPI_Request r;                         \
                     OK(MPI_I##init(__VA_ARGS__, all, &r)); \
                     finish(r);                             \
                   }})
#define PERSISTENT(name, ...)                                             \
  kinds.push_back({"MPI_" #name, [=] {                                    \
                     MPI_Request r;                                       \
                     OK(MPI_##name(__VA_ARGS__, all, MPI_INFO_NULL, &r)); \
                     run(r);                                              \
                   }})
  kinds.push_back({"MPI_Barrier_init", [=] {
                     MPI_Request r;
                     OK(MPI_Barrier_init(all, MPI_INFO_NULL, &r));
                     run(r);
                   }});
  kinds.push_back({"MPI_Barrier_init, never started", [=] {
                     MPI_Request r;
                     OK(MPI_Barrier_init(all, MPI_INFO_NULL, &r));
                     OK(MPI_Request_free(&r));
                   }});
  PERSISTENT(Bcast_init, in, 4, MPI_INT, 0);
  PERSISTENT(Gather_init, in, 4, MPI_INT, out, 4, MPI_INT, 0);
  PERSISTENT(Gatherv_init, in, c[rank], MPI_INT, out, c, p, MPI_INT, 0);
  PERSISTENT(Scatter_init, in, 4, MPI_INT, out, 4, MPI_INT, 0);
  PERSISTENT(Scatterv_init, in, c, p, MPI_INT, out, c[rank], MPI_INT, 0);
  PERSISTENT(Allgather_init, in, 4, MPI_INT, out, 4, MPI_INT);
  PERSISTENT(Allgatherv_init, in, c[rank], MPI_INT, out, c, p, MPI_INT);
  PERSISTENT(Alltoall_init, in, 4, MPI_INT, out, 4, MPI_INT);
  PERSISTENT(Alltoallv_init, in, c, p, MPI_INT, out, c, p, MPI_INT);
  PERSISTENT(Alltoallw_init, in, c, p, t, out, c, p, t);
  PERSISTENT(Reduce_init, in, out, 4, MPI_INT, MPI_SUM, 0);
  PERSISTENT(Allreduce_init, in, out, 4, MPI_INT, MPI_SUM);
  PERSISTENT(Reduce_scatter_init, in, out, c, MPI_INT, MPI_SUM);
  PERSISTENT(Reduce_scatter_block_init, in, out, 4, MPI_INT, MPI_SUM);
  PERSISTENT(Scan_init, in, out, 4, MPI_INT, MPI_SUM);
  PERSISTENT(Exscan_init, in, out, 4, MPI_INT, MPI_SUM);
  BOTH("allreduce", allreduce, in, out, 4, MPI_INT, MPI_SUM);
  BOTH("alltoallv", alltoallv, in, c, p, MPI_INT, out, c, p, MPI_INT);
  BOTH("alltoallw", alltoallw, in, c, p, t, out, c, p, t);
  kinds.push_back({"MPI_Ibarrier", [=] {
                     MPI_Request r;
                     OK(MPI_Ibarrier(all, &r));
                     finish(r);
                   }});
  kinds.push_back({
      "collectives of ever other lengths",
      [=] {
        static int call = 0;
        const int length = call++ % 16'000 * 7'919 % 16'000 + 1;  // short and long by turns
        OK(MPI_Allreduce(in, out, length, MPI_BYTE, MPI_BOR, all));
        MPI_Request r;
        OK(MPI_Ibcast(in, length, MPI_BYTE, length % size, all, &r));
        finish(r);
      },
  });
  return kinds;
}

// The memory in use may be another thread's for a moment: the least of some looks.
Taken settled() {
  Taken least = taken();
  for (int look = 0; look < 5; ++look) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const Taken now = taken();
    least.memory = std::min(least.memory, now.memory);
    least.resident = std::min(least.resident, now.resident);
    least.descriptors = std::min(least.descriptors, now.descriptors);
    least.mappings = std::min(least.mappings, now.mappings);
    least.files = std::min(least.files, now.files);
  }
  return least;
}

// Ranks that run ahead have more messages under way: not ever more.
void repeat(const Kind& kind, int number) {
  for (int i = 0; i < number; ++i) {
    kind.make();
    if (i % 64 == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

void watch(const Kind& kind, int number) {
  // A heap in which blocks of many sizes come and go is cut into pieces that fit ever better: it takes pages long after
  // it has all that is in use at once, ever more slowly.
  repeat(kind, std::max(kind.bound, number / 4));
  const Taken before = settled();
  repeat(kind, number);
  const Taken after = settled();
  if (std::getenv("KEPT_SHOWN"))
    std::printf("%d: %-45s %8ld bytes in use, %8ld resident, %d mappings\n", rank, kind.name,
                after.memory - before.memory, after.resident - before.resident, after.mappings - before.mappings);
  if (after.memory - before.memory > kSlack)
    check::fail(__FILE__, __LINE__,
                std::string(kind.name) + ": " + std::to_string(number) + " more took " +
                    std::to_string(after.memory - before.memory) + " bytes, and give none back");
  if (after.resident - before.resident > kResidentSlack)
    check::fail(__FILE__, __LINE__,
                std::string(kind.name) + ": with " + std::to_string(number) + " more the resident size grows by " +
                    std::to_string(after.resident - before.resident) + " bytes");
  CHECK_EQ_IN(after.files, before.files, "%s", kind.name);
  // The heap may be cut in other pieces, and a thread that sleeps for the first time takes a
  // descriptor; one a call would be many.
  if (after.descriptors > before.descriptors + 20) CHECK_EQ_IN(after.descriptors, before.descriptors, "%s", kind.name);
  if (after.mappings > before.mappings + 20) CHECK_EQ_IN(after.mappings, before.mappings, "%s", kind.name);
}

}  // namespace

int main(int argc, char** argv) {
  const int number = argc > 1 ? std::atoi(argv[1]) : 2'000;
  check::Program mpi(&argc, &argv);
  rank = mpi.rank();
  size = mpi.size();
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
  OK(MPI_Win_create(result.data(), 4096, 1, MPI_INFO_NULL, all, &win));
  OK(MPI_Win_lock_all(0, win));
  counts.assign(static_cast<size_t>(size), 2);
  for (int i = 0; i < size; ++i) places.push_back(8 * i);
  for (const auto& kinds : {communicators(), windows(), types(), small_objects(), messages(), collectives()})
    for (const Kind& kind : kinds)
      if (argc < 3 || std::strcmp(argv[2], kind.name) == 0) watch(kind, number);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_free(&all));
}
