// NVML without its header or library at build time: the five calls we need, looked up by name.
// Their signatures are fixed by NVIDIA's stable interface; 0 means success.

#include <dlfcn.h>

#include <memory>

#include "exec/node.h"

namespace muster {
namespace {

using Device = void*;

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, unsigned long long*) = nullptr;  // Total, free, used.
};

template <class Function>
bool look_up(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
  return function != nullptr;
}

bool look_up_all(void* library, Nvml& nvml) {
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
    return Error{"NVML: cannot count the GPUs, error " + std::to_string(error)};
  }
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    unsigned long long memory[3] = {};
    char name[96] = "";
    char uuid[96] = "";
    int error = nvml.device(i, &device);
    if (error == 0) error = nvml.name(device, name, sizeof name);
    if (error == 0) error = nvml.uuid(device, uuid, sizeof uuid);
    if (error == 0) error = nvml.memory(device, memory);
    if (error != 0) {
      return Error{"NVML: GPU " + std::to_string(i) + ": error " + std::to_string(error)};
    }
    gpus.push_back({static_cast<int>(i), name, uuid, static_cast<std::int64_t>(memory[0] >> 20)});
  }
  return gpus;
}

}  // namespace

Result<std::vector<GpuFacts>> find_gpus(const char* path) {
  const auto close = [](void* library) { ::dlclose(library); };
  const std::unique_ptr<void, decltype(close)> library(::dlopen(path, RTLD_NOW | RTLD_LOCAL),
                                                       close);
  if (!library) return Error{std::string("no NVML: ") + ::dlerror()};
  Nvml nvml;
  if (!look_up_all(library.get(), nvml)) return Error{std::string(path) + ": not NVML"};
  if (const int error = nvml.init()) return Error{"NVML: error " + std::to_string(error)};
  auto gpus = list_gpus(nvml);
  nvml.shutdown();
  return gpus;
}

}  // namespace muster
