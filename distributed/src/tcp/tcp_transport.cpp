#include "tcp/tcp_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <tuple>

#include "collectives/run_collective.h"
#include "tcp/rendezvous.h"
#include "transport/first_failure.h"
#include "transport/memory_copy.h"
#include "transport/reduction.h"

namespace ronde::inline v0 {
namespace {

using Counts = std::vector<std::int64_t>;

constexpr std::int64_t kBroadcastPiece = 1 << 18;  // bytes that a rank passes on while it receives the next
constexpr std::int64_t kMeeting = 0x6d656574'696e6721;
constexpr double kSplitPatience = 60.0;  // seconds

Counts offsets_of(const Counts& lengths) {
  Counts offsets(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), std::int64_t{0});
  return offsets;
}

Place place_of(int rank, const std::vector<std::string>& hosts) {
  Place place{.rank = rank, .size = static_cast<int>(hosts.size()), .local_size = 0, .cross_size = 0};
  const std::string& own = hosts[static_cast<std::size_t>(rank)];
  for (int r = 0; r < place.size; ++r) {
    const auto host = hosts.begin() + r;
    const bool is_first = std::find(hosts.begin(), host, *host) == host;
    if (is_first && *host == own) place.cross_rank = place.cross_size;
    if (is_first) ++place.cross_size;
    if (*host != own) continue;
    if (r < rank) ++place.local_rank;
    ++place.local_size;
  }
  return place;
}

}  // namespace

TcpTransport::TcpTransport(std::unique_ptr<Mesh> mesh, std::vector<std::string> hosts,
                           std::string listen_host, std::int64_t scratch_bytes)
    : mesh_(std::move(mesh)),
      hosts_(std::move(hosts)),
      listen_host_(std::move(listen_host)),
      scratch_bytes_(scratch_bytes),
      place_(place_of(mesh_->rank(), hosts_)) {}

// In round k a rank hears from the one 2^k places before it, and so, in the end, of all. The largest number
// and the largest complement are one's own exactly when all numbers are equal.
bool TcpTransport::meet(std::int64_t number, std::int64_t& notice, const Announcement&) {
  mesh_->count_meeting();
  std::array<std::int64_t, 5> known{kMeeting, mesh_->meetings(), number, ~number, notice};
  for (int step = 1; step < place_.size; step *= 2) {
    std::array<std::int64_t, 5> heard{};
    const int to = (place_.rank + step) % place_.size;
    const int from = (place_.rank - step + place_.size) % place_.size;
    mesh_->exchange({{to, known.data(), sizeof known}}, {{from, heard.data(), sizeof heard}});
    require(heard[0] == known[0] && heard[1] == known[1], "[tcp] rank ", from, " is not in step with rank ",
            place_.rank);
    for (std::size_t i = 2; i < known.size(); ++i) known[i] = std::max(known[i], heard[i]);
  }
  notice = known[4];
  return known[2] == number && known[3] == ~number;
}

// Elements of each rank that are summed at once.
std::int64_t TcpTransport::piece(std::int64_t longest, DType dtype) const {
  const std::int64_t most = scratch_bytes_ / static_cast<std::int64_t>(size_of(dtype)) / place_.size;
  return std::min(std::max<std::int64_t>(1, most), longest);
}

void TcpTransport::reserve(const ReductionSize& reduction) {
  scratch_.reserve(piece(reduction.part, reduction.dtype) * place_.size *
                   static_cast<std::int64_t>(size_of(reduction.dtype)));
}

void TcpTransport::allreduce(void* data, std::int64_t count, DType dtype, Reduction op) {
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  Counts counts = even_rows(count, place_.size);
  void* const own = byte_at(data, offsets_of(counts)[static_cast<std::size_t>(place_.rank)] * item);
  reduce_scatter(own, data, counts, dtype, op);
  for (std::int64_t& c : counts) c *= item;
  allgatherv(data, own, counts);
}

// A binomial tree: rank v, counted from the root, gets it from v without its lowest bit.
void TcpTransport::broadcast(void* data, std::int64_t bytes, int root) {
  const int size = place_.size;
  const int own = (place_.rank - root + size) % size;
  const int lowest = own == 0 ? size : own & -own;
  std::vector<int> children;
  for (int bit = 1; bit < lowest && own + bit < size; bit *= 2)
    children.insert(children.begin(), (own + bit + root) % size);
  const int parent = (own - lowest + root + size) % size;
  std::int64_t received = own == 0 ? bytes : 0;
  for (std::int64_t sent = 0; sent < bytes;) {
    const std::int64_t ready = std::min(received, sent + kBroadcastPiece);
    const std::int64_t more = std::min(kBroadcastPiece, bytes - received);
    std::vector<Mesh::Outgoing> outs;
    for (const int child : children) outs.push_back({child, byte_at(data, sent), ready - sent});
    mesh_->exchange(std::move(outs),
                    more > 0 ? std::vector<Mesh::Incoming>{{parent, byte_at(data, received), more}}
                             : std::vector<Mesh::Incoming>{});
    sent = ready;
    received += more;
  }
}

void TcpTransport::allgatherv(void* out, const void* in, const Counts& bytes) {
  const Counts offsets = offsets_of(bytes);
  const auto own = static_cast<std::size_t>(place_.rank);
  copy_bytes(byte_at(out, offsets[own]), in, bytes[own]);
  std::vector<Mesh::Outgoing> outs;
  std::vector<Mesh::Incoming> ins;
  for (int step = 1; step < place_.size; ++step) {
    const int r = (place_.rank + step) % place_.size;
    const auto k = static_cast<std::size_t>(r);
    outs.push_back({r, byte_at(out, offsets[own]), bytes[own]});
    ins.push_back({r, byte_at(out, offsets[k]), bytes[k]});
  }
  mesh_->exchange(std::move(outs), std::move(ins));
}

// Where `out` is this rank's place in `in`: of that, the other ranks need nothing.
void TcpTransport::reduce_scatter(void* out, const void* in, const Counts& counts, DType dtype,
                                  Reduction op) {
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t longest = *std::max_element(counts.begin(), counts.end());
  const std::int64_t piece = this->piece(longest, dtype);
  const Counts begins = offsets_of(counts);
  const auto own = static_cast<std::size_t>(place_.rank);
  char* scratch = scratch_.get<char>(piece * item * place_.size);
  for (std::int64_t first = 0; first < longest; first += piece) {
    const auto length = [&](std::size_t r) { return std::clamp<std::int64_t>(counts[r] - first, 0, piece); };
    std::vector<Mesh::Outgoing> outs;
    std::vector<Mesh::Incoming> ins;
    std::vector<const void*> parts(counts.size());
    parts[own] = byte_at(in, (begins[own] + first) * item);
    for (int step = 1; step < place_.size; ++step) {
      const int r = (place_.rank + step) % place_.size;
      const auto k = static_cast<std::size_t>(r);
      outs.push_back({r, byte_at(in, (begins[k] + first) * item), length(k) * item});
      ins.push_back({r, byte_at(scratch, r * length(own) * item), length(own) * item});
      parts[k] = ins.back().data;
    }
    mesh_->exchange(std::move(outs), std::move(ins));
    reduce({byte_at(out, first * item)}, 0, parts, 0, length(own), dtype, op);
  }
}

void TcpTransport::alltoallv(void* out, const Counts& out_bytes, const void* in, const Counts& in_bytes) {
  const Counts to = offsets_of(out_bytes);
  const Counts from = offsets_of(in_bytes);
  const auto own = static_cast<std::size_t>(place_.rank);
  copy_bytes(byte_at(out, to[own]), byte_at(in, from[own]), in_bytes[own]);
  std::vector<Mesh::Outgoing> outs;
  std::vector<Mesh::Incoming> ins;
  for (int step = 1; step < place_.size; ++step) {
    const int r = (place_.rank + step) % place_.size;
    const auto k = static_cast<std::size_t>(r);
    outs.push_back({r, byte_at(in, from[k]), in_bytes[k]});
    ins.push_back({r, byte_at(out, to[k]), out_bytes[k]});
  }
  mesh_->exchange(std::move(outs), std::move(ins));
}

std::unique_ptr<Transport> TcpTransport::split(int color, int key) {
  struct Member {
    int color, key, rank, port;
    char host[64], token[40];
  };
  Gathering group;
  Member own{color, key, place_.rank, 0, {}, {}};
  std::string problem = failure_of([&] {
    group.listener = listen_at({listen_host_, 0});
    own.port = own_address(group.listener).port;
  });
  std::strncpy(own.host, listen_host_.c_str(), sizeof own.host - 1);
  std::strncpy(own.token, random_token().c_str(), sizeof own.token - 1);
  std::vector<Member> members(hosts_.size());
  allgatherv(members.data(), &own, Counts(hosts_.size(), sizeof own));
  std::erase_if(members, [&](const Member& member) { return member.color != color; });
  // A rank that may not have so many says so now, instead of leaving others waiting for its connections.
  if (problem.empty() && color >= 0) problem = failure_of([&] { spare_sockets(members.size() - 1); });
  problem = first_failure(*this, problem);
  require(problem.empty(), problem);
  if (color < 0) return nullptr;
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.key, a.rank) < std::tie(b.key, b.rank);
  });
  int rank = 0;
  for (const Member& member : members) {
    if (member.rank == place_.rank) rank = static_cast<int>(group.table.addresses.size());
    group.table.addresses.push_back({member.host, member.port});
    group.table.hosts.push_back(hosts_[static_cast<std::size_t>(member.rank)]);
  }
  group.table.token = members.front().token;
  std::vector<Socket> links = connect_all(group, rank, Deadline(kSplitPatience));
  return std::make_unique<TcpTransport>(std::make_unique<Mesh>(rank, std::move(links)), group.table.hosts,
                                        listen_host_, scratch_bytes_);
}

}  // namespace ronde::inline v0
