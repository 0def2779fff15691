#include "live/lease/lease_log.h"

#include <utility>

#include "exec/lease/spec.h"

namespace muster {

namespace {

class LeaseLog final : public LogSource {
 public:
  explicit LeaseLog(LogReader reader) : reader_(std::move(reader)) {}

  std::uint64_t size() const override { return reader_.size(); }
  std::uint64_t seek(std::int64_t offset) override { return reader_.seek(offset); }
  std::string read(std::size_t max) override { return reader_.read(max); }

 private:
  LogReader reader_;
};

}  // namespace

std::string part_name(LiveId id, std::uint32_t lease, std::uint32_t node) {
  return lease_name(static_cast<std::int64_t>(id), lease, node);
}

std::unique_ptr<LogSource> open_lease_log(const LeaseFiles& files, const std::string& part) {
  return std::make_unique<LeaseLog>(files.open_log(part));
}

}  // namespace muster
