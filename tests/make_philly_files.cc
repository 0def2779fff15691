// Writes synthetic Philly files of any size to a directory, for manual measurements:
//
//   make_philly_files DIR [JOBS [MINUTES]]

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "philly_files.h"

int main(int argc, char** argv) {
  using namespace muster;
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: make_philly_files DIR [JOBS [MINUTES]]\n");
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  std::filesystem::create_directories(folder);
  PhillyJobs log;
  PhillyMinutes minutes;
  if (argc > 2) log.jobs = std::atoll(argv[2]);
  if (argc > 3) minutes.minutes = std::atoll(argv[3]);
  const auto into = [&](const char* name, auto write) {
    std::ofstream out(folder / name, std::ios::binary);
    write([&](std::string_view part) {
      out.write(part.data(), static_cast<std::streamsize>(part.size()));
    });
  };
  into("cluster_job_log", [&](const TextSink& sink) { write_philly_log(log, sink); });
  into("cluster_machine_list", [&](const TextSink& sink) { write_philly_machines(sink); });
  into("cluster_gpu_util", [&](const TextSink& sink) { write_philly_gpu_use(minutes, sink); });
  into("cluster_cpu_util", [&](const TextSink& sink) { write_philly_cpu_use(minutes, sink); });
  into("cluster_mem_util", [&](const TextSink& sink) { write_philly_mem_use(minutes, sink); });
  return 0;
}
