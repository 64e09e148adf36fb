// Model files of every kind with changed bytes: refused in one line, or of the same content; never a crash,
// and never another content that is taken for good.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>

#include <ronde/core/backend.h>
#include <ronde/data/npz.h>
#include <ronde/models/file_io.h>
#include <ronde/models/safetensors.h>

#include "keras_file/trailer.h"
#include "models/testing.h"
#include "rigs/checkpoints/content.h"
#include "rigs/checkpoints/rigs.h"
#include "support/temp_dir.h"

namespace ronde::rigs {
namespace {

using test::TempDir;

/// A file, and how to read one of its kind: its content in canonical bytes, or an InputError.
struct Kind {
  std::string name;
  std::string bytes;
  std::function<std::string(const std::string&)> content;
  /// Whether it has a SHA-256 of Ronde's, so that libhdf5 sees no damaged bytes. Where it has not, libhdf5
  /// works in a process of its own, whose crashes and endless loops are counted, and must be errors here. Nor
  /// has HDF5 checksums of texts, so another name or config may be taken for good there.
  bool is_sealed = true;
};

std::string model_content(const std::string& bytes) {
  return encode_saved_model(decode_saved_model(bytes, "mutant"));
}
// Not the metadata: with a changed key, the hash is some other program's text.
std::string safetensors_content(const std::string& bytes) {
  return encode_safetensors({decode_safetensors(bytes, "mutant").tensors, {}});
}
std::string npz_content(const std::string& bytes) {
  return encode_npz(decode_npz(bytes, "mutant"));
}

std::vector<Kind> make_kinds() {
  const TempDir dir(test::memory_directory());
  Model model = test::small_model({.backend = &backend("cpu")});
  const auto saved = [&](const std::string& name) {
    if (name.ends_with(".npz") || name.ends_with(".safetensors"))
      model.save_weights(dir / name);
    else
      model.save(dir / name);
    return read_file(dir / name);
  };
  const std::string checkpoint = encode_saved_model(content_of(7));
  return {{"checkpoint .h5", checkpoint, model_content},
          {"model .h5", saved("a.h5"), model_content},
          {".weights.h5", saved("a.weights.h5"), model_content},
          {".keras", saved("a.keras"), model_content},
          {".safetensors", saved("a.safetensors"), safetensors_content},
          {".npz", saved("a.npz"), npz_content},
          {".h5 without its SHA-256", checkpoint.substr(0, checkpoint.size() - kTrailerLength), model_content,
           false}};
}

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) {
  return end == 0 ? 0 : random() % end;
}

std::string mutate(const std::string& original, const std::string& donor, Random& random) {
  std::string bytes = original;
  const std::size_t at = below(random, bytes.size()), length = 1 + below(random, 64);
  const auto flip = [&](std::size_t where) {
    bytes[where] = static_cast<char>(bytes[where] ^ 1 << below(random, 8));
  };
  switch (random() % 10) {
    case 0:
    case 1:
      flip(at);
      break;
    case 2:
      for (int i = 0; i < 8; ++i) flip(below(random, bytes.size()));
      break;
    case 3:
      bytes[at] = static_cast<char>(random());
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes.append(length, static_cast<char>(random()));
      break;
    case 6:
      bytes.replace(at, length, std::string(std::min(length, bytes.size() - at), '\0'));
      break;
    case 7:
      bytes.erase(at, length);
      break;
    case 8:
      bytes.insert(at, donor.substr(below(random, donor.size()), length));
      break;
    default: {
      const std::size_t other = below(random, bytes.size());
      for (std::size_t i = 0; i < length && std::max(at, other) + i < bytes.size(); ++i)
        std::swap(bytes[at + i], bytes[other + i]);
    }
  }
  return bytes;
}

enum class Verdict : unsigned char { none, refused, contained, equal, accepted, many_lines };

Verdict judge(const Kind& kind, const std::string& bytes, const std::string& content) {
  try {
    return kind.content(bytes) == content ? Verdict::equal : Verdict::accepted;
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (text.find('\n') != text.npos) return Verdict::many_lines;
    const bool ended = text.find("crashed over it") != text.npos || text.find("it took more") != text.npos;
    return ended ? Verdict::contained : Verdict::refused;
  } catch (const Error&) {
    return Verdict::accepted;  // and what was read cannot even be written again
  }
}

struct Tally {
  std::int64_t refused = 0, contained = 0, equal = 0, accepted = 0, crashed = 0;
};

/// In children, since one mutant may end a process. The verdicts lie in memory that is shared with them.
Tally judge_all(const Kind& kind, std::int64_t trials, std::uint64_t seed) {
  constexpr rlim_t kMemory = rlim_t{2} << 30;
  const unsigned seconds_of_a_mutant = kind.is_sealed ? 10 : 60;
  const auto count = static_cast<std::size_t>(trials);
  auto* verdicts = static_cast<Verdict*>(
      ::mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const std::string content = kind.content(kind.bytes);
  const std::string donor = encode_saved_model(content_of(8));
  Tally tally;
  for (std::size_t next = 0; next < count;) {
    const int status = in_child([&] {
      const rlimit limit{kMemory, kMemory};
      ::setrlimit(RLIMIT_AS, &limit);
      for (std::size_t i = next; i < count; ++i) {
        Random random(seed + i);
        ::alarm(seconds_of_a_mutant);
        verdicts[i] = judge(kind, mutate(kind.bytes, donor, random), content);
      }
      return 0;
    });
    while (next < count && verdicts[next] != Verdict::none) ++next;
    if (status == 0) break;
    std::printf("  %s: mutant %zu (seed %llu) ended a process with %d\n", kind.name.c_str(), next,
                static_cast<unsigned long long>(seed + next), status);
    ++tally.crashed;
    ++next;
  }
  for (std::size_t i = 0; i < count; ++i) {
    tally.refused += verdicts[i] == Verdict::refused;
    tally.contained += verdicts[i] == Verdict::contained;
    tally.equal += verdicts[i] == Verdict::equal;
    tally.accepted += verdicts[i] == Verdict::accepted || verdicts[i] == Verdict::many_lines;
    if (verdicts[i] == Verdict::accepted)
      std::printf("  %s: mutant with seed %llu is accepted\n", kind.name.c_str(),
                  static_cast<unsigned long long>(seed + i));
  }
  ::munmap(verdicts, count);
  return tally;
}

}  // namespace

bool run_mutants(const RigOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Kind> kinds = make_kinds();
  const auto each = std::max<std::int64_t>(1, options.trials / (std::ssize(kinds) - 1));
  bool is_good = true;
  for (const Kind& kind : kinds) {
    const Tally tally = judge_all(kind, kind.is_sealed ? each : each / 4, options.seed);
    std::printf(
        "  %-24s %7zu bytes  %7lld refused  %3lld contained  %5lld equal  %4lld accepted  %4lld crashed\n",
        kind.name.c_str(), kind.bytes.size(), static_cast<long long>(tally.refused),
        static_cast<long long>(tally.contained), static_cast<long long>(tally.equal),
        static_cast<long long>(tally.accepted), static_cast<long long>(tally.crashed));
    is_good = is_good && (tally.accepted == 0 || !kind.is_sealed) && tally.crashed == 0 && tally.refused > 0;
  }
  std::printf("  %.1f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return is_good;
}

}  // namespace ronde::rigs
