#include "common/same_options.h"

#include <algorithm>

#include <ronde/core/tensor.h>

namespace ronde::apps {
namespace {

// FNV-1a, 64 bits: enough to notice a difference, which is then looked at as text.
std::int64_t hash(const std::string& text) {
  std::uint64_t h = 14695981039346656037u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<std::int64_t>(h);
}

// The smallest of the hashes is also the largest: min(~h) = ~max(h).
bool all_equal(Communicator& world, const std::string& text) {
  const std::int64_t h = hash(text);
  const Tensor extremes = Tensor::from<std::int64_t>({2}, {h, ~h});
  world.allreduce(extremes, Reduction::min).wait();
  const auto values = extremes.to_vector<std::int64_t>();
  return values[0] == ~values[1];
}

int first_other(const std::vector<std::string>& texts) {
  for (std::size_t r = 1; r < texts.size(); ++r)
    if (texts[r] != texts[0]) return static_cast<int>(r);
  return 0;
}

// "name\nvalue\n" of each, with blanks for newlines in values.
std::string to_text(const std::map<std::string, std::string>& settings) {
  std::string text;
  for (auto [name, value] : settings) {
    std::replace(value.begin(), value.end(), '\n', ' ');
    text += name + "\n" + value + "\n";
  }
  return text;
}

std::map<std::string, std::string> from_text(const std::string& text) {
  std::map<std::string, std::string> settings;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t middle = text.find('\n', at);
    const std::size_t end = text.find('\n', middle + 1);
    settings[text.substr(at, middle - at)] = text.substr(middle + 1, end - middle - 1);
    at = end + 1;
  }
  return settings;
}

// The first option in which they differ, as each of them has it.
std::pair<std::string, std::string> difference(const std::map<std::string, std::string>& a,
                                               const std::map<std::string, std::string>& b) {
  std::map<std::string, std::string> all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [name, value] : all) {
    const auto in_a = a.find(name), in_b = b.find(name);
    if (in_a != a.end() && in_b != b.end() && in_a->second == in_b->second) continue;
    const auto show = [&name = name](auto found, auto end) {
      return found == end ? cat("without --", name) : cat("with --", name, " ", found->second);
    };
    return {show(in_a, a.end()), show(in_b, b.end())};
  }
  return {};
}

}  // namespace

void require_same_options(Communicator& world, const std::map<std::string, std::string>& settings) {
  const std::string text = to_text(settings);
  if (all_equal(world, text)) return;
  const std::vector<std::string> texts = allgather_strings(world, text);
  const int other = first_other(texts);
  const auto [first, second] =
      difference(from_text(texts[0]), from_text(texts[static_cast<std::size_t>(other)]));
  throw CollectiveError(
      cat("rank ", other, " was started ", second, ", rank 0 ", first, ": give all ranks the same options"),
      ExitStatus::usage, other);
}

void require_same(Communicator& world, const std::string& what, const std::string& value, ExitStatus status) {
  if (all_equal(world, value)) return;
  const std::vector<std::string> values = allgather_strings(world, value);
  const int other = first_other(values);
  throw CollectiveError(cat(what, " differs between ranks: rank ", other, " has ",
                            values[static_cast<std::size_t>(other)], ", rank 0 has ", values[0]),
                        status, other);
}

}  // namespace ronde::apps
