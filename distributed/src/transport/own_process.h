/// OwnProcess: whether this is the process that made something. The child of a `fork` has the memory of its
/// parent and none of its threads; what the parent shares with other ranks is not the child's to give up.
#pragma once

#include <type_traits>
#include <utility>

#include <unistd.h>

namespace ronde::inline v0 {

class OwnProcess {
 public:
  bool is_here() const { return getpid() == process_; }

 private:
  pid_t process_ = getpid();
};

/// Left in memory for ever: a child must not end what its parent goes on with.
template <class T>
void leak(T&& value) {
  static_cast<void>(new std::remove_cvref_t<T>(std::forward<T>(value)));
}

}  // namespace ronde::inline v0
