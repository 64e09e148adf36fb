#include "tcp/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ronde/core/error.h>

namespace ronde::inline v0 {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kLongestText = 1 << 24;
constexpr double kForEver = 3e7;  // seconds
constexpr int kAttempts = 5;      // of sending the same again, which takes 6 seconds or more

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const Address& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  require<IoError>(code == 0, "[tcp] cannot find host ", address.host, ": ", gai_strerror(code));
  return AddressList(found, &freeaddrinfo);
}

bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{fd, events, 0};
  for (;;) {
    const int ready = poll(&entry, 1, deadline.left());
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// Small messages leave at once; a peer whose machine is gone is noticed within seconds.
void prepare(int fd) {
  const int on = 1;
  const int seconds = 1;
  const int probes = 5;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

// `data` in both directions, as `move` (send or recv) does it.
template <class F>
bool move_all(int fd, short events, std::size_t bytes, const Deadline& deadline, F&& move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = move(done, bytes - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR) || !wait_for(fd, events, deadline)) {
      return false;
    }
  }
  return true;
}

bool send_all(int fd, const void* data, std::size_t bytes, const Deadline& deadline) {
  return move_all(fd, POLLOUT, bytes, deadline, [&](std::size_t done, std::size_t left) {
    return send(fd, static_cast<const char*>(data) + done, left, MSG_NOSIGNAL);
  });
}

bool receive_all(int fd, void* data, std::size_t bytes, const Deadline& deadline) {
  return move_all(fd, POLLIN, bytes, deadline, [&](std::size_t done, std::size_t left) {
    return recv(fd, static_cast<char*>(data) + done, left, 0);
  });
}

// 0: `socket` is connected with `there`.
int connect_error(const Socket& socket, const addrinfo& there, const Deadline& deadline) {
  if (!socket.is_open()) return errno;
  if (connect(socket.fd(), there.ai_addr, there.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!wait_for(socket.fd(), POLLOUT, deadline)) return ETIMEDOUT;
  }
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

Socket::~Socket() {
  close();
}

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Socket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::string to_string(const Address& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return is_v6 ? cat('[', address.host, "]:", address.port) : cat(address.host, ':', address.port);
}

std::optional<Address> find_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Address address;
  if (colon != std::string::npos) {
    address.host = text.substr(0, colon);
    const std::string port = text.substr(colon + 1);
    const bool is_number = !port.empty() && port.size() <= 5 &&
                           std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) address.port = std::stoi(port);
    if (address.host.size() > 2 && address.host.front() == '[')
      address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (address.host.empty() || address.port <= 0 || address.port >= 65536) return {};
  return address;
}

Address parse_address(const std::string& text) {
  const std::optional<Address> address = find_address(text);
  require<UsageError>(address.has_value(), "[tcp] expects host:port, got ", text);
  return *address;
}

bool is_numeric(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

Deadline::Deadline(double seconds)
    : end_(std::chrono::steady_clock::now() +
           milliseconds(static_cast<std::int64_t>(std::min(seconds, kForEver) * 1e3))) {}

int Deadline::left() const {
  const auto left = std::chrono::duration_cast<milliseconds>(end_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

Socket listen_at(const Address& address) {
  const AddressList list = resolve(address);
  int error = 0;  // of the first
  for (const addrinfo* one = list.get(); one; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (socket.is_open() && setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(socket.fd(), one->ai_addr, one->ai_addrlen) == 0 && listen(socket.fd(), SOMAXCONN) == 0)
      return socket;
    if (error == 0) error = errno;
  }
  throw IoError(cat("[tcp] cannot listen at ", address, ": ", std::strerror(error)));
}

Socket accept_from(const Socket& listener, const Deadline& deadline) {
  while (wait_for(listener.fd(), POLLIN, deadline)) {
    Socket socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    require<IoError>(socket.is_open() || (errno != EMFILE && errno != ENFILE && errno != ENOMEM),
                     "[tcp] cannot accept a connection: ", std::strerror(errno));
    if (!socket.is_open()) continue;  // it went away again
    prepare(socket.fd());
    return socket;
  }
  return {};
}

Socket Callers::next(const Deadline& deadline) {
  while (!deadline.is_over()) {
    std::vector<pollfd> watched;
    for (const Socket& socket : silent_) watched.push_back({socket.fd(), POLLIN, 0});
    for (const Socket& socket : listeners_) watched.push_back({socket.fd(), POLLIN, 0});
    if (poll(watched.data(), watched.size(), deadline.left()) <= 0) continue;
    const auto first =
        std::find_if(watched.begin(), watched.end(), [](const pollfd& w) { return w.revents != 0; });
    const auto index = static_cast<std::size_t>(first - watched.begin());
    if (index < silent_.size()) {
      const auto found = silent_.begin() + (first - watched.begin());
      Socket caller = std::move(*found);
      silent_.erase(found);
      return caller;
    }
    admit(listeners_[index - silent_.size()]);
  }
  return {};
}

void Callers::admit(const Socket& listener) {
  constexpr std::size_t kMost = 200;  // who says nothing for so long that so many came after it has to go
  Socket caller = accept_from(listener, Deadline(0.0));  // unless it has gone again
  if (caller.is_open()) silent_.push_back(std::move(caller));
  if (silent_.size() > kMost) silent_.erase(silent_.begin());
}

Socket connect_to(const Address& address, const Deadline& deadline, std::string& problem) {
  const AddressList list = resolve(address);
  for (const addrinfo* one = list.get(); one; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int error = connect_error(socket, *one, deadline);
    if (error == 0) {
      prepare(socket.fd());
      return socket;
    }
    problem = cat(address, ": ", std::strerror(error));
  }
  return {};
}

std::vector<Socket> spare_sockets(std::size_t count) {
  std::vector<Socket> sockets;
  while (sockets.size() < count) {
    sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    require<IoError>(sockets.back().is_open(), "[tcp] cannot have ", count,
                     " more sockets: ", std::strerror(errno));
  }
  return sockets;
}

bool wait_for_input(const Socket& socket, const Deadline& deadline) {
  return wait_for(socket.fd(), POLLIN, deadline);
}

bool has_ended(const Socket& socket) {
  pollfd entry{socket.fd(), POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0;
}

bool is_lost(const Socket& socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_retransmits >= kAttempts;
}

Address own_address(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const bool is_known = getsockname(socket.fd(), address, &length) == 0 &&
                        getnameinfo(address, length, host, sizeof host, port, sizeof port,
                                    NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  require<IoError>(is_known, "[tcp] cannot tell the address of a socket: ", std::strerror(errno));
  return {host, std::stoi(port)};
}

bool send_bytes(const Socket& socket, const void* data, std::size_t bytes, const Deadline& deadline) {
  return send_all(socket.fd(), data, bytes, deadline);
}

bool send_text(const Socket& socket, const std::string& text, const Deadline& deadline) {
  const auto length = static_cast<std::uint32_t>(text.size());
  return send_all(socket.fd(), &length, sizeof length, deadline) &&
         send_all(socket.fd(), text.data(), text.size(), deadline);
}

bool receive_text(const Socket& socket, std::string& text, const Deadline& deadline) {
  std::uint32_t length = 0;
  if (!receive_all(socket.fd(), &length, sizeof length, deadline) || length > kLongestText) return false;
  text.resize(length);
  return receive_all(socket.fd(), text.data(), length, deadline);
}

}  // namespace ronde::inline v0
