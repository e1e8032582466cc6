// SPDX-License-Identifier: BSD-3-Clause
// What is said of windows beside their use: groups, names, hints, attributes.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "contract/ledger.hpp"
#include "engine/engine.hpp"
#include "mpi/object/api_error.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/rma/api_window.hpp"

namespace tutti::mpi::one_sided {
namespace {

bool is_switch(std::string_view value) {
  return value == "true" || value == "false";
}
bool is_ordering(std::string_view value) {
  if (value == "none") return true;
  for (size_t at = 0; at <= value.size(); at += 4) {
    const std::string_view pair = value.substr(at, 3);
    if (pair != "rar" && pair != "raw" && pair != "war" && pair != "waw") return false;
    if (at + 3 < value.size() && value[at + 3] != ',') return false;
  }
  return true;
}
bool is_ops(std::string_view value) {
  return value == "same_op" || value == "same_op_no_op";
}
bool is_number(std::string_view value) {
  return !value.empty() && value.size() <= 18 &&
         std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
}

// Hints of the standard (12.2.1, 12.2.3), what holds without them, and which values mean something: others are ignored, and
// so MPI_Win_get_info does not tell of them. None changes what is right.
constexpr struct {
  const char* key;
  const char* value;
  bool (*is_known)(std::string_view value);  // nullptr: decide_hint() alone says what it is
} kHints[] = {
    {"no_locks", "false", is_switch},
    {"accumulate_ordering", "rar,raw,war,waw", is_ordering},
    {"accumulate_ops", "same_op_no_op", is_ops},
    {"same_size", "false", is_switch},
    {"same_disp_unit", "false", is_switch},
    {"alloc_shared_noncontig", "false", nullptr},
    {"mpi_accumulate_granularity", "0", is_number},
};

}  // namespace

void take_hints(Window& window, const Info* info) {
  if (window.hints.empty())
    for (const auto& hint : kHints) window.hints.emplace_back(hint.key, hint.value);
  if (!info) return;
  for (const auto& hint : kHints)
    if (const auto given = info->get(hint.key); given && hint.is_known && hint.is_known(*given))
      decide_hint(window, hint.key, *given);
}

void decide_hint(Window& window, std::string_view key, std::string value) {
  const auto at = std::ranges::find(window.hints, key, &Info::Entry::first);
  if (at == window.hints.end())
    window.hints.emplace_back(key, std::move(value));
  else
    at->second = std::move(value);
}

Error win_get_group(Window& win, MPI_Group* group) {
  *group = make_group(win.comm->group->processes, win.rank(), win.comm->group->session);
  return {};
}

Error win_set_info(Window& win, Info* info) {
  const engine::Engine::Guard own(win.comm->engine());
  take_hints(win, info);
  return {};
}

Error win_get_info(Window& win, MPI_Info* info_used) {
  const engine::Engine::Guard own(win.comm->engine());
  *info_used = inventory::hand_out(*new Info(win.hints));
  return {};
}

Error win_set_name(Window& win, const char* win_name) {
  const std::string_view given(win_name, strnlen(win_name, MPI_MAX_OBJECT_NAME - 1));
  {
    const engine::Engine::Guard own(win.comm->engine());
    win.name = given;
  }
  win.comm->set_name(given.empty() ? "a window" : fmt::format("window {}", given));
  return {};
}

Error win_get_name(const Window* win, char* win_name, int* resultlen) {
  const engine::Engine::Guard own(engine_of_process());
  give_name(win, "MPI_WIN_NULL", win_name, resultlen);
  return {};
}

Error win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* destroy, int* win_keyval,
                        void* extra_state) {
  *win_keyval = create_key(KeyKind::win, reinterpret_cast<void*>(copy), reinterpret_cast<void*>(destroy), extra_state);
  return {};
}

Error win_free_keyval(int* win_keyval) {
  return free_key(KeyKind::win, *win_keyval);
}

Error win_set_attr(Window& win, int win_keyval, void* attribute_val) {
  return win.attributes.set(win.handle, win_keyval, attribute_val);
}

// The base is the attribute itself; the others are addresses of what they tell (12.2.6).
Error win_get_attr(Window& win, int win_keyval, void* attribute_val, int* flag) {
  if (win_keyval == MPI_WIN_BASE) {
    *static_cast<void**>(attribute_val) = win.base;
    *flag = 1;
    return {};
  }
  bool found = false;
  Error error = win.attributes.get(win_keyval, static_cast<void**>(attribute_val), found);
  *flag = found;
  return error;
}

Error win_delete_attr(Window& win, int win_keyval) {
  return win.attributes.remove(win.handle, win_keyval);
}

}  // namespace tutti::mpi::one_sided
