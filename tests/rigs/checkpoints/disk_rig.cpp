// Power cuts on real file systems: while a program saves in a loop, the disk that its file system lies on is
// copied at a random moment, in one piece, and the copy is mounted as the next start of the machine would.
//
// The disk is a file on an XFS of our own, which copies a file by sharing its blocks (FICLONE). What the copy
// holds is what the file system had given to the disk by then; what it kept for later is gone. Needs root,
// loop devices, and mkfs of xfs and ext4.
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <ronde/core/error.h>

#include "rigs/checkpoints/content.h"
#include "rigs/checkpoints/protocols.h"
#include "rigs/checkpoints/rigs.h"
#include "support/temp_dir.h"

namespace ronde::rigs {
namespace {

using test::TempDir;

void run(const std::string& command) {
  require(std::system(cat(command, " >/dev/null 2>&1").c_str()) == 0, "failed: ", command);
}

/// A file system in a file, and where it is mounted.
class Volume {
 public:
  Volume(const std::string& image, const std::string& options) : place_(image + ".mounted") {
    std::filesystem::create_directory(place_);
    run(cat("mount -o loop", options, " ", image, " ", place_));
  }
  ~Volume() {
    run(cat("umount ", place_));
    std::filesystem::remove(place_);
  }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;
  const std::string& path() const { return place_; }

 private:
  std::string place_;
};

struct FileSystem {
  const char* name;
  const char* make;          // the command that makes one in a file
  const char* copy_options;  // of mounting a copy beside its original
};
constexpr FileSystem kExt4{"ext4", "mkfs.ext4 -q -F", ""};
constexpr FileSystem kXfs{"xfs", "mkfs.xfs -q -f", ",nouuid"};

void make_image(const std::string& path, const char* make, int megabytes) {
  run(cat("truncate -s ", megabytes, "M ", path));
  run(cat(make, " ", path));
}

/// All of `from` as it is at one moment.
void clone(const std::string& from, const std::string& to) {
  const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool is_cloned = in >= 0 && out >= 0 && ::ioctl(out, FICLONE, in) == 0;
  ::close(in);
  ::close(out);
  require(is_cloned, to, " could not be made from ", from, " by FICLONE");
}

/// A program that saves on and on, and says which step is safe.
class Saver {
 public:
  Saver(Protocol protocol, const std::string& directory) {
    int ends[2];
    require(::pipe2(ends, O_CLOEXEC) == 0, "no pipe");
    std::fflush(nullptr);
    child_ = ::fork();
    if (child_ == 0) {
      const auto say = [&](std::int64_t step) {
        if (::write(ends[1], &step, sizeof step) != sizeof step) ::_exit(3);
      };
      for (std::int64_t step = 1;; ++step) save(protocol, directory, step, say);
    }
    ::close(ends[1]);
    said_ = ends[0];
  }
  ~Saver() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::close(said_);
  }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  /// The last step that it has said to be safe by now.
  std::int64_t safe() {
    pollfd ready{.fd = said_, .events = POLLIN, .revents = 0};
    while (::poll(&ready, 1, 0) == 1 && ::read(said_, &last_, sizeof last_) == sizeof last_) {
    }
    return last_;
  }

 private:
  pid_t child_ = 0;
  int said_ = -1;
  std::int64_t last_ = 0;
};

struct Tally {
  std::int64_t cuts = 0, unreadable = 0, wrong = 0, lost = 0;
  bool is_clean() const { return unreadable + wrong + lost == 0; }
};

/// Cuts during one life of a program; up to the first fault, where one is looked for.
Tally cut_power(const std::string& host, const FileSystem& kind, Protocol protocol, std::int64_t cuts,
                bool until_fault, std::mt19937_64& random) {
  constexpr int kMegabytes = 320, kLongest = 300;  // XFS takes no less; milliseconds from a cut to the next
  const std::string image = host + "/disk", copy = host + "/copy";
  make_image(image, kind.make, kMegabytes);
  const Volume disk(image, "");
  Saver saver(protocol, disk.path());
  Tally tally;
  while (tally.cuts < cuts && !(until_fault && !tally.is_clean())) {
    ::usleep(static_cast<useconds_t>(random() % (kLongest * 1000)));
    const std::int64_t safe = saver.safe();
    clone(image, copy);
    const Volume after(copy, kind.copy_options);
    const Found found = find(after.path());
    ++tally.cuts;
    tally.unreadable += !found.damaged.empty();
    tally.wrong += !found.is_right;
    tally.lost += found.step < safe;
  }
  return tally;
}

bool report(const FileSystem& kind, Protocol protocol, const Tally& tally) {
  std::printf("  %-5s %-21s %5lld cuts  %4lld unreadable  %4lld wrong  %4lld said to be safe and lost\n",
              kind.name, name_of(protocol), static_cast<long long>(tally.cuts),
              static_cast<long long>(tally.unreadable), static_cast<long long>(tally.wrong),
              static_cast<long long>(tally.lost));
  std::fflush(stdout);
  return (protocol == Protocol::full) == tally.is_clean();
}

}  // namespace

bool run_disks(const RigOptions& options) {
  constexpr int kHostMegabytes = 4096;  // of a file with holes
  constexpr std::int64_t kMostForFault = 100;
  std::mt19937_64 random(options.seed);
  const TempDir dir;
  const std::string outer = dir / "xfs";
  make_image(outer, kXfs.make, kHostMegabytes);
  const Volume host(outer, "");
  bool is_good = true;
  for (const FileSystem& kind : {kExt4, kXfs}) {
    const auto cut = [&](Protocol protocol, std::int64_t cuts, bool until_fault) {
      const Tally tally = cut_power(host.path(), kind, protocol, cuts, until_fault, random);
      is_good = report(kind, protocol, tally) && is_good;
    };
    cut(Protocol::full, options.trials, false);
    for (const Protocol control : {Protocol::no_fsync, Protocol::no_dir_fsync})
      cut(control, kMostForFault, true);
  }
  return is_good;
}

}  // namespace ronde::rigs
