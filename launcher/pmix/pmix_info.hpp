// SPDX-License-Identifier: BSD-3-Clause
// PMIx's lists of attributes, owned properly, and what a job looks like in them. Included by the
// PMIx server's files only.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/data/job_map.hpp"

namespace tutti::launcher {

class InfoArray {
 public:
  explicit InfoArray(pmix_data_array_t array) : array_(array) {}
  ~InfoArray() { PMIX_DATA_ARRAY_DESTRUCT(&array_); }
  InfoArray(const InfoArray&) = delete;
  InfoArray& operator=(const InfoArray&) = delete;
  pmix_info_t* data() const { return static_cast<pmix_info_t*>(array_.array); }
  size_t size() const { return array_.size; }
  pmix_data_array_t* raw() { return &array_; }

 private:
  pmix_data_array_t array_;
};

class InfoList {
 public:
  InfoList() : list_(PMIx_Info_list_start()) {}
  ~InfoList() { PMIx_Info_list_release(list_); }
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;

  void text(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
  void number(const char* key, uint32_t value) { add(key, &value, PMIX_UINT32); }
  void short_number(const char* key, uint16_t value) { add(key, &value, PMIX_UINT16); }
  void rank(const char* key, pmix_rank_t value) { add(key, &value, PMIX_PROC_RANK); }
  void flag(const char* key, bool value) { add(key, &value, PMIX_BOOL); }
  void add(const char* key, const void* value, pmix_data_type_t type) { PMIx_Info_list_add(list_, key, value, type); }
  void nested(const char* key, const InfoList& inner) {
    InfoArray array = inner.array();
    add(key, array.raw(), PMIX_DATA_ARRAY);
  }
  InfoArray array() const {
    pmix_data_array_t out;
    PMIX_DATA_ARRAY_CONSTRUCT(&out, 0, PMIX_INFO);
    PMIx_Info_list_convert(list_, &out);
    return InfoArray(out);
  }

 private:
  void* list_;
};

// All that ranks may ask about the job and about each other.
InfoArray describe_job(const NodeTask& task, const Topology::Binding& binding, const std::string& nspace,
                       const std::string& folder);

// The job's ranks in the notation of PMI-1: "(vector,(first node,nodes,ranks of each),…)".
std::string process_mapping(const JobMap& map);

std::optional<std::string> pack_event(pmix_status_t code, const pmix_proc_t& source, pmix_info_t* info, size_t count);
// That it has failed; `why`: "was killed by signal 9 (Killed)".
std::optional<std::string> pack_failure(const pmix_proc_t& process, const std::string& why);
void raise_event(const std::string& packed);  // to this node's ranks

}  // namespace tutti::launcher
