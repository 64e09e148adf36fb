// A power cut keeps what was synced, and of the rest anything from nothing to all. The calls of three saves
// are recorded; then every state is made in which a disk may be after each of them, and looked at.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "rigs/checkpoints/content.h"
#include "rigs/checkpoints/protocols.h"
#include "rigs/checkpoints/rigs.h"
#include "rigs/checkpoints/system_calls.h"
#include "support/temp_dir.h"

namespace ronde::rigs {
namespace {

using test::TempDir;
using Kind = SystemCall::Kind;

/// A file, whatever its name.
struct File {
  std::string durable;  // what was synced
  std::string bytes;    // what a program sees
  bool is_durable() const { return durable == bytes; }
};

/// A change of the directory that is not synced yet.
struct Change {
  std::optional<std::string> removed;
  std::optional<std::pair<std::string, int>> added;  // name, file
};

/// A disk as it goes on from call to call.
struct Disk {
  std::map<std::string, int> durable_names, names;
  std::vector<Change> changes;
  std::vector<File> files;

  void apply(const SystemCall& call) {
    const auto found = names.find(call.path);
    switch (call.kind) {
      case Kind::create:
        if (found == names.end()) {
          files.push_back({});
          add(call.path, static_cast<int>(files.size()) - 1);
        } else {
          files[static_cast<std::size_t>(found->second)].bytes.clear();  // in place: O_TRUNC
        }
        break;
      case Kind::write:
        // The name may be another one by now; the file that was opened last is meant.
        files[static_cast<std::size_t>(found == names.end() ? names.rbegin()->second : found->second)]
            .bytes += call.bytes;
        break;
      case Kind::fsync:
        if (found != names.end()) {
          File& file = files[static_cast<std::size_t>(found->second)];
          file.durable = file.bytes;
        }
        break;
      case Kind::sync_directory:
        durable_names = names;
        changes.clear();
        break;
      case Kind::rename: {
        const int file = found->second;
        changes.push_back({call.path, std::pair(call.other, file)});
        names.erase(found);
        names[call.other] = file;
        break;
      }
      case Kind::unlink:
        if (found == names.end()) break;
        changes.push_back({call.path, {}});
        names.erase(found);
        break;
      default:
        break;
    }
  }
  void add(const std::string& name, int file) {
    changes.push_back({{}, std::pair(name, file)});
    names[name] = file;
  }
};

/// What may have become of a file's bytes: what was synced, or any part of what came after it.
std::vector<std::string> contents_of(const File& file) {
  std::vector<std::string> contents{file.durable};
  if (file.is_durable()) return contents;
  const std::size_t size = file.bytes.size();
  contents.push_back(file.bytes);
  contents.push_back(file.bytes.substr(0, size / 2));
  contents.push_back("");
  contents.push_back(std::string(size, '\0'));  // the length was written, the data were not
  contents.push_back(file.bytes.substr(0, size / 2) + std::string(size - size / 2, '\0'));
  return contents;
}

struct Tally {
  std::int64_t states = 0, unreadable = 0, wrong = 0, lost = 0;
  bool is_clean() const { return unreadable + wrong + lost == 0; }
};

/// Puts one state into a directory and looks at it.
void look(const std::map<std::string, std::string>& state, std::int64_t safe, Tally& tally) {
  const TempDir dir(test::memory_directory());
  for (const auto& [name, bytes] : state)
    std::ofstream(dir / std::filesystem::path(name).filename().string(), std::ios::binary) << bytes;
  const Found found = find(dir.path());
  ++tally.states;
  tally.unreadable += !found.damaged.empty();
  tally.wrong += !found.is_right;
  tally.lost += found.step < safe;
}

/// Every subset of the changes of the directory, which a journal would keep in order but nothing promises,
/// with every content of a file that is not synced.
void look_at_all(const Disk& disk, std::int64_t safe, std::set<std::map<std::string, std::string>>& seen,
                 Tally& tally) {
  for (std::size_t subset = 0; subset < std::size_t{1} << disk.changes.size(); ++subset) {
    std::map<std::string, int> names = disk.durable_names;
    for (std::size_t i = 0; i < disk.changes.size(); ++i) {
      if ((subset >> i & 1) == 0) continue;
      if (disk.changes[i].removed) names.erase(*disk.changes[i].removed);
      if (disk.changes[i].added) names[disk.changes[i].added->first] = disk.changes[i].added->second;
    }
    std::vector<std::map<std::string, std::string>> states(1);
    for (const auto& [name, file] : names) {
      std::vector<std::map<std::string, std::string>> more;
      for (const std::string& content : contents_of(disk.files[static_cast<std::size_t>(file)]))
        for (auto state : states) {
          state[name] = content;
          more.push_back(std::move(state));
        }
      states = std::move(more);
    }
    for (const auto& state : states) {
      auto key = state;
      key["safe"] = std::to_string(safe);
      if (seen.insert(key).second) look(state, safe, tally);
    }
  }
}

Tally cut_power(Protocol protocol) {
  constexpr std::int64_t kSaves = 3;
  const TempDir dir(test::memory_directory());
  std::vector<std::pair<std::size_t, std::int64_t>> safe_from;  // calls made when a step was said to be safe
  start(dir.path());
  for (std::int64_t step = 1; step <= kSaves; ++step)
    save(protocol, dir.path(), step,
         [&](std::int64_t acknowledged) { safe_from.emplace_back(call_count(), acknowledged); });
  const std::vector<SystemCall> calls = stop();
  Disk disk;
  Tally tally;
  std::set<std::map<std::string, std::string>> seen;
  for (std::size_t i = 0; i <= calls.size(); ++i) {
    std::int64_t safe = 0;
    for (const auto& [from, step] : safe_from)
      if (i >= from) safe = step;
    look_at_all(disk, safe, seen, tally);
    if (i < calls.size()) disk.apply(calls[i]);
  }
  return tally;
}

}  // namespace

bool run_power_cuts() {
  bool is_good = true;
  for (const Protocol protocol :
       {Protocol::full, Protocol::in_place, Protocol::no_fsync, Protocol::no_dir_fsync}) {
    const Tally tally = cut_power(protocol);
    std::printf("  %-22s %5lld states  %5lld unreadable  %5lld wrong  %5lld said to be safe and lost\n",
                name_of(protocol), static_cast<long long>(tally.states),
                static_cast<long long>(tally.unreadable), static_cast<long long>(tally.wrong),
                static_cast<long long>(tally.lost));
    is_good = is_good && tally.is_clean() == (protocol == Protocol::full) && tally.states > 20;
  }
  return is_good;
}

}  // namespace ronde::rigs
