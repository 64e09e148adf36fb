/// SingleThreaded: while one lives, oneDNN uses only the calling thread, which is one of our pool's.
///
/// oneDNN usually comes with OpenMP and would start a team of threads inside each of ours. The limit is
/// OpenMP's own per-thread setting; what the application had set is put back.
#pragma once

namespace ronde::inline v0 {

class SingleThreaded {
 public:
  SingleThreaded();
  ~SingleThreaded();
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;

 private:
  int before_;
};

}  // namespace ronde::inline v0
