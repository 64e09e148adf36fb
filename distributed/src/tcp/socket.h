/// TCP sockets with deadlines. Nothing here spins: who waits sleeps in poll.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ronde::inline v0 {

/// A file descriptor; -1 when there is none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

struct Address {
  std::string host;  // a name or a number
  int port = 0;
};

/// "host:port", "[::1]:port".
std::string to_string(const Address& address);
/// Of "host:port"; nothing for another text.
std::optional<Address> find_address(const std::string& text);
/// The same; a UsageError for another text.
Address parse_address(const std::string& text);
/// Whether a host is an address, no name.
bool is_numeric(const std::string& host);

class Deadline {
 public:
  /// Infinity: a year, about.
  explicit Deadline(double seconds);
  bool is_over() const { return left() <= 0; }
  /// Milliseconds, at least 0.
  int left() const;

 private:
  std::chrono::steady_clock::time_point end_;
};

/// Listens at `address`, of several that a name stands for the first that is this machine's; port 0: any. An
/// IoError says why not.
Socket listen_at(const Address& address);
/// The next connection, or a closed socket at the deadline.
Socket accept_from(const Socket& listener, const Deadline& deadline);

/// Those who have connected to listeners, and which of them speaks first: a stranger who says nothing holds
/// up nobody. The listeners must live as long.
class Callers {
 public:
  explicit Callers(std::span<const Socket> listeners) : listeners_(listeners) {}
  /// The next one of whom there is something to read, or a closed socket at the deadline.
  Socket next(const Deadline& deadline);

 private:
  void admit(const Socket& listener);

  std::span<const Socket> listeners_;
  std::vector<Socket> silent_;
};

/// One attempt; a closed socket if nobody listens there, and then `problem` says why: "node1:29500:
/// Connection refused". An IoError for a name that nobody knows.
Socket connect_to(const Address& address, const Deadline& deadline, std::string& problem);

/// So many sockets that lead nowhere, to find out whether there are: an IoError where the process may not
/// have them.
std::vector<Socket> spare_sockets(std::size_t count);

/// Whether there is something to read, or nothing will come any more, before the deadline.
bool wait_for_input(const Socket& socket, const Deadline& deadline);
/// Whether the other end has closed; what it had sent may still be there to read.
bool has_ended(const Socket& socket);
/// Whether what was sent has been sent again and again without an answer: the other machine is gone.
bool is_lost(const Socket& socket);

/// The address of this end.
Address own_address(const Socket& socket);

/// False when the other end closed, or was too slow to take all of it.
bool send_bytes(const Socket& socket, const void* data, std::size_t bytes, const Deadline& deadline);
/// A short text with its length. False when the other end closed, sent no such thing, or was too slow.
bool send_text(const Socket& socket, const std::string& text, const Deadline& deadline);
bool receive_text(const Socket& socket, std::string& text, const Deadline& deadline);

}  // namespace ronde::inline v0
