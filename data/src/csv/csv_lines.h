/// CsvLines: the lines of a text file, plain or compressed; CsvFields: the fields of a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "files/byte_reader.h"

namespace ronde::inline v0 {

class CsvLines {
 public:
  explicit CsvLines(const std::string& path);

  /// The next line that is not empty, without its end; false at the end of the file. Valid until the next
  /// call.
  bool next(std::string_view& line);
  /// Throws an InputError about the present line unless `ok`.
  template <class... Pieces>
  void expect(bool ok, const Pieces&... pieces) const {
    if (!ok) [[unlikely]]
      throw InputError(cat("data: ", file_.path(), ":", number_, ": ", pieces...));
  }
  const InputFile& file() const { return file_; }
  /// Of the present line, from 1.
  std::size_t number() const { return number_; }

 private:
  std::size_t find_end();
  bool fill();

  InputFile file_;
  ByteReader reader_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what is read and not yet given out
  std::size_t number_ = 0;
};

class CsvFields {
 public:
  CsvFields(std::string_view line, char delimiter) : rest_(line), delimiter_(delimiter) {}

  bool at_end() const { return at_end_; }
  /// The next field, without the quotes and spaces around it. Not at the end.
  std::string_view next();
  /// The same for a field that is nothing but one to three digits, and quicker; false: it is not, and not
  /// taken.
  bool next_small(int& value);

 private:
  void remove(std::size_t bytes);

  std::string_view rest_;
  char delimiter_;
  bool at_end_ = false;
};

}  // namespace ronde::inline v0
