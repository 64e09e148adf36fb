#include "shm/peer_watch.h"

#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ronde::inline v0 {

PeerWatch::PeerWatch(const std::vector<int>& processes) {
  for (const int process : processes) {
    const bool is_other = process != getpid();
    peers_.push_back({process, is_other ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1});
  }
}

PeerWatch::~PeerWatch() {
  for (const Peer& peer : peers_) {
    if (peer.file >= 0) close(peer.file);
  }
}

int PeerWatch::find_dead() const {
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    const Peer& peer = peers_[r];
    pollfd query{peer.file, POLLIN, 0};
    const bool is_dead =
        peer.file >= 0 ? poll(&query, 1, 0) > 0 : kill(peer.process, 0) != 0 && errno == ESRCH;
    if (is_dead) return static_cast<int>(r);
  }
  return -1;
}

}  // namespace ronde::inline v0
