#include "common/same_rate.h"

#include <ronde/core/error.h>

namespace ronde::apps {
namespace {

template <class T>
void require_same(const char* what, T before, T now) {
  require<UsageError>(before == now, "cannot resume: the run to go on with has ", what, " ", before,
                      ", this one has ", now, ": give the same, or begin a new run in another --dir");
}

}  // namespace

CallbackState SameRate::state() const {
  return {{{"learning_rate", rate_}, {"warmup_epochs", warmup_epochs_}}, {}};
}

void SameRate::require_same_run(const CallbackState& state) const {
  const ConfigValue values(state.values);
  require_same("learning rate", values.at("learning_rate").as_double(), rate_);
  require_same("warmup epochs", values.at("warmup_epochs").as_int(), warmup_epochs_);
}

}  // namespace ronde::apps
