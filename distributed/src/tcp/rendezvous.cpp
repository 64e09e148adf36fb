#include "tcp/rendezvous.h"

#include <sstream>

#include <sys/random.h>

#include <ronde/core/counted.h>
#include <ronde/core/text.h>

#include "tcp/gathering.h"
#include "transport/ranks_text.h"

namespace ronde::inline v0 {

std::string random_token() {
  char bytes[16];
  require(getrandom(bytes, sizeof bytes, 0) == sizeof bytes, "[tcp] the system gives no random numbers");
  return hex_digits({bytes, sizeof bytes});
}

std::vector<int> missing_ranks(const std::vector<Socket>& links, int rank) {
  std::vector<int> missing;
  for (int r = 0; r < static_cast<int>(links.size()); ++r)
    if (r != rank && !links[static_cast<std::size_t>(r)].is_open()) missing.push_back(r);
  return missing;
}

Gathering gather_ranks(const TcpOptions& options) {
  require<UsageError>(options.size >= 1 && options.rank >= 0 && options.rank < options.size, "[tcp] rank ",
                      options.rank, " is not one of ", counted(options.size, "rank"));
  return options.rank == 0 ? gather_as_host(options) : gather_as_guest(options);
}

std::vector<Socket> connect_all(const Gathering& gathering, int rank, const Deadline& deadline) {
  const RankTable& table = gathering.table;
  const int size = static_cast<int>(table.addresses.size());
  std::vector<Socket> links(table.addresses.size());
  std::string problem;
  for (int r = 0; r < rank; ++r) {
    Socket& link = links[static_cast<std::size_t>(r)];
    link = connect_to(table.addresses[static_cast<std::size_t>(r)], deadline, problem);
    if (link.is_open() && !send_text(link, cat(table.token, ' ', rank), deadline)) link.close();
  }
  Callers callers({&gathering.listener, 1});
  for (int missing = size - 1 - rank; missing > 0;) {
    Socket link = callers.next(deadline);
    if (!link.is_open()) break;
    std::string text;
    if (!receive_text(link, text, Deadline(kMessagePatience))) continue;
    std::istringstream words(text);
    std::string token;
    int peer = -1;
    if (!(words >> token >> peer) || token != table.token || peer <= rank || peer >= size) continue;
    links[static_cast<std::size_t>(peer)] = std::move(link);
    --missing;
  }
  const std::vector<int> missing = missing_ranks(links, rank);
  require(missing.empty(), "[tcp] rank ", rank, " has no connection with ", ranks_text(missing),
          problem.empty() ? "" : ": ", problem);
  return links;
}

}  // namespace ronde::inline v0
