#include <ronde/data/data_loader.h>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {
namespace {

/// Buffers for the largest batch; `batch` holds views of them.
struct Slot {
  Tensor inputs, targets, keys;
  Batch batch;
};

Shape batch_shape(std::int64_t n, const Shape& sample) {
  Shape shape{n};
  for (const std::int64_t extent : sample) shape.push_back(extent);
  return shape;
}

/// Signals are for the threads of the application: this one must not run their handlers.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

// A slot is in exactly one place: free, ready, in use by the consumer, or being filled by the thread, which
// alone touches it then and holds no lock meanwhile. `generation` counts calls of start: a batch that was
// begun for an older one is thrown away when it is done, so start never waits.
struct DataLoader::State {
  State(const Dataset& data, ShardedSampler shards, LoaderOptions options);
  ~State();
  void start(std::int64_t first, std::int64_t count);
  const Batch* next();
  void run();
  void fill(Slot& slot, std::int64_t step);

  const Dataset& dataset;
  const ShardedSampler sampler;
  std::vector<Slot> slots;
  std::vector<SampleKey> keys;        // scratch of the thread
  std::vector<std::int64_t> indices;  // scratch of the thread

  std::mutex mutex;  // guards all below
  std::condition_variable to_do, done;
  std::vector<Slot*> free, ready;  // ready: oldest first
  Slot* in_use = nullptr;
  std::uint64_t generation = 0;
  std::int64_t step = 0, end = 0;  // steps still to be filled
  std::int64_t undelivered = 0;    // batches the consumer is still owed
  std::exception_ptr error;        // what came instead of the batch after the last ready one
  bool quit = false;
  std::thread thread;  // last: it uses the others
};

DataLoader::State::State(const Dataset& data, ShardedSampler shards, LoaderOptions options)
    : dataset(data), sampler(std::move(shards)) {
  require(options.dtype == DType::f32 || options.dtype == DType::f64,
          "[data_loader] expects inputs of f32 or f64, got ", options.dtype);
  require(options.ring >= 2, "[data_loader] expects a ring of at least 2 batches, got ", options.ring);
  require(sampler.options().size <= data.size(), "[data_loader] the sampler draws from ",
          sampler.options().size, " samples, the data set has ", data.size());
  Backend& backend = options.backend ? *options.backend : default_backend();
  require(backend.device().type == DeviceType::cpu, "[data_loader] expects a backend in host memory, got ",
          backend.device());

  const std::int64_t n = sampler.max_count();
  slots.resize(static_cast<std::size_t>(options.ring));
  for (Slot& slot : slots) {
    slot.inputs = Tensor::empty(batch_shape(n, data.input_shape()), {options.dtype, &backend});
    slot.targets = Tensor::empty(batch_shape(n, data.target_shape()), {data.target_dtype(), &backend});
    slot.keys = Tensor::empty({n, 2}, {DType::i64, &backend});
    free.push_back(&slot);
  }
  ready.reserve(slots.size());
  keys.reserve(static_cast<std::size_t>(n));
  indices.reserve(static_cast<std::size_t>(n));
  thread = std::thread([this] { run(); });
}

DataLoader::State::~State() {
  {
    const std::lock_guard lock(mutex);
    quit = true;
  }
  to_do.notify_one();
  thread.join();
}

void DataLoader::State::start(std::int64_t first, std::int64_t count) {
  require(first >= 0 && count >= 0, "[data_loader] start expects a step and a count of at least 0, got ",
          first, " and ", count);
  {
    const std::lock_guard lock(mutex);
    ++generation;
    free.insert(free.end(), ready.begin(), ready.end());
    ready.clear();
    if (in_use) free.push_back(std::exchange(in_use, nullptr));
    step = first;
    end = first + count;
    undelivered = count;
    error = nullptr;
  }
  to_do.notify_one();
}

const Batch* DataLoader::State::next() {
  std::unique_lock lock(mutex);
  if (in_use) {
    free.push_back(std::exchange(in_use, nullptr));
    to_do.notify_one();
  }
  if (undelivered == 0) return nullptr;
  done.wait(lock, [this] { return !ready.empty() || error; });
  if (ready.empty()) std::rethrow_exception(error);
  in_use = ready.front();
  ready.erase(ready.begin());
  --undelivered;
  return &in_use->batch;
}

void DataLoader::State::run() {
  block_signals();
  std::unique_lock lock(mutex);
  while (true) {
    to_do.wait(lock, [this] { return quit || (step < end && !free.empty()); });
    if (quit) return;
    Slot* slot = free.back();
    free.pop_back();
    const std::int64_t mine = step++;
    const std::uint64_t begun_for = generation;
    std::exception_ptr failure;
    lock.unlock();
    try {
      fill(*slot, mine);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    const bool wanted = begun_for == generation;
    (wanted && !failure ? ready : free).push_back(slot);
    if (wanted && failure) {
      error = failure;
      end = step;  // nothing more until the next start
    }
    done.notify_one();
  }
}

void DataLoader::State::fill(Slot& slot, std::int64_t filled_step) {
  sampler.samples(filled_step, keys);
  const auto n = static_cast<std::int64_t>(keys.size());
  slot.batch = {.step = filled_step,
                .global_count = sampler.global_count(filled_step),
                .inputs = slot.inputs.slice(0, 0, n),
                .targets = slot.targets.slice(0, 0, n),
                .sample_keys = slot.keys.slice(0, 0, n)};
  indices.clear();
  std::int64_t* to = slot.batch.sample_keys.data<std::int64_t>();
  for (const SampleKey& key : keys) {
    indices.push_back(key.sample);
    *to++ = key.sample;
    *to++ = key.epoch;
  }
  if (n > 0) dataset.read(indices, slot.batch.inputs, slot.batch.targets);
}

DataLoader::DataLoader(const Dataset& dataset, ShardedSampler sampler, LoaderOptions options)
    : state_(std::make_unique<State>(dataset, std::move(sampler), options)) {}
DataLoader::~DataLoader() = default;

const ShardedSampler& DataLoader::sampler() const {
  return state_->sampler;
}

void DataLoader::start(std::int64_t first, std::int64_t count) {
  state_->start(first, count);
}

const Batch* DataLoader::next() {
  return state_->next();
}

}  // namespace ronde::inline v0
