// A fake NVML library with two GPUs, for tests on machines without GPUs. It reads events from the
// file $FAKE_NVML_EVENTS, one per line: "xid GPU NUMBER", "ecc GPU TOTAL" or "rows GPU TOTAL".

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

// Returns the number in the line after `skip` lines of this kind and GPU (-1: any), or 0.
unsigned long find(const char* kind, int gpu, int skip, int* found_gpu = nullptr) {
  const char* path = std::getenv("FAKE_NVML_EVENTS");
  std::ifstream in(path == nullptr ? "" : path);
  std::string word;
  int its_gpu = 0;
  unsigned long number = 0;
  unsigned long last = 0;
  while (in >> word >> its_gpu >> number) {
    if (word != kind || (gpu >= 0 && gpu != its_gpu)) continue;
    last = number;
    if (found_gpu != nullptr) *found_gpu = its_gpu;
    if (skip >= 0 && skip-- == 0) return number;
  }
  return skip < 0 && std::strcmp(kind, "xid") != 0 ? last : 0;
}

int index_of(void* device);

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static char devices[2];
  return *device = &devices[index], 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned size) {
  return std::snprintf(name, size, "Fake V100"), 0;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  void* second = nullptr;
  nvmlDeviceGetHandleByIndex_v2(1, &second);
  return *minor = device == second ? 0 : 1, 0;  // The first GPU is /dev/nvidia1.
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  unsigned minor = 0;
  nvmlDeviceGetMinorNumber(device, &minor);
  return std::snprintf(uuid, size, "GPU-fake%u", minor), 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  return memory[0] = 16ULL << 30, 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, void* info) {
  const unsigned address[] = {0, 0x3bU + static_cast<unsigned>(index_of(device)), 0, 0, 0};
  std::memcpy(static_cast<char*>(info) + 16, address, sizeof address);
  return 0;
}
int nvmlEventSetCreate(void** set) {
  static int events;  // Those that were delivered.
  events = 0;
  return *set = &events, 0;
}
int nvmlEventSetFree(void*) { return 0; }
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }
int nvmlEventSetWait_v2(void* set, void* event, unsigned) {
  int& delivered = *static_cast<int*>(set);
  int gpu = 0;
  const unsigned long xid = find("xid", -1, delivered, &gpu);
  if (xid == 0) return 10;  // Timeout.
  ++delivered;
  struct {
    void* device = nullptr;
    unsigned long long type = 8;
    unsigned long long data = 0;
    unsigned instances[2] = {};
  } out;
  nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(gpu), &out.device);
  out.data = xid;
  std::memcpy(event, &out, sizeof out);
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void* device, int, int, unsigned long long* errors) {
  return *errors = find("ecc", index_of(device), -1), 0;
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  *uncorrected = *pending = *failed = 0;
  return *corrected = static_cast<unsigned>(find("rows", index_of(device), -1)), 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* percent) {
  void* second = nullptr;
  nvmlDeviceGetHandleByIndex_v2(1, &second);
  return percent[0] = 75, device == second ? 999 : 0;  // The second GPU does not report.
}
}

namespace {
int index_of(void* device) {
  void* second = nullptr;
  nvmlDeviceGetHandleByIndex_v2(1, &second);
  return device == second ? 1 : 0;
}
}  // namespace
