/// HttpServer: answers each request on 127.0.0.1 with what the test decided, well-behaved or not.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace ronde::test {

struct HttpAnswer {
  std::string status = "200 OK";
  std::string body = {};
  std::size_t claimed = 0;  ///< Content-Length; 0: that of the body
  bool stall = false;       ///< keep the connection open after the body
};

class HttpServer {
 public:
  /// `answer` gets a path such as "/mnist/file.gz" and runs on the server's thread.
  explicit HttpServer(std::function<HttpAnswer(const std::string&)> answer) : answer_(std::move(answer)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, length) != 0 || listen(listener_, 8) != 0 ||
        getsockname(listener_, generic, &length) != 0)
      throw std::runtime_error("no port on 127.0.0.1");
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    stop_ = true;
    thread_.join();
    close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  const std::string& url() const { return url_; }
  int requests() const { return requests_; }

 private:
  bool readable(int descriptor) const {
    pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
    while (!stop_)
      if (poll(&wait, 1, 20) > 0) return true;
    return false;
  }

  void serve() {
    while (readable(listener_)) {
      const int connection = accept(listener_, nullptr, nullptr);
      handle(connection);
      close(connection);
    }
  }

  void handle(int connection) {
    std::string request;
    char piece[1024];
    while (request.find("\r\n\r\n") == std::string::npos) {
      if (!readable(connection)) return;
      const ssize_t got = recv(connection, piece, sizeof piece, 0);
      if (got <= 0) return;
      request.append(piece, static_cast<std::size_t>(got));
    }
    ++requests_;
    const std::size_t path = request.find(' ') + 1;
    const HttpAnswer answer = answer_(request.substr(path, request.find(' ', path) - path));
    const std::size_t length = answer.claimed ? answer.claimed : answer.body.size();
    const std::string reply = "HTTP/1.1 " + answer.status + "\r\nContent-Length: " + std::to_string(length) +
                              "\r\nConnection: close\r\n\r\n" + answer.body;
    send(connection, reply.data(), reply.size(), MSG_NOSIGNAL);
    if (answer.stall) readable(connection);  // until the client gives up
  }

  std::function<HttpAnswer(const std::string&)> answer_;
  int listener_ = -1;
  std::string url_;
  std::atomic<bool> stop_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace ronde::test
