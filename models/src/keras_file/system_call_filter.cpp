#include "keras_file/system_call_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ronde::inline v0 {

namespace {

constexpr std::array kAllowed{SYS_read,        SYS_write,        SYS_writev,        SYS_mmap,
                              SYS_munmap,      SYS_mremap,       SYS_brk,           SYS_madvise,
                              SYS_mprotect,    SYS_futex,        SYS_getcwd,        SYS_getpid,
                              SYS_gettid,      SYS_getrandom,    SYS_clock_gettime, SYS_gettimeofday,
                              SYS_sched_yield, SYS_rt_sigaction, SYS_rt_sigreturn,  SYS_rt_sigprocmask,
                              SYS_exit,        SYS_exit_group};

sock_filter statement(std::uint32_t code, std::uint32_t value) {
  return BPF_STMT(static_cast<std::uint16_t>(code), value);
}
sock_filter jump(std::uint32_t value, std::uint8_t if_equal, std::uint8_t if_not) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | BPF_JEQ | BPF_K), value, if_equal, if_not);
}

}  // namespace

void filter_system_calls() {
  const rlimit no_files{0, 0};
  ::setrlimit(RLIMIT_NOFILE, &no_files);
  constexpr std::uint32_t kLoad = BPF_LD | BPF_W | BPF_ABS, kReturn = BPF_RET | BPF_K;
  // A process of one architecture may call by the numbers of another, which mean something else.
  std::vector<sock_filter> program{statement(kLoad, offsetof(seccomp_data, arch)),
                                   jump(RONDE_AUDIT_ARCH, 1, 0), statement(kReturn, SECCOMP_RET_KILL_PROCESS),
                                   statement(kLoad, offsetof(seccomp_data, nr))};
  for (const long number : kAllowed) {
    program.push_back(jump(static_cast<std::uint32_t>(number), 0, 1));
    program.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  }
  program.push_back(statement(kReturn, SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

}  // namespace ronde::inline v0
