#include <ronde/distributed/communicator.h>

#include <numeric>
#include <span>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {
namespace {

// A tensor in plain host memory, whatever the default backend is.
TensorOptions host(DType dtype) {
  return {.dtype = dtype, .backend = &backend("cpu")};
}

Tensor bytes_of(const std::string& text) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(text.data());
  return Tensor::from<std::uint8_t>({static_cast<std::int64_t>(text.size())},
                                    std::span<const std::uint8_t>(data, text.size()), &backend("cpu"));
}

std::string text_of(const Tensor& bytes) {
  return {static_cast<const char*>(bytes.raw()), bytes.byte_size()};
}

}  // namespace

std::vector<std::string> allgather_strings(Communicator& communicator, const std::string& text) {
  const Tensor length = Tensor::full({1}, static_cast<double>(text.size()), host(DType::i64));
  const Tensor lengths = Tensor::empty({communicator.size()}, host(DType::i64));
  communicator.allgather(lengths, length).wait();
  const std::vector<std::int64_t> counts = lengths.to_vector<std::int64_t>();
  const Tensor all =
      Tensor::empty({std::accumulate(counts.begin(), counts.end(), std::int64_t{0})}, host(DType::u8));
  communicator.allgatherv(all, bytes_of(text), counts).wait();
  const std::string joined = text_of(all);
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::int64_t count : counts) {
    texts.push_back(joined.substr(begin, static_cast<std::size_t>(count)));
    begin += static_cast<std::size_t>(count);
  }
  return texts;
}

std::string broadcast_string(Communicator& communicator, const std::string& text, int root) {
  const Tensor length = Tensor::full({1}, static_cast<double>(text.size()), host(DType::i64));
  communicator.broadcast(length, root).wait();
  const Tensor bytes = communicator.rank() == root
                           ? bytes_of(text)
                           : Tensor::empty({*length.data<std::int64_t>()}, host(DType::u8));
  communicator.broadcast(bytes, root).wait();
  return text_of(bytes);
}

void allreduce_values(Communicator& communicator, std::vector<double>& values, Reduction op) {
  const Tensor tensor =
      Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values, &backend("cpu"));
  communicator.allreduce(tensor, op).wait();
  values = tensor.to_vector<double>();
}

void agree(Communicator& communicator, const std::string& message, ExitStatus status) {
  // One small reduction when all is well: the lowest failing rank, or size.
  const bool failed = status != ExitStatus::ok;
  const int size = communicator.size();
  std::vector<double> lowest{static_cast<double>(failed ? communicator.rank() : size)};
  allreduce_values(communicator, lowest, Reduction::min);
  const int rank = static_cast<int>(lowest[0]);
  if (rank == size) return;
  const std::string number = broadcast_string(communicator, std::to_string(static_cast<int>(status)), rank);
  const std::string text = broadcast_string(communicator, message, rank);
  throw CollectiveError(text, static_cast<ExitStatus>(std::stoi(number)), rank);
}

}  // namespace ronde::inline v0
