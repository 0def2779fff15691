// A fake NVML library with two GPUs, for tests on machines without GPUs.

#include <cstdio>

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
int nvmlDeviceGetUUID(void*, char* uuid, unsigned size) {
  return std::snprintf(uuid, size, "GPU-fake"), 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  return memory[0] = 16ULL << 30, 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* percent) {
  void* second = nullptr;
  nvmlDeviceGetHandleByIndex_v2(1, &second);
  return percent[0] = 75, device == second ? 999 : 0;  // The second GPU does not report.
}
}
