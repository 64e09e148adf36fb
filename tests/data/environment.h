/// SetEnv: an environment variable for the length of a test.
#pragma once

#include <cstdlib>
#include <string>

namespace ronde::test {

class SetEnv {
 public:
  /// nullptr: unset
  SetEnv(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    set(value);
  }
  ~SetEnv() { set(had_ ? before_.c_str() : nullptr); }
  SetEnv(const SetEnv&) = delete;
  SetEnv& operator=(const SetEnv&) = delete;

 private:
  void set(const char* value) const {
    if (value)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }

  const char* name_;
  bool had_;
  std::string before_;
};

}  // namespace ronde::test
