// Uses NVML without its header or library at build time: it looks up the functions by name.
// Their signatures are fixed by NVIDIA's stable interface; 0 means success.

#include <dlfcn.h>

#include <algorithm>
#include <memory>

#include "exec/machine/machine_facts.h"

namespace muster {
namespace {

using NvmlDevice = void*;

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, NvmlDevice*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory)(NvmlDevice, unsigned long long*) = nullptr;  // Total, free, used.
  int (*use)(NvmlDevice,
             unsigned*) = nullptr;  // GPU and memory utilization in percent. Optional.
};

template <class Function>
bool look_up(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
  return function != nullptr;
}

bool look_up_all(void* library, Nvml& nvml) {
  look_up(library, "nvmlDeviceGetUtilizationRates", nvml.use);
  return look_up(library, "nvmlInit_v2", nvml.init) &&
         look_up(library, "nvmlShutdown", nvml.shutdown) &&
         look_up(library, "nvmlDeviceGetCount_v2", nvml.count) &&
         look_up(library, "nvmlDeviceGetHandleByIndex_v2", nvml.device) &&
         look_up(library, "nvmlDeviceGetName", nvml.name) &&
         look_up(library, "nvmlDeviceGetUUID", nvml.uuid) &&
         look_up(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
}

Result<std::vector<GpuFacts>> list_gpus(const Nvml& nvml) {
  std::vector<GpuFacts> gpus;
  unsigned count = 0;
  if (const int error = nvml.count(&count)) {
    return Error{"NVML: cannot count the GPUs, error " + std::to_string(error), ErrorCode::kSystem};
  }
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    unsigned long long memory[3] = {};
    char name[96] = "";
    char uuid[96] = "";
    int error = nvml.device(i, &device);
    if (error == 0) error = nvml.name(device, name, sizeof name);
    if (error == 0) error = nvml.uuid(device, uuid, sizeof uuid);
    if (error == 0) error = nvml.memory(device, memory);
    if (error != 0) {
      return Error{"NVML: GPU " + std::to_string(i) + ": error " + std::to_string(error),
                   ErrorCode::kSystem};
    }
    gpus.push_back({static_cast<int>(i), name, uuid, static_cast<std::int64_t>(memory[0] >> 20)});
  }
  return gpus;
}

}  // namespace

struct GpuWatch::Library {
  explicit Library(const char* path) : handle(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle != nullptr && look_up_all(handle, nvml)) error = nvml.init();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (error == 0) nvml.shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  void* handle;
  Nvml nvml;
  int error = -1;  // 0 if NVML is usable.
};

GpuWatch::GpuWatch(const char* nvml) : library_(std::make_unique<Library>(nvml)) {}
GpuWatch::~GpuWatch() = default;

std::vector<double> GpuWatch::use() const {
  const Nvml& nvml = library_->nvml;
  unsigned count = 0;
  if (library_->error != 0 || nvml.use == nullptr || nvml.count(&count) != 0) return {};
  std::vector<double> uses;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    unsigned percent[2] = {};
    const bool known = nvml.device(i, &device) == 0 && nvml.use(device, percent) == 0;
    uses.push_back(known ? std::min(percent[0], 100U) / 100.0 : -1);
  }
  return uses;
}

Result<std::vector<GpuFacts>> find_gpus(const char* path) {
  const auto close = [](void* library) { ::dlclose(library); };
  const std::unique_ptr<void, decltype(close)> library(::dlopen(path, RTLD_NOW | RTLD_LOCAL),
                                                       close);
  if (!library) return Error{std::string("no NVML: ") + ::dlerror(), ErrorCode::kNotFound};
  Nvml nvml;
  if (!look_up_all(library.get(), nvml))
    return Error{std::string(path) + ": not NVML", ErrorCode::kSystem};
  if (const int error = nvml.init())
    return Error{"NVML: error " + std::to_string(error), ErrorCode::kSystem};
  auto gpus = list_gpus(nvml);
  nvml.shutdown();
  return gpus;
}

}  // namespace muster
