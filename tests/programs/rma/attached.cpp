// SPDX-License-Identifier: BSD-3-Clause
// Operations on a dynamic window whose elements lie in several regions (the standard, 12.2.4: each
// byte that they access is attached): regions that touch, even amid an element, and regions far
// apart, by layouts with gaps, below the displacement, downwards and from MPI_BOTTOM, short and
// long, by every call, at other processes and at one's own. TUTTI_ONLY: the words for bytes that
// are not attached are Tutti's.
#include "check.hpp"

namespace {

constexpr int kInts = 120'000;                                    // of each process' memory
constexpr int kFirst = 1'000, kSecond = 40'000, kThird = 80'000;  // ints where regions begin
constexpr int kHole = 35'000;                                     // up to kSecond nothing is attached

// From kFirst to kHole in four regions that touch; from kSecond to kThird and on to the end in two.
struct Memory {
  explicit Memory(MPI_Win win) : win(win), ints(kInts) {
    const auto byte = [&](int at, int more = 0) { return reinterpret_cast<char*>(ints.data()) + 4 * at + more; };
    add(byte(kFirst + 100), byte(kFirst + 1'000));
    add(byte(kFirst), byte(kFirst + 100));  // below the one that it touches
    add(byte(kFirst + 1'000), byte(20'000, 2));
    add(byte(20'000, 2), byte(kHole));  // amid an int
    add(byte(kThird), byte(kInts));
    add(byte(kSecond), byte(kThird));
    OK(MPI_Win_attach(win, byte(50'000), 0));  // no bytes, within another
    OK(MPI_Win_attach(win, nullptr, 0));
    OK(MPI_Win_attach(win, nullptr, 0));
    begins.insert(begins.end(), {nullptr, byte(50'000), nullptr});
  }
  ~Memory() {
    for (char* begin : begins) OK(MPI_Win_detach(win, begin));
  }
  void add(char* begin, char* end) {
    OK(MPI_Win_attach(win, begin, end - begin));
    begins.push_back(begin);
  }
  void fill() {
    for (int i = 0; i < kInts; ++i) ints[static_cast<size_t>(i)] = i;
  }

  const MPI_Win win;
  std::vector<int> ints;
  std::vector<char*> begins;
};

// Where an operation's ints lie at the target, of which `type` at `displacement` bytes from the
// beginning of its memory, `count` times, is a description.
struct Place {
  const char* name;
  MPI_Datatype type;
  int count;
  MPI_Aint displacement;
  std::vector<int> at;

  int ints() const { return static_cast<int>(at.size()); }
};

std::vector<int> series(int first, int count, int step = 1) {
  std::vector<int> at;
  for (int i = 0; i < count; ++i) at.push_back(first + i * step);
  return at;
}

MPI_Datatype committed(MPI_Datatype type) {
  OK(MPI_Type_commit(&type));
  return type;
}
MPI_Datatype pieces(const std::vector<int>& lengths, const std::vector<int>& at, int from = 0) {
  std::vector<MPI_Aint> bytes;
  for (const int i : at) bytes.push_back(MPI_Aint{4} * (i - from));
  MPI_Datatype type;
  OK(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), bytes.data(), MPI_INT, &type));
  return committed(type);
}
MPI_Datatype vector(int count, int length, int stride) {
  MPI_Datatype type;
  OK(MPI_Type_vector(count, length, stride, MPI_INT, &type));
  return committed(type);
}
MPI_Datatype resized(MPI_Aint low, MPI_Aint extent) {
  MPI_Datatype type;
  OK(MPI_Type_create_resized(MPI_INT, low, extent, &type));
  return committed(type);
}
std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Place> places() {
  std::vector<Place> all;
  all.push_back({"over two that touch", MPI_INT, 40, 4 * (kFirst + 80), series(kFirst + 80, 40)});
  all.push_back({"over four that touch", MPI_INT, kHole - kFirst, 4 * kFirst, series(kFirst, kHole - kFirst)});
  all.push_back({"an int in two", MPI_INT, 1, 4 * 20'000, {20'000}});
  all.push_back({"one in each", pieces({1, 1}, {kFirst + 5, kSecond + 5}), 1, 0, {kFirst + 5, kSecond + 5}});
  all.push_back(
      {"the later one first", pieces({2, 2}, {kThird, kFirst}), 1, 0, {kThird, kThird + 1, kFirst, kFirst + 1}});
  all.push_back({"up to the hole and behind it", pieces({5'000, 7'000}, {kHole - 5'000, kSecond}, kSecond), 1,
                 4 * kSecond, joined(series(kHole - 5'000, 5'000), series(kSecond, 7'000))});
  all.push_back({"a gap that is the hole", vector(2, 100, kSecond - kHole + 100), 1, 4 * (kHole - 100),
                 joined(series(kHole - 100, 100), series(kSecond, 100))});
  all.push_back({"below the displacement", pieces({3}, {-200}), 1, 4 * (kFirst + 200), series(kFirst, 3)});
  all.push_back({"downwards over the hole", resized(0, -4 * (kSecond - kHole + 1)), 3, 4 * kSecond,
                 series(kSecond, 3, -(kSecond - kHole + 1))});
  all.push_back({"far apart", resized(-40, 4 * 39'000), 3, 4 * (kFirst + 9), series(kFirst + 9, 3, 39'000)});
  all.push_back({"many pieces", vector(2'000, 2, 17), 1, 4 * kFirst, {}});
  for (int i = 0; i < 2'000; ++i)
    for (int k = 0; k < 2; ++k) all.back().at.push_back(kFirst + 17 * i + k);
  return all;
}

// A type that counts from MPI_BOTTOM at the target.
MPI_Datatype absolute(const Place& place, MPI_Aint base) {
  std::vector<MPI_Aint> at;
  for (const int i : place.at) at.push_back(MPI_Aint_add(base, MPI_Aint{4} * i));
  MPI_Datatype type;
  OK(MPI_Type_create_hindexed_block(place.ints(), 1, at.data(), MPI_INT, &type));
  return committed(type);
}

// The calls, of which each takes `data` there, or fetches what is there, or both.
enum Call { put, rput, get, rget, add, radd, swap, rswap, look, element, exchange, kCalls };
struct Does {
  bool adds = false, replaces = false, fetches = false;
};
Does does(int call) {
  return {.adds = call == add || call == radd || call == element,
          .replaces = call == put || call == rput || call == swap || call == rswap || call == exchange,
          .fetches = call == get || call == rget || call >= swap};
}

void make(int call, const std::vector<int>& data, std::vector<int>& old, int target, MPI_Aint at, int count,
          MPI_Datatype type, MPI_Win win) {
  const int n = static_cast<int>(data.size());
  const int* const out = data.data();
  int* const in = old.data();
  MPI_Request request = MPI_REQUEST_NULL;
  switch (call) {
    case put:
      OK(MPI_Put(out, n, MPI_INT, target, at, count, type, win));
      break;
    case rput:
      OK(MPI_Rput(out, n, MPI_INT, target, at, count, type, win, &request));
      break;
    case get:
      OK(MPI_Get(in, n, MPI_INT, target, at, count, type, win));
      break;
    case rget:
      OK(MPI_Rget(in, n, MPI_INT, target, at, count, type, win, &request));
      break;
    case add:
      OK(MPI_Accumulate(out, n, MPI_INT, target, at, count, type, MPI_SUM, win));
      break;
    case radd:
      OK(MPI_Raccumulate(out, n, MPI_INT, target, at, count, type, MPI_SUM, win, &request));
      break;
    case swap:
      OK(MPI_Get_accumulate(out, n, MPI_INT, in, n, MPI_INT, target, at, count, type, MPI_REPLACE, win));
      break;
    case rswap:
      OK(MPI_Rget_accumulate(out, n, MPI_INT, in, n, MPI_INT, target, at, count, type, MPI_REPLACE, win, &request));
      break;
    case look:
      OK(MPI_Get_accumulate(nullptr, 0, MPI_INT, in, n, MPI_INT, target, at, count, type, MPI_NO_OP, win));
      break;
    case element:
      OK(MPI_Fetch_and_op(out, in, MPI_INT, target, at, MPI_SUM, win));
      break;
    case exchange: {
      static int there;
      OK(MPI_Fetch_and_op(nullptr, &there, MPI_INT, target, at, MPI_NO_OP, win));
      OK(MPI_Win_flush(target, win));
      OK(MPI_Compare_and_swap(out, &there, in, MPI_INT, target, at, win));
      break;
    }
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

void all_is_attached(const check::Program& mpi, MPI_Win win, int target, int source) {
  Memory memory(win);
  MPI_Aint mine, base;
  OK(MPI_Get_address(memory.ints.data(), &mine));
  OK(MPI_Sendrecv(&mine, 1, MPI_AINT, source, 0, &base, 1, MPI_AINT, target, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (Place& place : places()) {
    MPI_Datatype from_bottom = absolute(place, base);
    for (int call = 0; call < kCalls; ++call) {
      if (call >= element && place.ints() > 1) continue;
      for (const bool bottom : {false, true}) {
        if (bottom && call >= element) continue;
        memory.fill();
        OK(MPI_Barrier(MPI_COMM_WORLD));
        std::vector<int> data(place.at.size()), old(place.at.size(), -1);
        for (size_t i = 0; i < data.size(); ++i) data[i] = 1'000'000 * (mpi.rank() + 1) + static_cast<int>(i);
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        if (bottom)
          make(call, data, old, target, 0, 1, from_bottom, win);
        else
          make(call, data, old, target, MPI_Aint_add(base, place.displacement), place.count, place.type, win);
        OK(MPI_Win_unlock(target, win));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        std::vector<int> expected(kInts);
        for (int i = 0; i < kInts; ++i) expected[static_cast<size_t>(i)] = i;
        for (size_t i = 0; i < place.at.size(); ++i) {
          const int theirs = 1'000'000 * (source + 1) + static_cast<int>(i);
          int& there = expected[static_cast<size_t>(place.at[i])];
          if (does(call).fetches) CHECK_EQ_IN(old[i], place.at[i], "%s, call %d", place.name, call);
          if (does(call).adds) there += theirs;
          if (does(call).replaces) there = theirs;
        }
        OK(MPI_Win_lock(MPI_LOCK_SHARED, mpi.rank(), 0, win));
        for (size_t i = 0; i < kInts; ++i)
          CHECK_EQ_IN(memory.ints[i], expected[i], "%s, call %d, int %zu", place.name, call, i);
        OK(MPI_Win_unlock(mpi.rank(), win));
      }
    }
    OK(MPI_Type_free(&from_bottom));
    if (place.type != MPI_INT) OK(MPI_Type_free(&place.type));
  }
}

// The operation is refused, as a whole.
#define REFUSED(call, words)                                                                                         \
  do {                                                                                                               \
    const int code_ = (call);                                                                                        \
    if (check::error_class(code_) != MPI_ERR_RMA_RANGE || check::error_text(code_).find(words) == std::string::npos) \
      check::fail(__FILE__, __LINE__,                                                                                \
                  #call " gave \"" + check::error_text(code_) + "\", expected \"" + (words) + "\"");                 \
  } while (false)

std::string missed(int target, MPI_Aint base, MPI_Aint first, int bytes) {
  char text[160];
  std::snprintf(text, sizeof text,
                "rank %d of the window has attached no memory at address %p that holds %d byte%s:", target,
                reinterpret_cast<void*>(MPI_Aint_add(base, first)), bytes, bytes == 1 ? "" : "s");
  return text;
}

void some_is_not(MPI_Win win, int target, int source) {
  Memory memory(win);
  memory.fill();
  MPI_Aint mine, base;
  OK(MPI_Get_address(memory.ints.data(), &mine));
  OK(MPI_Sendrecv(&mine, 1, MPI_AINT, source, 0, &base, 1, MPI_AINT, target, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  struct Wrong {
    MPI_Datatype type;
    int count;
    MPI_Aint displacement, missed;
    int bytes;
  } wrong[] = {
      {MPI_INT, 1, 4 * kHole, 4 * kHole, 4},
      {MPI_INT, 2, 4 * (kHole - 1), 4 * (kHole - 1), 8},  // one run is told as it is
      {MPI_BYTE, 3, 4 * kHole - 2, 4 * kHole - 2, 3},
      {MPI_INT, kSecond - kHole + 2, 4 * (kHole - 1), 4 * (kHole - 1), 4 * (kSecond - kHole + 2)},
      {pieces({1, 1, 1}, {kFirst, kHole, kSecond}), 1, 0, 4 * kHole, 4},
      {vector(3, 1, 2'500), 1, 4 * (kHole - 1), 4 * (kHole + 2'499), 4},
      {resized(0, 4 * 2'500), 3, 4 * (kHole - 1), 4 * (kHole + 2'499), 4},
      {resized(0, -4 * 1'000), 5, 4 * (kSecond + 1'500), 4 * (kSecond - 500), 4},  // downwards
      {pieces({2}, {-1}), 1, 4 * kFirst, 4 * (kFirst - 1), 8},
  };
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
  for (Wrong& w : wrong) {
    int bytes;
    OK(MPI_Type_size(w.type, &bytes));
    std::vector<char> data(static_cast<size_t>(bytes * w.count), 9), old(data.size(), 7);
    const std::string words = missed(target, base, w.missed, w.bytes);
    const MPI_Aint at = MPI_Aint_add(base, w.displacement);
    const int n = static_cast<int>(data.size());
    OK(MPI_Put(data.data(), n, MPI_BYTE, target, at, w.count, w.type, win));
    REFUSED(MPI_Win_flush(target, win), words);
    OK(MPI_Get(old.data(), n, MPI_BYTE, target, at, w.count, w.type, win));
    REFUSED(MPI_Win_flush(target, win), words);
    const MPI_Datatype of = w.type == MPI_BYTE ? MPI_BYTE : MPI_INT;
    const int elements = w.type == MPI_BYTE ? n : n / 4;
    OK(MPI_Accumulate(data.data(), elements, of, target, at, w.count, w.type, MPI_REPLACE, win));
    REFUSED(MPI_Win_flush(target, win), words);
    MPI_Request request;
    OK(MPI_Rget_accumulate(data.data(), elements, of, old.data(), elements, of, target, at, w.count, w.type,
                           MPI_REPLACE, win, &request));
    REFUSED(MPI_Wait(&request, MPI_STATUS_IGNORE), words);
    for (const char c : old) CHECK_EQ(c, 7);
    if (w.type != MPI_INT && w.type != MPI_BYTE) OK(MPI_Type_free(&w.type));
  }
  // Nothing of no element, wherever that is.
  for (const MPI_Aint at : {MPI_Aint{0}, MPI_Aint{-4}, MPI_Aint_add(base, 4 * kHole)}) {
    OK(MPI_Put(nullptr, 0, MPI_INT, target, at, 0, MPI_INT, win));
    OK(MPI_Get(nullptr, 0, MPI_INT, target, at, 0, MPI_INT, win));
    OK(MPI_Accumulate(nullptr, 0, MPI_INT, target, at, 0, MPI_INT, MPI_SUM, win));
  }
  OK(MPI_Win_unlock(target, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kInts; ++i) CHECK_EQ(memory.ints[static_cast<size_t>(i)], i);
}

// What is detached amid others is missing; once it is attached again, in other parts, it is not.
void holes_come_and_go(MPI_Win win, int target, int source) {
  std::vector<int> memory(400, 0), data(400, 1);
  char* const mine_at = reinterpret_cast<char*>(memory.data());
  MPI_Aint mine, base;
  OK(MPI_Get_address(mine_at, &mine));
  OK(MPI_Sendrecv(&mine, 1, MPI_AINT, source, 0, &base, 1, MPI_AINT, target, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const auto add = [&](bool attached) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    OK(MPI_Accumulate(data.data(), 400, MPI_INT, target, base, 400, MPI_INT, MPI_SUM, win));
    if (attached)
      OK(MPI_Win_unlock(target, win));
    else
      REFUSED(MPI_Win_unlock(target, win), missed(target, base, 0, 1'600));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  };
  for (int part = 0; part < 4; ++part) OK(MPI_Win_attach(win, mine_at + 400 * part, 400));
  add(true);
  for (int part = 0; part < 4; ++part) {
    OK(MPI_Win_detach(win, mine_at + 400 * part));
    add(false);
    OK(MPI_Win_attach(win, mine_at + 400 * part, 100));
    OK(MPI_Win_attach(win, mine_at + 400 * part + 200, 200));
    add(false);
    OK(MPI_Win_attach(win, mine_at + 400 * part + 100, 100));
    FAILS(MPI_Win_attach(win, mine_at + 400 * part + 150, 1), MPI_ERR_RMA_ATTACH);
    add(true);
  }
  for (const int value : memory) CHECK_EQ(value, 5);
  for (int part = 0; part < 4; ++part)
    for (const int begin : {200, 0, 100}) OK(MPI_Win_detach(win, mine_at + 400 * part + begin));
  FAILS(MPI_Win_detach(win, mine_at), MPI_ERR_RMA_ATTACH);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  MPI_Win win;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  for (const int step : {0, 1}) {  // one's own memory, the next one's
    if (step == 1 && mpi.size() == 1) continue;
    const int target = (mpi.rank() + step) % mpi.size();
    const int source = (mpi.rank() + mpi.size() - step) % mpi.size();
    all_is_attached(mpi, win, target, source);
    some_is_not(win, target, source);
    holes_come_and_go(win, target, source);
  }
  OK(MPI_Win_free(&win));
}
