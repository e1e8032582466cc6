/* SPDX-License-Identifier: BSD-3-Clause
 * pmix_tool FILE [release]: a tool of PMIx. Prints the processes of the job that FILE leads to, a line "rank host pid
 * program" for each, and lets them go on. */
#include <pmix_tool.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends(const char* what, pmix_status_t status) {
  fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
  return 1;
}

int main(int argc, char** argv) {
  pmix_proc_t me;
  pmix_info_t *info, *found = NULL;
  size_t count = 0;
  if (argc < 2) return 2;
  PMIX_INFO_CREATE(info, 1);
  PMIX_INFO_LOAD(&info[0], PMIX_TOOL_ATTACHMENT_FILE, argv[1], PMIX_STRING);
  pmix_status_t status = PMIx_tool_init(&me, info, 1);
  if (status != PMIX_SUCCESS) return ends("PMIx_tool_init", status);
  pmix_query_t* query;
  PMIX_QUERY_CREATE(query, 1);
  PMIX_ARGV_APPEND(status, query[0].keys, PMIX_QUERY_PROC_TABLE);
  status = PMIx_Query_info(query, 1, &found, &count);
  if (status != PMIX_SUCCESS) return ends("PMIx_Query_info", status);
  for (size_t i = 0; i < count; ++i) {
    if (found[i].value.type != PMIX_DATA_ARRAY) continue;
    const pmix_data_array_t* array = found[i].value.data.darray;
    const pmix_proc_info_t* rows = array->array;
    for (size_t r = 0; r < array->size; ++r)
      printf("%u %s %d %s\n", rows[r].proc.rank, rows[r].hostname, (int)rows[r].pid, rows[r].executable_name);
  }
  fflush(stdout);
  if (argc > 2 && strcmp(argv[2], "release") == 0) {
    status = PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_SESSION, NULL, 0, NULL, NULL);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) return ends("PMIx_Notify_event", status);
    sleep(1); /* its word is on its way */
  }
  PMIx_tool_finalize();
  return 0;
}
