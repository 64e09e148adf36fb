#include "backend/onednn/single_threaded.h"

#include <dlfcn.h>

namespace ronde::inline v0 {

namespace {

// The OpenMP runtime that oneDNN brought into the process, found by name: linking one here could bring in a
// second. Without any (another threading runtime) there is nothing to limit.
struct OpenMp {
  int (*get_max_threads)();
  void (*set_num_threads)(int);

  static const OpenMp& instance() {
    static const OpenMp found{reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")),
                              reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))};
    return found;
  }
  bool usable() const { return get_max_threads && set_num_threads; }
};

}  // namespace

SingleThreaded::SingleThreaded() : before_(1) {
  const OpenMp& openmp = OpenMp::instance();
  if (!openmp.usable()) return;
  before_ = openmp.get_max_threads();
  if (before_ != 1) openmp.set_num_threads(1);
}

SingleThreaded::~SingleThreaded() {
  if (before_ != 1) OpenMp::instance().set_num_threads(before_);
}

}  // namespace ronde::inline v0
