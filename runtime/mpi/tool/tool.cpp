// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tool/tool.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "mpi/object/entry_guard.hpp"
#include "mpi/object/info.hpp"
#include "mpi/tool/api_tool.hpp"

namespace tutti::mpi::tool {
namespace {

// What the interface is beside its objects. It lives as long as the process, because tools use it before MPI_Init and
// behind MPI_Finalize; handles of enumerations are their addresses.
struct Interface {
  int initialized TUTTI_GUARDED_BY(mutex()) = 0;  // as often
  const Enumeration switches{"switch", {"off", "on"}};
  const Enumeration thread_levels{
      "thread level",
      {"none", "MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}};
  std::map<std::string_view, Enumeration> choices TUTTI_GUARDED_BY(mutex());  // by setting, once one has asked
};
Interface& interface() {
  static auto& only = *new Interface;
  return only;
}

}  // namespace

RecursiveMutex& mutex() {
  static auto& only = *new RecursiveMutex;
  return only;
}

bool is_initialized() {
  const Lock lock(mutex());
  return interface().initialized > 0;
}

Error bad_index(int index, size_t count, const char* of) {
  return failure(MPI_T_ERR_INVALID_INDEX, "{} is no index of a {}: there are {}", index, of, count);
}
Error bad_name(const char* name, const char* of) {
  return failure(MPI_T_ERR_INVALID_NAME, "there is no {} named '{}'", of, name);
}
Error bad_handle(const char* what) {
  return failure(MPI_T_ERR_INVALID_HANDLE, "the handle is that of no {}: freed already, or never allocated", what);
}
Error null_address(const char* argument) {
  return failure(MPI_T_ERR_INVALID, "the address is NULL (argument {})", argument);
}

void give_text(std::string_view text, char* into, int* length) {
  if (!length) return;
  if (into && *length > 0) {
    const size_t fits = std::min(text.size(), static_cast<size_t>(*length - 1));
    std::memcpy(into, text.data(), fits);
    into[fits] = 0;
  }
  *length = static_cast<int>(text.size()) + 1;
}

const Enumeration* enumeration(const Setting& setting) {
  if (setting.kind == SettingKind::flag) return &interface().switches;
  if (setting.kind != SettingKind::choice) return nullptr;
  const auto [place, is_new] = interface().choices.try_emplace(setting.name);
  if (is_new) {
    place->second.name = setting.name;
    std::string_view rest = setting.allowed;
    while (!rest.empty()) {
      const size_t bar = std::min(rest.find('|'), rest.size());
      place->second.items.emplace_back(rest.substr(0, bar));
      rest.remove_prefix(std::min(bar + 1, rest.size()));
    }
  }
  return &place->second;
}

const Enumeration* thread_levels() {
  static_assert(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE);
  return &interface().thread_levels;
}

MPI_T_enum handle_of(const Enumeration* enumeration) {
  return enumeration ? reinterpret_cast<MPI_T_enum>(const_cast<Enumeration*>(enumeration)) : MPI_T_ENUM_NULL;
}

const Enumeration* enumeration_of(MPI_T_enum handle) {
  if (handle == handle_of(&interface().switches)) return &interface().switches;
  if (handle == handle_of(thread_levels())) return thread_levels();
  for (const Setting& s : settings())
    if (const Enumeration* e = enumeration(s); e && handle == handle_of(e)) return e;
  return nullptr;
}

Error resolve_bound(int bind, void* object, Ref<Comm>& comm) {
  if (bind == MPI_T_BIND_NO_OBJECT) return {};
  if (current.phase.load() != Phase::running)
    return failure(MPI_T_ERR_NOT_ACCESSIBLE,
                   "it is bound to a communicator, and there is none before MPI_Init and after MPI_Finalize");
  Comm* const found = object ? resolve<Comm>(*static_cast<MPI_Comm*>(object)) : nullptr;
  if (!found)
    return failure(MPI_T_ERR_INVALID,
                   "it is bound to a communicator: obj_handle is to be the address of an MPI_Comm "
                   "that is valid");
  comm = Ref<Comm>(found);
  return {};
}

MPI_Info empty_info() {
  return (new Info)->handle;
}

Error t_init_thread(int required, int* provided) {
  if (!provided) return null_address("provided");
  if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE)
    return failure(MPI_T_ERR_INVALID, "{} is no thread level (argument required)", required);
  const Lock lock(mutex());
  ++interface().initialized;
  *provided = MPI_THREAD_MULTIPLE;
  return {};
}

Error t_finalize() {
  TUTTI_TOOL_READY;
  --interface().initialized;
  return {};
}

Error t_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) {
  TUTTI_TOOL_READY;
  const Enumeration* const found = enumeration_of(enumtype);
  if (!found) return bad_handle("enumeration");
  give(num, static_cast<int>(found->items.size()));
  give_text(found->name, name, name_len);
  return {};
}

Error t_enum_get_item(MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len) {
  TUTTI_TOOL_READY;
  const Enumeration* const found = enumeration_of(enumtype);
  if (!found) return bad_handle("enumeration");
  if (!within(indx, found->items.size())) return bad_index(indx, found->items.size(), "value of this enumeration");
  give(value, indx);
  give_text(found->items[static_cast<size_t>(indx)], name, name_len);
  return {};
}

// ---- categories

namespace {

struct Category {
  std::string name, doc;
  std::vector<int> cvars, pvars, events, categories;
};

// The first holds all others; each of these what has its name before the dot.
const std::vector<Category>& categories() {
  static const auto& made = *[] {
    auto* all = new std::vector<Category>{{"tutti", "All that Tutti tells and can be told", {}, {}, {}, {}}};
    const auto of = [&](std::string_view name) -> Category& {
      const std::string_view group = name.substr(0, name.find('.'));
      for (Category& c : *all)
        if (c.name == group) return c;
      all->front().categories.push_back(static_cast<int>(all->size()));
      return all->emplace_back(Category{std::string(group), fmt::format("What is named {}.*", group), {}, {}, {}, {}});
    };
    int i = 0;
    for (const Setting& s : settings()) of(s.name).cvars.push_back(i++);
    i = 0;
    for (const PerformanceVariable& v : performance_variables()) of(v.name).pvars.push_back(i++);
    i = 0;
    for (const EventType& e : event_types()) of(e.name).events.push_back(i++);
    return all;
  }();
  return made;
}

Error give_members(int category, int len, int indices[], std::vector<int> Category::* members) {
  TUTTI_TOOL_READY;
  if (!within(category, categories().size())) return bad_index(category, categories().size(), "category");
  if (len < 0 || (len > 0 && !indices)) return null_address("indices");
  const std::vector<int>& of = categories()[static_cast<size_t>(category)].*members;
  std::copy_n(of.begin(), std::min(of.size(), static_cast<size_t>(len)), indices);
  return {};
}

}  // namespace

Error t_category_get_num(int* num_cat) {
  TUTTI_TOOL_READY;
  if (!num_cat) return null_address("num_cat");
  *num_cat = static_cast<int>(categories().size());
  return {};
}

Error t_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len, int* num_cvars,
                          int* num_pvars, int* num_categories) {
  TUTTI_TOOL_READY;
  if (!within(cat_index, categories().size())) return bad_index(cat_index, categories().size(), "category");
  const Category& c = categories()[static_cast<size_t>(cat_index)];
  give_text(c.name, name, name_len);
  give_text(c.doc, desc, desc_len);
  give(num_cvars, static_cast<int>(c.cvars.size()));
  give(num_pvars, static_cast<int>(c.pvars.size()));
  give(num_categories, static_cast<int>(c.categories.size()));
  return {};
}

Error t_category_get_num_events(int cat_index, int* num_events) {
  TUTTI_TOOL_READY;
  if (!within(cat_index, categories().size())) return bad_index(cat_index, categories().size(), "category");
  give(num_events, static_cast<int>(categories()[static_cast<size_t>(cat_index)].events.size()));
  return {};
}

Error t_category_get_index(const char* name, int* cat_index) {
  TUTTI_TOOL_READY;
  if (!name || !cat_index) return null_address(name ? "cat_index" : "name");
  for (size_t i = 0; i < categories().size(); ++i)
    if (categories()[i].name == name) {
      *cat_index = static_cast<int>(i);
      return {};
    }
  return bad_name(name, "category");
}

Error t_category_get_cvars(int cat_index, int len, int indices[]) {
  return give_members(cat_index, len, indices, &Category::cvars);
}
Error t_category_get_pvars(int cat_index, int len, int indices[]) {
  return give_members(cat_index, len, indices, &Category::pvars);
}
Error t_category_get_events(int cat_index, int len, int indices[]) {
  return give_members(cat_index, len, indices, &Category::events);
}
Error t_category_get_categories(int cat_index, int len, int indices[]) {
  return give_members(cat_index, len, indices, &Category::categories);
}

Error t_category_changed(int* update_number) {
  TUTTI_TOOL_READY;
  if (!update_number) return null_address("update_number");
  *update_number = 0;  // all are there from the beginning
  return {};
}

}  // namespace tutti::mpi::tool
