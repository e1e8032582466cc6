// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/pmix/pmix_asks.hpp"

#include <fmt/format.h>
#include <pmix.h>

#include <cstdlib>
#include <cstring>
#include <optional>

namespace tutti::launcher {
namespace {

std::optional<int64_t> number_in(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_INT:
      return value.data.integer;
    case PMIX_INT32:
      return value.data.int32;
    case PMIX_UINT:
      return value.data.uint;
    case PMIX_UINT32:
      return value.data.uint32;
    default:
      return std::nullopt;
  }
}

std::string packed_value(const pmix_value_t& value) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_byte_object_t bytes{nullptr, 0};
  std::string out;
  if (PMIx_Data_pack(nullptr, &buffer, const_cast<pmix_value_t*>(&value), 1, PMIX_VALUE) == PMIX_SUCCESS &&
      PMIx_Data_unload(&buffer, &bytes) == PMIX_SUCCESS)
    out.assign(bytes.bytes, bytes.size);
  std::free(bytes.bytes);
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return out;
}

bool unpack_value(const std::string& packed, pmix_value_t& value) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  pmix_byte_object_t bytes{static_cast<char*>(std::malloc(packed.size() + 1)), packed.size()};
  std::memcpy(bytes.bytes, packed.data(), packed.size());
  int32_t one = 1;
  const bool right = PMIx_Data_load(&buffer, &bytes) == PMIX_SUCCESS &&
                     PMIx_Data_unpack(nullptr, &buffer, &value, &one, PMIX_VALUE) == PMIX_SUCCESS;
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return right;
}

void load_proc(pmix_proc_t& proc, const std::string& name) {
  const size_t colon = std::min(name.rfind(':'), name.size());
  const std::string rank = colon < name.size() ? name.substr(colon + 1) : "0";
  PMIX_LOAD_PROCID(&proc, name.substr(0, colon).c_str(),
                   static_cast<pmix_rank_t>(std::strtoul(rank.c_str(), nullptr, 10)));
}

}  // namespace

std::string name_of(const pmix_proc_t& proc) {
  return fmt::format("{}:{}", proc.nspace, proc.rank);
}

pmix_status_t status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::well:
      return PMIX_SUCCESS;
    case Outcome::refused:
      return PMIX_ERR_NOT_SUPPORTED;
    case Outcome::not_started:
      return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    case Outcome::not_found:
      return PMIX_ERR_NOT_FOUND;
    case Outcome::exists:
      return PMIX_ERR_DUPLICATE_KEY;
    case Outcome::late:
      return PMIX_ERR_TIMEOUT;
  }
  return PMIX_ERROR;
}

// What is published stands beside words about how.
Ask publication(const pmix_info_t infos[], size_t count) {
  Ask ask{.what = Ask::What::publish};
  for (size_t i = 0; i < count; ++i) {
    const pmix_info_t& info = infos[i];
    if (PMIX_CHECK_KEY(&info, PMIX_PERSISTENCE)) {
      ask.once = info.value.type == PMIX_PERSIST && info.value.data.persist == PMIX_PERSIST_FIRST_READ;
      continue;
    }
    bool about = false;
    for (const char* const key : {PMIX_RANGE, PMIX_ACCESS_PERMISSIONS, PMIX_TIMEOUT, PMIX_USERID, PMIX_GRPID})
      about = about || PMIX_CHECK_KEY(&info, key);
    if (about) continue;
    ask.words.emplace_back(info.key);
    ask.values.push_back(packed_value(info.value));
  }
  return ask;
}

Ask lookup(char** names, const pmix_info_t infos[], size_t count) {
  Ask ask{.what = Ask::What::lookup};
  for (char** name = names; name && *name; ++name) ask.words.emplace_back(*name);
  std::optional<int64_t> bound;
  for (size_t i = 0; i < count; ++i) {
    // "All" by true or by 0, or as many as the number says: all is what anybody wants.
    if (PMIX_CHECK_KEY(&infos[i], PMIX_WAIT) && (infos[i].value.type != PMIX_BOOL || infos[i].value.data.flag))
      ask.seconds = kForEver;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_TIMEOUT)) bound = number_in(infos[i].value);
  }
  if (ask.seconds == kForEver && bound && *bound > 0) ask.seconds = *bound;
  return ask;
}

Ask withdrawal(char** names) {
  Ask ask{.what = Ask::What::unpublish};
  for (char** name = names; name && *name; ++name) ask.words.emplace_back(*name);
  return ask;
}

void answer_spawn(const Reply& reply, pmix_spawn_cbfunc_t callback, void* token) {
  pmix_nspace_t name;
  PMIX_LOAD_NSPACE(name, reply.words.empty() ? nullptr : reply.words[0].c_str());
  callback(status_of(reply.outcome), name, token);
}

void answer_lookup(const Reply& reply, pmix_lookup_cbfunc_t callback, void* token) {
  pmix_pdata_t* found = nullptr;
  const size_t count = std::min(reply.values.size(), reply.words.size() / 2);
  if (count > 0) PMIX_PDATA_CREATE(found, count);
  bool right = true;
  for (size_t i = 0; i < count; ++i) {
    PMIX_LOAD_KEY(found[i].key, reply.words[2 * i].c_str());
    load_proc(found[i].proc, reply.words[2 * i + 1]);
    right = unpack_value(reply.values[i], found[i].value) && right;
  }
  callback(right ? status_of(reply.outcome) : PMIX_ERR_UNPACK_FAILURE, found, count, token);
  if (found) PMIX_PDATA_FREE(found, count);
}

}  // namespace tutti::launcher
