// SPDX-License-Identifier: BSD-3-Clause
// without_calls CALL… -- COMMAND…
// Runs a command whose kernel forbids it process_vm_readv, process_vm_writev or memfd_create
// (EPERM), as that of a container may. Exit 77: this kernel cannot be told to.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

bool forbid(const std::vector<unsigned>& calls) {
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// On my own memory, which no kernel but a told one forbids.
bool is_forbidden(unsigned call) {
  if (call == SYS_memfd_create) return syscall(call, "", 0) < 0 && errno == EPERM;
  char from = 1, to = 2;
  const iovec here{&to, 1}, there{&from, 1};
  return syscall(call, getpid(), &here, 1, &there, 1, 0) < 0 && errno == EPERM;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<unsigned> calls;
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; ++at) {
    const std::string_view call = argv[at];
    if (call == "process_vm_readv")
      calls.push_back(SYS_process_vm_readv);
    else if (call == "process_vm_writev")
      calls.push_back(SYS_process_vm_writev);
    else if (call == "memfd_create")
      calls.push_back(SYS_memfd_create);
    else
      return std::fprintf(stderr, "without_calls: what is '%s'?\n", argv[at]), 2;
  }
  if (at + 1 >= argc) return std::fprintf(stderr, "without_calls CALL… -- COMMAND…\n"), 2;
  if (!forbid(calls)) {
    std::fprintf(stderr, "skipped: seccomp filters are not allowed here: %s\n", strerror(errno));
    return 77;
  }
  for (const unsigned call : calls)
    if (!is_forbidden(call)) return std::fprintf(stderr, "without_calls: call %u still works\n", call), 2;
  execv(argv[at + 1], argv + at + 1);
  std::fprintf(stderr, "without_calls: %s: %s\n", argv[at + 1], strerror(errno));
  return 2;
}
