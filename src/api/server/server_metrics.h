#pragma once

// Metrics of the HTTP server, which /metrics adds to those of the manager. For the server's thread.

#include <memory>
#include <string>
#include <string_view>

namespace muster {

class ServerMetrics {
 public:
  ServerMetrics();
  ~ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  // Counts one answered request. `method` and `path` are those of the Route, or "other" for
  // requests without a route. They are stored as views, so they must outlive this object.
  void count(std::string_view method, std::string_view path, int status, double seconds);
  void set_connections(std::size_t connections);
  void count_turned_away();

  std::string text() const;  // In the Prometheus text format.

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
