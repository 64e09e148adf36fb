#include <ronde/core/machine.h>

#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

#include <ronde/core/build_info.h>

#include "machine/cgroup.h"
#include "machine/cores.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

/// A small /proc and /sys.
class Root {
 public:
  void write(const std::string& path, const std::string& content) const {
    const std::filesystem::path file = directory_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content << '\n';
  }
  const std::string& path() const { return directory_.path(); }
  CgroupLimits limits() const { return cgroup_limits(path()); }

 private:
  test::TempDir directory_{test::memory_directory()};
};

TEST(CgroupLimits, NoneWithoutGroups) {
  const Root root;
  EXPECT_EQ(root.limits().cores, 0.0);
  EXPECT_EQ(root.limits().memory, 0);
}

TEST(CgroupLimits, TightestOfAllGroupsAbove) {
  const Root root;
  root.write("/proc/self/cgroup", "0::/batch/job/task");
  root.write("/sys/fs/cgroup/batch/cpu.max", "800000 100000");
  root.write("/sys/fs/cgroup/batch/job/cpu.max", "150000 100000");
  root.write("/sys/fs/cgroup/batch/job/task/cpu.max", "max 100000");
  root.write("/sys/fs/cgroup/batch/memory.max", "4000000000");
  root.write("/sys/fs/cgroup/batch/job/memory.max", "max");
  EXPECT_DOUBLE_EQ(root.limits().cores, 1.5);
  EXPECT_EQ(root.limits().memory, 4'000'000'000);
}

TEST(CgroupLimits, ContainerThatSeesItsGroupAsTheRoot) {
  const Root root;
  root.write("/proc/self/cgroup", "0::/");
  root.write("/sys/fs/cgroup/cpu.max", "200000 100000");
  root.write("/sys/fs/cgroup/memory.max", "max");
  EXPECT_DOUBLE_EQ(root.limits().cores, 2.0);
  EXPECT_EQ(root.limits().memory, 0);
}

TEST(CgroupLimits, Version1) {
  const Root root;
  root.write("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/job/7\n1:cpu,cpuacct:/job\n0::/");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  root.write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000");
  root.write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  root.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  root.write("/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "1073741824");
  EXPECT_DOUBLE_EQ(root.limits().cores, 0.5);
  EXPECT_EQ(root.limits().memory, 1 << 30);
}

TEST(CgroupLimits, NamesOfControllersAreWhole) {
  const Root root;
  root.write("/proc/self/cgroup", "3:cpuset:/a\n2:cpuacct:/a");
  root.write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000");
  root.write("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
  EXPECT_EQ(root.limits().cores, 0.0);
}

TEST(Cores, Ranges) {
  EXPECT_EQ(core_ranges({}), "");
  EXPECT_EQ(core_ranges({3}), "3");
  EXPECT_EQ(core_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(parse_core_ranges("0-2,5,7-8"), (std::vector<int>{0, 1, 2, 5, 7, 8}));
  EXPECT_EQ(parse_core_ranges(""), std::vector<int>{});
  EXPECT_EQ(parse_core_ranges("x"), std::vector<int>{});
}

TEST(Cores, ThreadsOfOneCoreAreOnePhysicalCore) {
  const Root root;
  const std::string cpu = "/sys/devices/system/cpu/cpu";
  for (const int core : {0, 1, 4, 5})
    root.write(cpu + std::to_string(core) + "/topology/thread_siblings_list", core % 4 == 0 ? "0,4" : "1,5");
  EXPECT_EQ(count_physical_cores({0, 1, 4, 5}, root.path()), 2);
  EXPECT_EQ(count_physical_cores({0, 4}, root.path()), 1);
  EXPECT_EQ(count_physical_cores({0, 1}, root.path()), 2);
  EXPECT_EQ(count_physical_cores({10, 11, 12}, root.path()), 3);  // nothing known of them
}

TEST(Cores, NodesOfThoseAllowed) {
  const Root root;
  EXPECT_EQ(count_numa_nodes({0}, root.path()), 1);
  root.write("/sys/devices/system/node/online", "0-1,3");
  root.write("/sys/devices/system/node/node0/cpulist", "0-3");
  root.write("/sys/devices/system/node/node1/cpulist", "4-7");
  root.write("/sys/devices/system/node/node3/cpulist", "");  // memory only
  EXPECT_EQ(count_numa_nodes({1, 2}, root.path()), 1);
  EXPECT_EQ(count_numa_nodes({3, 4}, root.path()), 2);
}

TEST(ThisMachine, SaysWhatTheSystemSays) {
  const Machine machine = this_machine();
  char host[256];
  ASSERT_EQ(gethostname(host, sizeof host), 0);
  EXPECT_EQ(machine.host, host);
  EXPECT_EQ(machine.memory, std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
  EXPECT_GE(machine.usable_cores(), 1);
  EXPECT_LE(machine.usable_cores(), static_cast<int>(machine.cores.size()));
  EXPECT_LE(machine.physical_cores, static_cast<int>(machine.cores.size()));
  struct statvfs disk {};
  const bool has_shm = statvfs("/dev/shm", &disk) == 0;
  EXPECT_EQ(machine.shared_memory, has_shm ? static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize) : 0);
}

// What a kernel asks for is what the machine has; an independent list is the one of the build's own kernels.
TEST(ThisMachine, FeaturesAreAmongThoseThatTheKernelLists) {
  std::ifstream file("/proc/cpuinfo");
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const std::string& feature : this_machine().features)
    EXPECT_NE(all.find(" " + feature + " "), std::string::npos) << feature;
  const bool has_avx2 = !instruction_set().empty() && instruction_set() != "portable";
  EXPECT_GE(std::ranges::count(this_machine().features, "avx2"), has_avx2 ? 1 : 0);
}

TEST(ThisMachine, CoresAreThoseOfTheThreadThatAsks) {
  const std::vector<int> all = this_machine().cores;
  ASSERT_FALSE(all.empty());
  std::vector<int> seen;
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(all.back(), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    seen = this_machine().cores;
  }).join();
  EXPECT_EQ(seen, std::vector<int>{all.back()});
  EXPECT_EQ(this_machine().cores, all);
}

TEST(ThisMachine, LimitOfAGroupCountsInWholeCores) {
  Machine machine;
  machine.cores = {0, 1, 2, 3};
  EXPECT_EQ(machine.usable_cores(), 4);
  machine.core_limit = 1.5;
  EXPECT_EQ(machine.usable_cores(), 2);
  machine.core_limit = 64.0;
  EXPECT_EQ(machine.usable_cores(), 4);
  machine.core_limit = 0.1;
  EXPECT_EQ(machine.usable_cores(), 1);
}

TEST(ThisMachine, LoopbackIsAnInterface) {
  const std::vector<NetworkInterface> networks = this_machine().networks;
  const auto loopback = std::find_if(networks.begin(), networks.end(),
                                     [](const NetworkInterface& network) { return network.is_loopback; });
  ASSERT_NE(loopback, networks.end());
  if (!loopback->is_up) GTEST_SKIP() << "this sandbox has no network at all";
  EXPECT_NE(std::find(loopback->addresses.begin(), loopback->addresses.end(), "127.0.0.1"),
            loopback->addresses.end());
}

}  // namespace
}  // namespace ronde
