#include "ronde/run/hosts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ronde/core/error.h>
#include <ronde/core/machine.h>
#include <ronde/models/file_io.h>

namespace ronde::apps {
namespace {

constexpr double kAnswerPatience = 6.0;  // seconds for a machine to answer

int parse_slots(const std::string& text, const std::string& where) {
  int slots = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), slots);
  require<UsageError>(parsed.ptr == text.data() + text.size() && slots >= 1, "--hosts: ", where,
                      ": expects a number of ranks, got '", text, "'");
  return slots;
}

std::vector<std::string> words_of(const std::string& text, const std::string& separators) {
  std::vector<std::string> words;
  for (std::size_t begin = text.find_first_not_of(separators); begin != std::string::npos;) {
    const std::size_t end = text.find_first_of(separators, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return words;
}

std::vector<Host> parse_list(const std::string& text) {
  std::vector<Host> hosts;
  for (const std::string& word : words_of(text, ",")) {
    const std::size_t colon = word.find(':');
    hosts.push_back({word.substr(0, colon), 1});
    if (colon != std::string::npos) hosts.back().slots = parse_slots(word.substr(colon + 1), word);
  }
  return hosts;
}

std::vector<Host> parse_file(const std::string& path) {
  std::vector<Host> hosts;
  for (const std::string& line : words_of(read_file(path), "\n")) {
    const std::vector<std::string> words = words_of(line.substr(0, line.find('#')), " \t\r");
    if (words.empty()) continue;
    hosts.push_back({words.front(), 1});
    for (const std::string& word : words)
      if (word.starts_with("slots=")) hosts.back().slots = parse_slots(word.substr(6), line);
  }
  return hosts;
}

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address && address->sa_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(), text.size());
  if (address && address->sa_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text.data(), text.size());
  return text.data();
}

std::set<std::string> addresses_of(const std::string& name) {
  std::set<std::string> found;
  addrinfo* list = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, nullptr, &list) != 0) return found;
  for (const addrinfo* one = list; one; one = one->ai_next) found.insert(address_text(one->ai_addr));
  freeaddrinfo(list);
  return found;
}

bool is_here(const std::string& name) {
  if (name == "localhost" || name == host_name()) return true;
  const std::set<std::string> wanted = addresses_of(name);
  const auto is_wanted = [&](const std::string& address) { return wanted.contains(address); };
  const std::vector<NetworkInterface> own = network_interfaces();
  return std::any_of(own.begin(), own.end(), [&](const NetworkInterface& one) {
    return std::any_of(one.addresses.begin(), one.addresses.end(), is_wanted);
  });
}

// That of Open MPI 5 or 4, whichever variable is set.
const char* remote_shell() {
  for (const char* name : {"PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent"})
    if (const char* agent = std::getenv(name); agent && *agent) return agent;
  return "ssh -o BatchMode=yes";
}

// A process that ends with 0 when the machine answers.
pid_t ask(const std::string& host) {
  std::vector<std::string> words = words_of(remote_shell(), " ");
  words.insert(words.end(), {host, "true"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) dup2(nowhere, fd);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

std::vector<Host> parse_hosts(const std::string& text) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(text, ignored);
  require<UsageError>(is_file || text.find('/') == std::string::npos, "--hosts ", text,
                      ": no such file, with lines \"a slots=4\"");
  std::vector<Host> hosts = is_file ? parse_file(text) : parse_list(text);
  require<UsageError>(!hosts.empty(), "--hosts ", text, ": names no machine");
  for (const auto& [name, slots] : hosts)  // which a remote shell takes for an option, or for two words
    require<UsageError>(
        !name.empty() && name.front() != '-' && name.find_first_of(" \t") == std::string::npos, "--hosts ",
        text, ": '", name, "' is no name of a machine");
  return hosts;
}

std::string to_text(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) text += cat(text.empty() ? "" : ",", host.name, ':', host.slots);
  return text;
}

std::int64_t slots_of(const std::vector<Host>& hosts) {
  std::int64_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  return slots;
}

bool is_one_machine(const std::vector<Host>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [](const Host& host) { return is_here(host.name); });
}

std::vector<Host> find_alive(const std::vector<Host>& hosts) {
  std::vector<pid_t> asked;
  for (const Host& host : hosts) asked.push_back(is_here(host.name) ? 0 : ask(host.name));
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kAnswerPatience);
  std::vector<Host> alive;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    int status = 0;
    pid_t ended = asked[i];
    while (asked[i] > 0 && (ended = waitpid(asked[i], &status, WNOHANG)) == 0) {
      if (std::chrono::steady_clock::now() > until) kill(asked[i], SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (status == 0 && ended >= 0) alive.push_back(hosts[i]);
  }
  return alive;
}

}  // namespace ronde::apps
