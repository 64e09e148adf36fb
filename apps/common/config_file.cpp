#include "common/config_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <ronde/core/error.h>
#include <ronde/distributed/runtime.h>

namespace ronde::apps {
namespace {

constexpr const char* kBlanks = " \t\r";
constexpr const char* kDescriptors = "/dev/fd/";  // where a shell has what <(...) writes

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Without the mark that editors of some systems put in front of UTF-8.
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

bool is_comment(std::string_view text) {
  return text.starts_with('#') || text.starts_with(';');
}

// Without a comment, which begins behind a blank: a name of a file may have a '#'.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i)
    if (is_comment(text.substr(i)) && std::string_view(kBlanks).find(text[i - 1]) != std::string_view::npos)
      return trimmed(text.substr(0, i));
  return text;
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  std::vector<ConfigLine> read() {
    std::error_code ignored;
    const std::filesystem::file_status status = std::filesystem::status(path_, ignored);
    require<UsageError>(!std::filesystem::is_directory(status), "--config ", path_,
                        ": is a directory, not a file of options");
    require<UsageError>(
        !std::filesystem::is_character_file(status) && !std::filesystem::is_block_file(status), "--config ",
        path_, ": is a device, not a file of options");
    require<UsageError>(!std::filesystem::is_fifo(status) || !was_launched(), "--config ", path_,
                        ": is a pipe, which one process alone can read, and every rank reads its options: "
                        "write them to a file");
    std::ifstream file(path_);
    require<UsageError>(file.is_open(), "--config ", path_, ": ", std::strerror(errno),
                        was_launched() && path_.starts_with(kDescriptors)
                            ? ": a launcher does not pass <(...) on to the ranks: write the options to a file"
                            : "");
    for (std::string line; std::getline(file, line);) {
      const bool is_first = number_++ == 0;
      const std::string_view text = trimmed(is_first ? without_mark(line) : line);
      if (!text.empty() && !is_comment(text)) take(text);
    }
    return std::move(lines_);
  }

 private:
  template <class... Pieces>
  void expect(bool condition, const Pieces&... pieces) const {
    require<UsageError>(condition, place(), ": ", pieces...);
  }
  std::string place() const { return cat(path_, ':', number_); }

  void take(std::string_view text) {
    if (text.starts_with('[')) return take_section(without_comment(text));
    const std::size_t sign = text.find('=');
    const std::string_view name = trimmed(text.substr(0, sign));
    expect(!name.empty(), "a name of an option is missing in front of =");
    if (sign == std::string_view::npos) return add(std::string(without_comment(text)), "true");
    add(std::string(name), value_of(trimmed(text.substr(sign + 1))));
  }

  void take_section(std::string_view text) {
    expect(text.size() > 2 && text.ends_with(']'), "expected a section like [train_mnist], got ", text);
    section_ = trimmed(text.substr(1, text.size() - 2));
    lines_.push_back({.section = section_, .name = {}, .value = {}, .place = place()});
  }

  std::string value_of(std::string_view text) const {
    if (!text.starts_with('"') && !text.starts_with('\'')) return std::string(without_comment(text));
    const std::size_t end = text.find(text[0], 1);
    expect(end != std::string_view::npos, "a quotation mark is missing behind ", text);
    const std::string_view rest = trimmed(text.substr(end + 1));
    expect(rest.empty() || is_comment(rest), "unexpected ", rest, " behind a value");
    return std::string(text.substr(1, end - 1));
  }

  void add(const std::string& name, const std::string& value) {
    for (const ConfigLine& line : lines_)
      expect(line.section != section_ || line.name != name, name, " is there already: ", line.place);
    lines_.push_back({.section = section_, .name = name, .value = value, .place = place()});
  }

  std::string path_, section_;
  int number_ = 0;
  std::vector<ConfigLine> lines_;
};

}  // namespace

std::vector<ConfigLine> read_config_file(const std::string& path) {
  return Reader(path).read();
}

}  // namespace ronde::apps
