#include "sim/results/gpu_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_string.h"
#include "base/text/wording.h"
#include "base/types/check.h"

namespace muster {

namespace {

class TrackWriter {
 public:
  TrackWriter(AtomicFile& file, const Topology& topology) : file_(file), topology_(topology) {
    next_thread_ = topology.node_count() + 1;
    for (const Node& node : topology.nodes()) {
      first_gpu_.push_back(lanes_.size());
      for (int gpu = 0; gpu < node.capacity.gpus; ++gpu) {
        lanes_.push_back({{next_thread_++, Instant()}});
      }
    }
  }

  void write(const SimResult& result, const Trace& trace) {
    file_.append("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (std::size_t i = 0; i < topology_.node_count(); ++i) name_tracks(NodeId(i));
    // Spans are listed by end, but tracks are assigned by begin.
    std::vector<std::size_t> order(result.spans.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return result.spans[a].begin < result.spans[b].begin;
    });
    for (const std::size_t i : order) {
      const LeaseSpan& span = result.spans[i];
      MUSTER_CHECK(span.job.index() < trace.jobs.size());
      if (span.begin != span.end) add_span(span, trace.jobs[span.job.index()].id);
    }
    file_.append("\n]}\n");
  }

 private:
  struct Lane {
    std::size_t thread = 0;
    Instant free_from;
  };

  static std::size_t process(NodeId id) { return id.index() + std::size_t{1}; }

  void event(std::string_view text) {
    file_.append(first_ ? "\n" : ",\n");
    file_.append(text);
    first_ = false;
  }

  void name_track(std::string_view kind, NodeId id, std::size_t thread, std::size_t place,
                  std::string_view name) {
    std::string text =
        fmt::format(R"({{"ph":"M","name":"{}_name","pid":{},"tid":{},"args":{{"name":)", kind,
                    process(id), thread);
    append_json_string(text, name);
    event(text + "}}");
    event(fmt::format(
        R"({{"ph":"M","name":"{}_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", kind,
        process(id), thread, place));
  }

  void name_tracks(NodeId id) {
    const Node& node = topology_.node(id);
    const bool racks = topology_.rack_count() > 1;
    name_track(
        "process", id, process(id), process(id),
        racks ? fmt::format("{} ({})", node.name, topology_.rack_name(node.rack)) : node.name);
    for (int gpu = 0; gpu < node.capacity.gpus; ++gpu) {
      const std::size_t thread = lanes_[first_gpu_[id] + static_cast<std::size_t>(gpu)][0].thread;
      name_track("thread", id, thread, thread, fmt::format("{} gpu {}", node.name, gpu));
    }
  }

  std::size_t thread_for(const LeaseSpan& span, std::size_t gpu) {
    std::vector<Lane>& lanes = lanes_[first_gpu_[span.node] + gpu];
    for (Lane& lane : lanes) {
      if (lane.free_from > span.begin) continue;
      lane.free_from = span.end;
      return lane.thread;
    }
    lanes.push_back({next_thread_++, span.end});
    name_track("thread", span.node, lanes.back().thread, lanes.front().thread,
               fmt::format("{} gpu {} ({})", topology_.node(span.node).name, gpu, lanes.size()));
    return lanes.back().thread;
  }

  void add_span(const LeaseSpan& span, std::string_view job) {
    MUSTER_CHECK(first_gpu_.contains(span.node));
    MUSTER_CHECK(span.begin <= span.end && span.end != Instant::never());
    MUSTER_CHECK(std::bit_width(span.slots) <=
                 static_cast<std::size_t>(topology_.node(span.node).capacity.gpus));
    event_ = R"({"ph":"X","name":)";
    append_json_string(event_, job);
    event_ += ",\"pid\":";
    append_int(event_, process(span.node));
    event_ += ",\"ts\":";
    append_int(event_, span.begin.us());
    event_ += ",\"dur\":";
    append_int(event_, (span.end - span.begin).us());
    event_ += ",\"args\":{\"gpus\":";
    append_int(event_, std::popcount(span.slots));
    event_ += ",\"cpus\":";
    append_millionths(event_, cpus_in_millionths(span.cpu_milli));
    event_ += ",\"mem_gb\":";
    append_millionths(event_, gb_in_millionths(span.mem_mib));
    event_ += ",\"speed\":";
    append_millionths(event_, in_millionths(span.speed));
    event_ += "},\"tid\":";
    const std::size_t shared = event_.size();
    for (std::uint64_t left = span.slots; left != 0; left &= left - 1) {
      event_.resize(shared);
      append_int(event_, thread_for(span, static_cast<std::size_t>(std::countr_zero(left))));
      event_ += '}';
      event(event_);
    }
  }

  AtomicFile& file_;
  const Topology& topology_;
  IdVector<NodeId, std::size_t> first_gpu_;  // Index into lanes_.
  std::vector<std::vector<Lane>> lanes_;     // Tracks of each GPU, at least one.
  std::size_t next_thread_ = 0;
  std::string event_;
  bool first_ = true;
};

}  // namespace

void write_gpu_tracks(AtomicFile& file, const SimResult& result, const Trace& trace,
                      const Topology& topology) {
  TrackWriter(file, topology).write(result, trace);
}

}  // namespace muster
