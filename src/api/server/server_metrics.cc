#include "api/server/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <utility>

namespace muster {

struct ServerMetrics::Parts {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
      prometheus::BuildCounter()
          .Name("muster_api_requests_total")
          .Help("Number of answered requests, by path and status.")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& times =
      prometheus::BuildHistogram()
          .Name("muster_api_request_seconds")
          .Help("Seconds from the last byte of a request to the first byte of the answer, by path.")
          .Register(registry);
  prometheus::Gauge& connections = prometheus::BuildGauge()
                                       .Name("muster_api_connections")
                                       .Help("Number of open connections.")
                                       .Register(registry)
                                       .Add({});
  prometheus::Counter& turned_away = prometheus::BuildCounter()
                                         .Name("muster_api_turned_away_total")
                                         .Help("Connections rejected because there were too many.")
                                         .Register(registry)
                                         .Add({});

  // The library finds a metric by a map of its labels; this avoids building that map each time.
  using Route = std::pair<std::string_view, std::string_view>;
  std::map<std::pair<Route, int>, prometheus::Counter*> counters;
  std::map<Route, prometheus::Histogram*> histograms;
};

ServerMetrics::ServerMetrics() : parts_(std::make_unique<Parts>()) {}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::count(std::string_view method, std::string_view path, int status,
                          double seconds) {
  const Parts::Route route{method, path};
  prometheus::Counter*& counter = parts_->counters[{route, status}];
  prometheus::Histogram*& histogram = parts_->histograms[route];
  if (counter == nullptr) {
    counter = &parts_->requests.Add({{"method", std::string(method)},
                                     {"path", std::string(path)},
                                     {"status", std::to_string(status)}});
  }
  if (histogram == nullptr) {
    histogram = &parts_->times.Add({{"method", std::string(method)}, {"path", std::string(path)}},
                                   prometheus::Histogram::BucketBoundaries{
                                       0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3});
  }
  counter->Increment();
  histogram->Observe(seconds);
}

void ServerMetrics::set_connections(std::size_t connections) {
  parts_->connections.Set(static_cast<double>(connections));
}

void ServerMetrics::count_turned_away() { parts_->turned_away.Increment(); }

std::string ServerMetrics::text() const {
  return prometheus::TextSerializer().Serialize(parts_->registry.Collect());
}

}  // namespace muster
