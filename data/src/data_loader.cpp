#include <ronde/data/data_loader.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/signals.h>
#include <ronde/core/trace.h>
#include <ronde/core/whole_numbers.h>

#include "batch_details.h"
#include "resident_inputs.h"

namespace ronde::inline v0 {
namespace {

/// Buffers for the largest batch; `batch` holds views of them.
struct Slot {
  Tensor inputs;
  BatchDetails details;
  Batch batch;
  std::vector<SampleKey> samples;
  std::vector<std::int64_t> indices;

  std::int64_t generation = 0;  // the call of start that it is filled for
  std::int64_t unclaimed = 0;   // first row that no thread has taken
  std::int64_t busy = 0;        // rows that threads are filling
  // What came instead of the first row that could not be filled.
  std::exception_ptr error;
  std::int64_t error_row = 0;

  bool is_done() const { return unclaimed == batch.size() && busy == 0; }
  /// Of a step that could not be begun: there is nothing to fill.
  void fail_before(std::int64_t step, std::exception_ptr failure) {
    batch = {};
    batch.step = step;
    batch.inputs = inputs.slice(0, 0, 0);
    fail(std::move(failure), 0);
  }
  void fail(std::exception_ptr failure, std::int64_t row) {
    if (error && error_row <= row) return;
    error = std::move(failure);
    error_row = row;
  }
};

template <class F>
std::exception_ptr failure_of(F&& work) {
  try {
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

// A slot is in exactly one place: free, being prepared by one thread, filling, ready, or in use by the
// consumer. Slots are begun in the order of steps; of a filling one each thread takes some rows at a time,
// holds no lock while it fills them, and alone touches them. A slot that was begun for an older `generation`
// goes back to the free ones when the last thread has left it, so start never waits.
struct DataLoader::State {
  State(const Dataset& data, ShardedSampler shards, LoaderOptions options);
  ~State();
  void start(std::int64_t first, std::int64_t count);
  const Batch* next();
  const Batch* copied(const Slot& slot);

  // The threads' part. Those with a lock expect it held and give it back held.
  void run();
  void begin_slot(std::unique_lock<std::mutex>& lock);
  void fill_rows(std::unique_lock<std::mutex>& lock, Slot& slot);
  void settle(Slot& slot);
  Slot* claimable();
  void prepare(Slot& slot, std::int64_t step) const;
  void read(const Slot& slot, std::int64_t first_row, std::int64_t end_row) const;
  void read_resident(const Slot& slot, std::int64_t first_row, std::int64_t end_row) const;
  void augment(const Batch& batch, std::int64_t first_row, std::int64_t end_row) const;
  void stop();

  const Dataset& dataset;
  const ShardedSampler sampler;
  const Augmentation* const augmentation;
  std::int64_t rows_at_once;  // that a thread takes of a batch
  std::vector<Slot> slots;
  std::optional<ResidentInputs> resident;
  Tensor inputs_on_device;  // room for the largest batch, where batches go to a device
  BatchDetails details_on_device;
  Batch given;  // the part of them that `next` gave

  std::mutex mutex;  // guards all below, and the slots' state
  std::condition_variable to_do, done;
  std::vector<Slot*> free, filling, ready;
  Slot* in_use = nullptr;
  std::int64_t generation = 0;
  std::int64_t step = 0, end = 0;             // steps still to be begun
  std::int64_t next_step = 0, last_step = 0;  // steps the consumer is still owed
  bool quit = false;
  std::vector<std::thread> threads;  // last: they use the others
};

DataLoader::State::State(const Dataset& data, ShardedSampler shards, LoaderOptions options)
    : dataset(data), sampler(std::move(shards)), augmentation(options.augmentation) {
  require(options.dtype == DType::f32 || options.dtype == DType::f64,
          "[data_loader] expects inputs of f32 or f64, got ", options.dtype);
  require(options.ring >= 2, "[data_loader] expects a ring of at least 2 batches, got ", options.ring);
  require<UsageError>(options.threads >= 1, "[data_loader] expects at least 1 thread, got ", options.threads);
  require(sampler.options().size <= data.size(), "[data_loader] the sampler draws from ",
          counted(sampler.options().size, "sample"), ", the data set has ", data.size());
  const std::int64_t n = sampler.max_count();
  const bool fills_in_place = !options.backend || options.backend->device().type == DeviceType::cpu;
  Backend& backend = fills_in_place && options.backend ? *options.backend : default_backend();
  resident = ResidentInputs::make(data, options, sampler.options().seed);
  const BatchDetails::OfResident each{.index = resident.has_value(),
                                      .numbers = resident ? resident->numbers() : 0};
  if (!fills_in_place) {
    inputs_on_device = Tensor::empty(data.input_shape().batch_of(n), {options.dtype, options.backend});
    details_on_device = BatchDetails(data, n, each, *options.backend);
  }
  // Pieces small enough that the threads finish together, although some pictures take longer.
  const std::int64_t pieces = options.threads == 1 ? 1 : 4 * options.threads;
  rows_at_once = std::max<std::int64_t>(1, ceil_divide(n, pieces));
  slots.resize(static_cast<std::size_t>(options.ring));
  for (std::vector<Slot*>* places : {&free, &filling, &ready}) places->reserve(slots.size());
  for (Slot& slot : slots) {
    const Shape inputs = resident ? Shape{n, 0} : data.input_shape().batch_of(n);
    slot.inputs = Tensor::empty(inputs, {options.dtype, &backend});
    slot.details = BatchDetails(data, n, each, backend);
    slot.samples.reserve(static_cast<std::size_t>(n));
    slot.indices.reserve(static_cast<std::size_t>(n));
    free.push_back(&slot);
  }
  try {
    for (int i = 0; i < options.threads; ++i) threads.emplace_back([this] { run(); });
  } catch (...) {
    stop();
    throw;
  }
}

DataLoader::State::~State() {
  stop();
}

void DataLoader::State::stop() {
  {
    const std::lock_guard lock(mutex);
    quit = true;
  }
  to_do.notify_all();
  for (std::thread& thread : threads) thread.join();
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
    for (std::size_t i = filling.size(); i-- > 0;) {
      filling[i]->unclaimed = filling[i]->batch.size();
      settle(*filling[i]);
    }
    step = next_step = first;
    end = last_step = first + count;
  }
  to_do.notify_all();
}

const Batch* DataLoader::State::next() {
  const TraceScope scope("loader", "wait for batch");
  std::unique_lock lock(mutex);
  if (in_use) {
    free.push_back(std::exchange(in_use, nullptr));
    to_do.notify_one();
  }
  if (next_step == last_step) return nullptr;
  auto found = ready.end();
  done.wait(lock, [&] {
    found = std::find_if(ready.begin(), ready.end(),
                         [this](const Slot* slot) { return slot->batch.step == next_step; });
    return found != ready.end();
  });
  if ((*found)->error) std::rethrow_exception((*found)->error);
  in_use = *found;
  ready.erase(found);
  ++next_step;
  lock.unlock();
  return inputs_on_device.defined() ? copied(*in_use) : &in_use->batch;
}

/// Its copy on the device, which the device's stream fills behind all that uses the one before.
const Batch* DataLoader::State::copied(const Slot& slot) {
  const Batch& batch = slot.batch;
  const std::int64_t n = batch.size();
  given = {.step = batch.step,
           .global_count = batch.global_count,
           .inputs = inputs_on_device.slice(0, 0, n),
           .targets = details_on_device.targets.slice(0, 0, n),
           .sample_keys = details_on_device.keys.slice(0, 0, n)};
  details_on_device.copy_from(slot.details);
  if (resident)
    resident->gather(given.inputs, details_on_device.indices.slice(0, 0, n),
                     details_on_device.numbers.slice(0, 0, n));
  else
    given.inputs.copy_from(batch.inputs);
  return &given;
}

void DataLoader::State::run() {
  block_signals();
  name_trace_thread("loader");
  std::unique_lock lock(mutex);
  while (true) {
    Slot* slot = nullptr;
    to_do.wait(lock, [&] { return quit || (slot = claimable()) || (step < end && !free.empty()); });
    if (quit) return;
    if (slot)
      fill_rows(lock, *slot);
    else
      begin_slot(lock);
  }
}

/// The oldest filling slot with rows left.
Slot* DataLoader::State::claimable() {
  for (Slot* slot : filling)
    if (slot->unclaimed < slot->batch.size()) return slot;
  return nullptr;
}

void DataLoader::State::begin_slot(std::unique_lock<std::mutex>& lock) {
  Slot& slot = *free.back();
  free.pop_back();
  slot.generation = generation;
  slot.error = nullptr;
  slot.unclaimed = slot.busy = 0;
  const std::int64_t mine = step++;
  lock.unlock();
  const std::exception_ptr failure = failure_of([&] { prepare(slot, mine); });
  lock.lock();
  if (failure) slot.fail_before(mine, failure);
  filling.push_back(&slot);
  if (slot.generation != generation) slot.unclaimed = slot.batch.size();
  settle(slot);
  to_do.notify_all();
}

void DataLoader::State::fill_rows(std::unique_lock<std::mutex>& lock, Slot& slot) {
  const std::int64_t first = slot.unclaimed, last = std::min(first + rows_at_once, slot.batch.size());
  slot.unclaimed = last;
  slot.busy += last - first;
  lock.unlock();
  const std::exception_ptr failure = failure_of([&] { read(slot, first, last); });
  lock.lock();
  slot.busy -= last - first;
  if (failure) slot.fail(failure, first);
  settle(slot);
}

/// Takes a slot that is done out of the filling ones.
void DataLoader::State::settle(Slot& slot) {
  if (!slot.is_done()) return;
  filling.erase(std::find(filling.begin(), filling.end(), &slot));
  const bool wanted = slot.generation == generation;
  (wanted ? ready : free).push_back(&slot);
  if (wanted && slot.error) end = std::min(end, step);  // nothing more until the next start
  (wanted ? done : to_do).notify_one();
}

void DataLoader::State::prepare(Slot& slot, std::int64_t prepared_step) const {
  sampler.samples(prepared_step, slot.samples);
  const auto n = static_cast<std::int64_t>(slot.samples.size());
  slot.batch = {.step = prepared_step,
                .global_count = sampler.global_count(prepared_step),
                .inputs = slot.inputs.slice(0, 0, n),
                .targets = slot.details.targets.slice(0, 0, n),
                .sample_keys = slot.details.keys.slice(0, 0, n)};
  slot.indices.clear();
  std::int64_t* to = slot.batch.sample_keys.data<std::int64_t>();
  for (const SampleKey& key : slot.samples) {
    slot.indices.push_back(key.sample);
    *to++ = key.sample;
    *to++ = key.epoch;
  }
  if (resident)
    std::ranges::transform(slot.indices, slot.details.indices.data<std::int32_t>(),
                           [](std::int64_t index) { return static_cast<std::int32_t>(index); });
}

/// With an augmentation a few samples at a time, which are still in the cache when they are augmented.
void DataLoader::State::read(const Slot& slot, std::int64_t first_row, std::int64_t end_row) const {
  if (resident) return read_resident(slot, first_row, end_row);
  constexpr std::int64_t kCacheBytes = 128 << 10;
  const Batch& batch = slot.batch;
  const auto row_bytes = static_cast<std::int64_t>(batch.inputs.byte_size()) / batch.size();
  const std::int64_t most =
      augmentation ? kCacheBytes / std::max<std::int64_t>(1, row_bytes) : end_row - first_row;
  for (std::int64_t row = first_row; row < end_row;) {
    const std::int64_t next_row = std::min(row + std::max<std::int64_t>(1, most), end_row);
    const auto samples =
        std::span(slot.indices)
            .subspan(static_cast<std::size_t>(row), static_cast<std::size_t>(next_row - row));
    {
      const TraceScope scope("loader", "read", {"rows", next_row - row}, {"batch", batch.step});
      dataset.read(samples, batch.inputs.slice(0, row, next_row), batch.targets.slice(0, row, next_row));
    }
    if (augmentation) augment(batch, row, next_row);
    row = next_row;
  }
}

/// What is left to the host.
void DataLoader::State::read_resident(const Slot& slot, std::int64_t first_row, std::int64_t end_row) const {
  const TraceScope scope("loader", "read", {"rows", end_row - first_row}, {"batch", slot.batch.step});
  const auto samples =
      std::span(slot.indices)
          .subspan(static_cast<std::size_t>(first_row), static_cast<std::size_t>(end_row - first_row));
  resident->read_targets(samples, slot.batch.targets.slice(0, first_row, end_row));
  resident->draw(slot.details.numbers.slice(0, first_row, end_row),
                 slot.batch.sample_keys.slice(0, first_row, end_row));
}

void DataLoader::State::augment(const Batch& batch, std::int64_t first_row, std::int64_t end_row) const {
  const TraceScope scope("loader", "augment", {"rows", end_row - first_row}, {"batch", batch.step});
  const Shape sample = batch.inputs.shape().tail(1);
  for (std::int64_t row = first_row; row < end_row; ++row) {
    const std::int64_t* key = batch.sample_keys.data<std::int64_t>() + 2 * row;
    AugmentationRandom random(sampler.options().seed, {.sample = key[0], .epoch = key[1]});
    augmentation->apply(batch.inputs.view(row * sample.count(), sample), random);
  }
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
