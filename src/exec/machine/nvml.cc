// Uses NVML without its header or library at build time: it looks up the functions by name.
// Their signatures are fixed by NVIDIA's stable interface; 0 means success.

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "exec/machine/gpu_health.h"
#include "exec/machine/machine_facts.h"

namespace muster {
namespace {

using NvmlDevice = void*;

// nvmlPciInfo_t of version 3.
struct NvmlPciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device_id, subsystem_id;
  char id[32];
};

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, NvmlDevice*) = nullptr;
  int (*name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory)(NvmlDevice, unsigned long long*) = nullptr;  // Total, free, used.
  // The following are optional.
  int (*use)(NvmlDevice, unsigned*) = nullptr;  // GPU and memory utilization in percent.
  int (*minor)(NvmlDevice, unsigned*) = nullptr;
  int (*pci)(NvmlDevice, void*) = nullptr;  // A NvmlPciInfo.
};

// The functions that GpuHealth uses. Old drivers lack some of them.
using NvmlEventSet = void*;
struct NvmlEvent {
  NvmlDevice device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
struct NvmlHealth {
  int (*create)(NvmlEventSet*) = nullptr;
  int (*add)(NvmlDevice, unsigned long long, NvmlEventSet) = nullptr;
  int (*wait)(NvmlEventSet, void*, unsigned) = nullptr;  // A NvmlEvent.
  int (*free)(NvmlEventSet) = nullptr;
  int (*ecc)(NvmlDevice, int, int, unsigned long long*) = nullptr;
  // Correctable, uncorrectable, pending, failed.
  int (*rows)(NvmlDevice, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
};
constexpr unsigned long long kXidEvents = 8;
constexpr int kUncorrectedErrors = 1;
constexpr int kSinceDriverStart = 0;
constexpr int kMaxEvents = 64;

template <class Function>
bool look_up(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
  return function != nullptr;
}

bool look_up_all(void* library, Nvml& nvml) {
  look_up(library, "nvmlDeviceGetUtilizationRates", nvml.use);
  look_up(library, "nvmlDeviceGetMinorNumber", nvml.minor);
  look_up(library, "nvmlDeviceGetPciInfo_v3", nvml.pci);
  return look_up(library, "nvmlInit_v2", nvml.init) &&
         look_up(library, "nvmlShutdown", nvml.shutdown) &&
         look_up(library, "nvmlDeviceGetCount_v2", nvml.count) &&
         look_up(library, "nvmlDeviceGetHandleByIndex_v2", nvml.device) &&
         look_up(library, "nvmlDeviceGetName", nvml.name) &&
         look_up(library, "nvmlDeviceGetUUID", nvml.uuid) &&
         look_up(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
}

NvmlHealth look_up_health(void* library) {
  NvmlHealth health;
  look_up(library, "nvmlDeviceGetTotalEccErrors", health.ecc);
  look_up(library, "nvmlDeviceGetRemappedRows", health.rows);
  const bool has_events = look_up(library, "nvmlEventSetCreate", health.create) &&
                          look_up(library, "nvmlDeviceRegisterEvents", health.add) &&
                          look_up(library, "nvmlEventSetWait_v2", health.wait) &&
                          look_up(library, "nvmlEventSetFree", health.free);
  if (!has_events) health.create = nullptr;
  return health;
}

// The driver names the node by the minor number. udev links the nodes for rendering by PCI address.
std::vector<std::string> device_nodes(const Nvml& nvml, NvmlDevice device) {
  unsigned minor = 0;
  if (nvml.minor == nullptr || nvml.minor(device, &minor) != 0) return {};
  std::vector<std::string> nodes = {"/dev/nvidia" + std::to_string(minor)};
  NvmlPciInfo pci{};
  if (nvml.pci == nullptr || nvml.pci(device, &pci) != 0) return nodes;
  char address[64];
  std::snprintf(address, sizeof address, "/dev/dri/by-path/pci-%04x:%02x:%02x.0-", pci.domain,
                pci.bus, pci.device);
  for (const char* kind : {"card", "render"}) nodes.push_back(std::string(address) + kind);
  return nodes;
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
    gpus.push_back({static_cast<int>(i), name, uuid, static_cast<std::int64_t>(memory[0] >> 20),
                    device_nodes(nvml, device)});
  }
  return gpus;
}

struct NvmlLibrary {
  explicit NvmlLibrary(const char* path) : handle(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle != nullptr && look_up_all(handle, nvml)) error = nvml.init();
  }
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary() {
    if (error == 0) nvml.shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  void* handle;
  Nvml nvml;
  int error = -1;  // 0 if NVML is usable.
};

}  // namespace

struct GpuWatch::Library : NvmlLibrary {
  using NvmlLibrary::NvmlLibrary;
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

struct GpuHealth::Watch {
  struct Gpu {
    NvmlDevice device = nullptr;
    std::int64_t address = kNoDevice;
    unsigned long long ecc = 0;
    unsigned long long rows = 0;
  };
  explicit Watch(const char* path) : library(path) {
    unsigned count = 0;
    if (library.error != 0 || library.nvml.count(&count) != 0) return;
    health = look_up_health(library.handle);
    if (health.create != nullptr && health.create(&events) != 0) events = nullptr;
    for (unsigned i = 0; i < count; ++i) {
      Gpu gpu;
      if (library.nvml.device(i, &gpu.device) != 0) continue;
      NvmlPciInfo pci{};
      if (library.nvml.pci != nullptr && library.nvml.pci(gpu.device, &pci) == 0) {
        gpu.address = pci_address(pci.domain, pci.bus, pci.device);
      }
      // A GPU that does not support these events is watched by its counters and the kernel log.
      if (events != nullptr) health.add(gpu.device, kXidEvents, events);
      gpu.ecc = ecc_errors(gpu);
      gpu.rows = remapped_rows(gpu);
      gpus.push_back(gpu);
    }
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    if (events != nullptr) health.free(events);
  }

  // Without support, the counters keep their values.
  unsigned long long ecc_errors(const Gpu& gpu) const {
    unsigned long long errors = 0;
    const bool known = health.ecc != nullptr &&
                       health.ecc(gpu.device, kUncorrectedErrors, kSinceDriverStart, &errors) == 0;
    return known ? errors : gpu.ecc;
  }
  unsigned long long remapped_rows(const Gpu& gpu) const {
    unsigned counts[4] = {};
    const bool known = health.rows != nullptr &&
                       health.rows(gpu.device, &counts[0], &counts[1], &counts[2], &counts[3]) == 0;
    return known ? 0ULL + counts[0] + counts[1] : gpu.rows;
  }

  NvmlLibrary library;
  NvmlHealth health;
  NvmlEventSet events = nullptr;
  std::vector<Gpu> gpus;
};

GpuHealth::GpuHealth(const char* nvml) : watch_(std::make_unique<Watch>(nvml)) {}
GpuHealth::~GpuHealth() = default;

bool GpuHealth::is_open() const { return !watch_->gpus.empty(); }

std::vector<HardwareEvent> GpuHealth::poll_xids() {
  std::vector<HardwareEvent> found;
  if (watch_->events == nullptr) return found;
  NvmlEvent event{};
  for (int i = 0; i < kMaxEvents && watch_->health.wait(watch_->events, &event, 0) == 0; ++i) {
    HardwareEvent fault;
    if (event.type != kXidEvents || !find_fault(event.data, fault.fault)) continue;
    for (const Watch::Gpu& gpu : watch_->gpus) {
      if (gpu.device == event.device) fault.device = gpu.address;
    }
    fault.what = "Xid " + std::to_string(event.data);
    found.push_back(std::move(fault));
  }
  return found;
}

std::vector<HardwareEvent> GpuHealth::poll_counters() {
  std::vector<HardwareEvent> found;
  for (Watch::Gpu& gpu : watch_->gpus) {
    const unsigned long long ecc = watch_->ecc_errors(gpu);
    const unsigned long long rows = watch_->remapped_rows(gpu);
    if (ecc > gpu.ecc) {
      found.push_back({HardwareFault::kGpuMemory, gpu.address, "uncorrected ECC errors"});
    }
    if (rows > gpu.rows) {
      found.push_back({HardwareFault::kGpuMemory, gpu.address, "remapped rows"});
    }
    gpu.ecc = ecc;
    gpu.rows = rows;
  }
  return found;
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
