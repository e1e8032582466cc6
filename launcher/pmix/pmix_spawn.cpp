// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Spawn as the arguments of an mpirun: so what it starts is placed and bound as any job is.
#include <mpi.h>
#include <pmix.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "launcher/pmix/pmix_asks.hpp"

namespace tutti::launcher {
namespace {

using Words = std::vector<std::string>;

struct Option {
  const char* key;
  const char* option;  // takes the text that the key has
};
// Of the whole job. Where the processes are to be is said for each program, too, and asked for in one place.
constexpr Option kWhole[] = {{PMIX_MAPBY, "--map-by"},      {PMIX_RANKBY, "--rank-by"},
                             {PMIX_BINDTO, "--bind-to"},    {PMIX_PRELOAD_FILES, "--preload-files"},
                             {PMIX_HOSTFILE, "--hostfile"}, {PMIX_ADD_HOSTFILE, "--hostfile"}};
constexpr Option kOfProgram[] = {{PMIX_WDIR, "--wdir"}, {PMIX_HOST, "--host"}, {PMIX_ADD_HOST, "--host"}};
// What is so here in any case, or means nothing here: whose programs they are, where another MPI is installed, whose
// request this is; output goes to mpirun's, and nothing is read.
constexpr const char* kNoMatter[] = {PMIX_PERSONALITY,
                                     PMIX_PREFIX,
                                     PMIX_REQUESTOR_IS_CLIENT,
                                     PMIX_ENVARS_HARVESTED,
                                     PMIX_FWD_STDOUT,
                                     PMIX_FWD_STDERR,
                                     PMIX_FWD_STDDIAG,
                                     PMIX_PARENT_ID,
                                     PMIX_STDIN_TGT,
                                     PMIX_USERID,
                                     PMIX_GRPID,
                                     PMIX_WDIR_USER_SPECIFIED,
                                     PMIX_PROGRAMMING_MODEL,
                                     PMIX_MODEL_LIBRARY_NAME,
                                     PMIX_MODEL_LIBRARY_VERSION};

const char* text_of(const pmix_info_t& info) {
  return info.value.type == PMIX_STRING ? info.value.data.string : nullptr;
}

bool is_set(const pmix_info_t& info) {
  return info.value.type == PMIX_UNDEF || (info.value.type == PMIX_BOOL && info.value.data.flag);
}

// Puts what this says of the whole job or of one program where it belongs; false: it is not known.
bool take(const pmix_info_t& info, Words& whole, Words& program) {
  const char* const text = text_of(info);
  for (const auto& [key, option] : kWhole)
    if (PMIX_CHECK_KEY(&info, key) && text) return whole.insert(whole.end(), {option, text}), true;
  for (const auto& [key, option] : kOfProgram)
    if (PMIX_CHECK_KEY(&info, key) && text) return program.insert(program.end(), {option, text}), true;
  if (PMIX_CHECK_KEY(&info, PMIX_PPR) && text)
    return whole.insert(whole.end(), {"--map-by", std::string("ppr:") + text}), true;
  if (PMIX_CHECK_KEY(&info, PMIX_PRELOAD_BIN)) {
    if (is_set(info)) whole.emplace_back("--preload-binary");
    return true;
  }
  if (PMIX_CHECK_KEY(&info, PMIX_DISPLAY_MAP)) {
    if (is_set(info)) whole.insert(whole.end(), {"--display", "map"});
    return true;
  }
  for (const char* const key : {PMIX_SET_ENVAR, PMIX_ADD_ENVAR})
    if (PMIX_CHECK_KEY(&info, key) && info.value.type == PMIX_ENVAR && info.value.data.envar.envar) {
      const char* const value = info.value.data.envar.value;
      program.insert(program.end(), {"-x", fmt::format("{}={}", info.value.data.envar.envar, value ? value : "")});
      return true;
    }
  return std::ranges::any_of(kNoMatter, [&](const char* key) { return PMIX_CHECK_KEY(&info, key); });
}

Error take_all(const pmix_info_t infos[], size_t count, Words& whole, Words& program, Words& left_out) {
  for (size_t i = 0; i < count; ++i) {
    if (take(infos[i], whole, program)) continue;
    if (PMIX_INFO_IS_REQUIRED(&infos[i]))
      return failure(MPI_ERR_SPAWN, "the key '{}', which it requires, is not known here, or not with such a value",
                     infos[i].key);
    left_out.emplace_back(infos[i].key);
  }
  return {};
}

Error add_program(const pmix_app_t& app, const Words& of_all, Words& whole, Words& out, Words& left_out) {
  if (!app.cmd || !*app.cmd) return failure(MPI_ERR_SPAWN, "a command is empty");
  if (app.maxprocs < 1)
    return failure(MPI_ERR_SPAWN, "{} processes of {} are asked for, which is no number of them", app.maxprocs,
                   app.cmd);
  Words own = of_all;
  if (Error e = take_all(app.info, app.ninfo, whole, own, left_out)) return e;
  out.insert(out.end(), {"-n", std::to_string(app.maxprocs)});
  if (app.cwd && *app.cwd && std::ranges::find(own, "--wdir") == own.end()) out.insert(out.end(), {"--wdir", app.cwd});
  out.insert(out.end(), own.begin(), own.end());
  for (char** pair = app.env; pair && *pair; ++pair) {
    const std::string_view text = *pair;
    // Who the new processes are is for their own launcher to say.
    if (text.starts_with("PMIX_") && !text.starts_with("PMIX_MCA_")) continue;
    if (text.find('=') != text.npos) out.insert(out.end(), {"-x", std::string(text)});
  }
  out.insert(out.end(), {"--", app.cmd});
  for (char** argument = app.argv && app.argv[0] ? app.argv + 1 : nullptr; argument && *argument; ++argument) {
    if (std::string_view(*argument) == ":")
      return failure(MPI_ERR_SPAWN, "an argument of {} is ':', which separates programs", app.cmd);
    out.emplace_back(*argument);
  }
  return {};
}

}  // namespace

Result<Words> launcher_arguments(const pmix_info_t job[], size_t infos, const pmix_app_t apps[], size_t count,
                                 Words& left_out) {
  Words whole, of_all, programs;
  if (Error e = take_all(job, infos, whole, of_all, left_out)) return e;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) programs.emplace_back(":");
    if (Error e = add_program(apps[i], of_all, whole, programs, left_out)) return e;
  }
  whole.insert(whole.end(), std::make_move_iterator(programs.begin()), std::make_move_iterator(programs.end()));
  return whole;
}

}  // namespace tutti::launcher
