// A small real training job; see README.md. This file contains the threads that load data,
// checkpoints, progress reports and injected failures. network.h contains the model.

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "network.h"
#include "options.h"

namespace trainer {
namespace {

// ---- loading data

// Threads that prepare a bounded number of batches in advance. A batch depends only on its step, so
// the number of threads and their timing do not change the result.
class Loaders {
 public:
  Loaders(const Options& options, std::uint64_t first_step)
      : options_(options), next_(first_step), wanted_(first_step) {
    for (std::uint64_t i = 0; i < options.loaders; ++i) threads_.emplace_back([this] { load(); });
  }
  ~Loaders() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Waits for the batch of this step. REQUIRES: steps are requested in order.
  Batch take(std::uint64_t step) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return made_.contains(step); });
    Batch batch = std::move(made_.at(step));
    made_.erase(step);
    wanted_ = step + 1;
    lock.unlock();
    room_.notify_all();
    return batch;
  }

 private:
  void load() {
    Spirals spirals(options_.seed);
    std::unique_lock lock(mutex_);
    while (true) {
      room_.wait(lock, [&] { return stopping_ || next_ < wanted_ + 2 * options_.loaders; });
      if (stopping_) return;
      const std::uint64_t step = next_++;
      lock.unlock();
      const std::uint64_t batches = (step - 1) * options_.world + options_.rank;
      Batch batch = spirals.batch(batches * options_.batch, options_.batch);
      use_cpu();
      lock.lock();
      made_.emplace(step, std::move(batch));
      ready_.notify_one();
    }
  }

  // Uses CPU time, as decoding and augmenting real data would. Measures the CPU time of this thread
  // only, without the time it waits for a CPU.
  void use_cpu() const {
    const auto used_ms = [] {
      timespec used = {};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
      return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) * 1e-6;
    };
    const double end = used_ms() + static_cast<double>(options_.load_ms);
    while (options_.load_ms > 0 && !stopping_ && used_ms() < end) {
      Stream work(options_.seed, 5, 0);  // About 50 us of work between two clock reads.
      double sum = 0;
      for (int i = 0; i < 20'000; ++i) sum += work.uniform();
      if (sum < 0) std::abort();  // Never true; keeps the compiler from removing the loop.
    }
  }

  const Options& options_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable ready_;
  std::map<std::uint64_t, Batch> made_;
  std::uint64_t next_;    // The next step whose batch must be prepared.
  std::uint64_t wanted_;  // The next step that take() will request.
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

// ---- checkpoints

struct Training {
  explicit Training(std::uint64_t seed) : network(seed) {}
  std::uint64_t step = 0;  // Steps finished so far.
  double loss = 0;         // Moving average: each step has a weight of 1/20.
  Network network;
};

constexpr char kMagic[8] = {'S', 'P', 'I', 'R', 'A', 'L', 'S', '1'};

std::uint64_t fingerprint(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string pack(const Training& training, const Options& options) {
  std::string bytes(kMagic, sizeof kMagic);
  for (const std::uint64_t number : {options.seed, options.batch, training.step}) {
    put(bytes, number);
  }
  put(bytes, training.loss);
  for (const auto* numbers : {&training.network.weights, &training.network.momentum}) {
    for (const double number : *numbers) put(bytes, number);
  }
  put(bytes, fingerprint(bytes));
  return bytes;
}

// Saves the checkpoint atomically and syncs it to disk.
void save(const Training& training, const Options& options) {
  const std::string bytes = pack(training, options);
  const std::string fresh = options.checkpoint + ".tmp";
  const auto check = [&](bool well) {
    if (!well) quit(1, options.checkpoint + ": cannot save: " + std::strerror(errno));
  };
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  check(file >= 0);
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t written = write(file, rest.data(), rest.size());
    check(written > 0 || errno == EINTR);
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  check(fsync(file) == 0);
  check(close(file) == 0);
  check(rename(fresh.c_str(), options.checkpoint.c_str()) == 0);
  const std::size_t slash = options.checkpoint.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : options.checkpoint.substr(0, slash + 1);
  const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  check(directory >= 0);
  check(fsync(directory) == 0);
  close(directory);
}

// Loads the checkpoint, if there is one.
void restore(Training& training, const Options& options) {
  const std::string& path = options.checkpoint;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    if (errno == ENOENT) return;
    quit(2, path + ": cannot read: " + std::strerror(errno));
  }
  std::string bytes(pack(training, options).size() + 1, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  if (std::ferror(file) != 0) quit(2, path + ": cannot read: " + std::strerror(errno));
  std::fclose(file);

  std::size_t at = sizeof kMagic;
  const auto get = [&](auto& value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
  };
  const std::size_t size = pack(training, options).size();
  std::uint64_t sum = 0;
  if (bytes.size() == size) std::memcpy(&sum, bytes.data() + size - sizeof sum, sizeof sum);
  if (bytes.size() != size || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0 ||
      sum != fingerprint(std::string_view(bytes).substr(0, size - sizeof sum))) {
    quit(2, path + ": not a checkpoint of this trainer, or damaged");
  }
  std::uint64_t seed = 0;
  std::uint64_t batch = 0;
  get(seed);
  get(batch);
  if (seed != options.seed || batch != options.batch) {
    quit(2, path + ": saved with --seed " + std::to_string(seed) + " --batch " +
                std::to_string(batch) + ", which must stay the same");
  }
  get(training.step);
  get(training.loss);
  for (double& weight : training.network.weights) get(weight);
  for (double& momentum : training.network.momentum) get(momentum);
  std::printf("resuming from step %llu\n", static_cast<unsigned long long>(training.step));
}

// ---- progress

class Progress {
 public:
  explicit Progress(const Options& options) : options_(options) {
    const char* path = std::getenv("MUSTER_PROGRESS");
    if (path == nullptr || *path == '\0' || options.rank != 0) return;
    file_ = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) quit(2, std::string(path) + ": cannot write: " + std::strerror(errno));
  }

  void waited(std::chrono::duration<double> time) { waited_ += time.count(); }

  void report(const Training& training) {
    const auto now = std::chrono::steady_clock::now();
    const double passed = std::chrono::duration<double>(now - since_).count();
    const double rate = passed > 0 ? static_cast<double>(steps_) / passed : 0;
    const auto step = static_cast<unsigned long long>(training.step);
    const unsigned long long epoch = step * options_.batch * options_.world / Spirals::kPoints;
    std::printf("step %llu  epoch %llu  loss %.4f  %.1f steps/s  %.0f%% waiting for data\n", step,
                epoch, training.loss, rate, passed > 0 ? 100 * waited_ / passed : 0);
    char line[200];
    std::snprintf(line, sizeof line,
                  "{\"step\":%llu,\"epoch\":%llu,\"loss\":%.17g,\"rate\":%.2f,\"total\":%llu}\n",
                  step, epoch, training.loss, rate,
                  static_cast<unsigned long long>(options_.steps));
    append(line);
    since_ = now;
    waited_ = 0;
    steps_ = 0;
  }
  void stepped() { ++steps_; }

  // Reports that the work so far is on disk. Muster prefers to stop jobs that lose little work.
  void saved(std::uint64_t step) {
    append("{\"step\":" + std::to_string(step) + ",\"saved\":true}\n");
  }

 private:
  // Appends the line with one write. An error does not fail the job.
  void append(std::string_view line) {
    if (file_ < 0 || write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
      return;
    }
    std::fprintf(stderr, "trainer: progress: %s\n", std::strerror(errno));
    close(std::exchange(file_, -1));
  }

  const Options& options_;
  int file_ = -1;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  double waited_ = 0;
  std::uint64_t steps_ = 0;
};

// ---- failing on demand

[[noreturn]] void fail(const std::string& how) {
  if (how == "segfault") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (how == "oom") {
    // With a memory limit the process is killed. The maximum protects machines without a limit.
    constexpr std::size_t kMax = std::size_t{1} << 30;
    constexpr std::size_t kPiece = std::size_t{16} << 20;
    std::vector<std::vector<char>> held;
    while (held.size() * kPiece < kMax) held.emplace_back(kPiece, static_cast<char>(held.size()));
    quit(1, "out of memory: tried to hold more than 1024 MB");
  }
  std::fputs(
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 88, in <module>\n"
      "    main()\n"
      "  File \"train.py\", line 61, in main\n"
      "    loss = criterion(model(inputs), labels)\n"
      "ValueError: Expected input batch_size (32) to match target batch_size (31).\n",
      stderr);
  std::exit(1);
}

// ---- the run

volatile sig_atomic_t stop_asked = 0;

void ask_to_stop(int) { stop_asked = 1; }

double accuracy(Training& training, const Options& options) {
  Spirals spirals(options.seed);
  std::size_t right = 0;
  for (const Point& point : spirals.batch(0, Spirals::kPoints)) {
    right += training.network.right(point) ? 1U : 0U;
  }
  return static_cast<double>(right) / Spirals::kPoints;
}

void one_step(Training& training, const Options& options, Loaders& loaders, Progress& progress) {
  const auto before = std::chrono::steady_clock::now();
  const Batch batch = loaders.take(training.step + 1);
  progress.waited(std::chrono::steady_clock::now() - before);
  const auto begun = std::chrono::steady_clock::now();
  const double loss = training.network.train(batch);
  if (options.gpu_ms > 0) {
    std::this_thread::sleep_until(begun + std::chrono::milliseconds(options.gpu_ms));
  }
  training.loss += (loss - training.loss) * (training.step == 0 ? 1 : 0.05);
  ++training.step;
  progress.stepped();
}

int run(const Options& options) {
  Training training(options.seed);
  const bool saves = !options.checkpoint.empty() && options.rank == 0;
  if (!options.checkpoint.empty()) restore(training, options);
  Progress progress(options);
  std::uint64_t saved = training.step;
  const auto save_now = [&] {
    save(training, options);
    saved = training.step;
    progress.saved(saved);
  };
  {
    Loaders loaders(options, training.step + 1);
    while (training.step < options.steps && stop_asked == 0) {
      if (training.step + 1 == options.fail_at) fail(options.fail_how);
      one_step(training, options, loaders, progress);
      if (training.step == 1 || training.step % options.report_every == 0) {
        progress.report(training);
      }
      if (saves && training.step % options.checkpoint_every == 0) save_now();
    }
  }
  if (saves && saved != training.step) save_now();
  const auto step = static_cast<unsigned long long>(training.step);
  if (training.step < options.steps) {
    std::printf("stopped at step %llu; %s\n", step,
                saves ? "saved; run it again to resume" : "not saved");
  } else {
    std::printf("finished: step %llu, loss %.4f, %.1f%% right\n", step, training.loss,
                100 * accuracy(training, options));
  }
  return 0;
}

}  // namespace
}  // namespace trainer

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Readers of the log see each line immediately.
  struct sigaction action = {};
  action.sa_handler = trainer::ask_to_stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  return trainer::run(trainer::read_options(count, words));
}
