/// A checked call, carried out on a transport whose ranks have met.
#pragma once

#include <functional>
#include <string>

#include <ronde/distributed/collective.h>

#include "transport/transport.h"

namespace ronde::inline v0 {

/// Brings this rank's error, "" if there is none, to a further meeting, which throws on all ranks when one
/// has an error.
using AgreeOnError = std::function<void(const std::string& error)>;

/// What a transport may know of a call whose buffers are as it will get them: empty for many calls.
Announcement announcement_of(const Collective& call);

/// The memory that a call takes besides its tensors, from before the ranks meet until it is over: also the
/// transport's own.
class Workspace {
 public:
  /// Throws where there is not so much.
  Workspace(const Collective& call, Transport& transport);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Of a reduce_scatter, for its input times prescale; else undefined.
  const Tensor& scaled() const { return scaled_; }

 private:
  Transport* reserved_ = nullptr;
  Tensor scaled_;
};

/// `agree_on_error` is called by operations that make room for what they receive.
void run_collective(const Collective& call, const Workspace& workspace, Transport& transport,
                    const AgreeOnError& agree_on_error);

/// Of `rows` rows, those of each of `size` ranks: the first rows % size get one more.
std::vector<std::int64_t> even_rows(std::int64_t rows, int size);

}  // namespace ronde::inline v0
