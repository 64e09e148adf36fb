#include "tcp/mesh.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include <ronde/core/error.h>

#include "transport/rank_left.h"
#include "transport/ranks_text.h"

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kLargestPiece = 1 << 20;  // bytes in one call of the system
constexpr int kLook = 1000;                      // milliseconds between two looks for what is lost
constexpr double kFarewell = 2.0;                // seconds for all goodbyes
constexpr std::int64_t kGoodbye = 0x65796264'6f6f6721;

struct Goodbye {
  std::int64_t word = kGoodbye;
  std::int64_t meetings = 0;
};

bool must_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Mesh::Mesh(int rank, std::vector<Socket> links) : rank_(rank), peers_(links.size()) {
  for (std::size_t r = 0; r < links.size(); ++r) peers_[r].link = std::move(links[r]);
}

Mesh::~Mesh() {
  if (is_broken_) return;  // in the middle of something: a goodbye would be taken for data
  const Goodbye goodbye{.meetings = meetings_};
  // It fits into the system's buffer, unless the other rank has not read what is there already. Without it
  // that rank would take this one for dead, though it had all from it.
  const Deadline deadline(kFarewell);
  for (const Peer& peer : peers_) {
    if (peer.link.is_open()) send_bytes(peer.link, &goodbye, sizeof goodbye, deadline);
  }
}

void Mesh::exchange(std::vector<Outgoing> outs, std::vector<Incoming> ins) {
  const auto is_done = [](const auto& part) { return part.bytes == 0; };
  for (;;) {
    bool has_moved = false;
    for (Incoming& in : ins) has_moved |= receive_some(in);
    for (Outgoing& out : outs) has_moved |= send_some(out);
    std::erase_if(outs, is_done);
    std::erase_if(ins, is_done);
    if (outs.empty() && ins.empty()) return;
    if (!has_moved) sleep(outs, ins);
  }
}

bool Mesh::send_some(Outgoing& out) {
  if (out.bytes == 0) return false;
  const int fd = peer(out.rank).link.fd();
  const auto piece = static_cast<std::size_t>(std::min(out.bytes, kLargestPiece));
  const ssize_t sent = fd < 0 ? -1 : send(fd, out.data, piece, MSG_NOSIGNAL);
  if (sent < 0 && fd >= 0 && must_wait()) return false;
  if (sent < 0) throw_gone(out.rank);
  out.data = static_cast<const char*>(out.data) + sent;
  out.bytes -= sent;
  return sent > 0;
}

bool Mesh::receive_some(Incoming& in) {
  if (in.bytes == 0) return false;
  Peer& from = peer(in.rank);
  std::int64_t received = std::min(in.bytes, std::ssize(from.ahead));
  if (received > 0) {
    std::memcpy(in.data, from.ahead.data(), static_cast<std::size_t>(received));
    from.ahead.erase(from.ahead.begin(), from.ahead.begin() + received);
  } else {
    const int fd = from.link.fd();
    const auto piece = static_cast<std::size_t>(std::min(in.bytes, kLargestPiece));
    received = fd < 0 ? 0 : recv(fd, in.data, piece, 0);
    if (received < 0 && must_wait()) return false;
    if (received <= 0) throw_gone(in.rank);
  }
  in.data = static_cast<char*>(in.data) + received;
  in.bytes -= received;
  return true;
}

void Mesh::sleep(const std::vector<Outgoing>& outs, const std::vector<Incoming>& ins) {
  std::vector<pollfd> entries;
  for (const Peer& peer : peers_) entries.push_back({peer.link.fd(), POLLRDHUP, 0});  // -1 is passed over
  const auto want = [&](int rank, short event) { entries[static_cast<std::size_t>(rank)].events |= event; };
  for (const Outgoing& out : outs) want(out.rank, POLLOUT);
  for (const Incoming& in : ins) want(in.rank, POLLIN);
  const int ready = poll(entries.data(), entries.size(), kLook);
  if (ready == 0) look_for_lost();
  if (ready <= 0) return;
  for (int r = 0; r < size(); ++r) {
    const pollfd& entry = entries[static_cast<std::size_t>(r)];
    const bool has_left = entry.revents & (POLLRDHUP | POLLHUP | POLLERR);
    // Whom we receive from tells us there.
    if (has_left && !(entry.events & POLLIN)) read_to_the_end(r);
  }
}

// See Note [Leaving].
void Mesh::read_to_the_end(int rank) {
  Peer& from = peer(rank);
  char buffer[1 << 16];
  for (;;) {
    const ssize_t received = recv(from.link.fd(), buffer, sizeof buffer, 0);
    if (received < 0 && must_wait()) return;
    if (received <= 0) break;
    from.ahead.insert(from.ahead.end(), buffer, buffer + received);
  }
  Goodbye goodbye{.word = 0};
  if (from.ahead.size() >= sizeof goodbye)
    std::memcpy(&goodbye, from.ahead.data() + from.ahead.size() - sizeof goodbye, sizeof goodbye);
  if (goodbye.word != kGoodbye || goodbye.meetings < meetings_) throw_gone(rank);
  from.ahead.resize(from.ahead.size() - sizeof goodbye);
  from.link.close();
}

// See Note [Leaving].
void Mesh::look_for_lost() {
  for (int r = 0; r < size(); ++r) {
    const Socket& link = peer(r).link;
    if (link.is_open() && is_lost(link)) throw_gone(r);
  }
}

// Of those that have gone, some went because of another one, so all are named that this rank can see.
void Mesh::throw_gone(int rank) {
  is_broken_ = true;
  std::vector<int> gone;
  for (int r = 0; r < size(); ++r) {
    const Socket& link = peer(r).link;
    if (r == rank || (link.is_open() && has_ended(link))) gone.push_back(r);
  }
  throw RankGone(cat("[tcp] ", ranks_text(gone), gone.size() == 1 ? " has" : " have", " gone; rank ", rank_,
                     " still waits for rank ", rank));
}

}  // namespace ronde::inline v0
