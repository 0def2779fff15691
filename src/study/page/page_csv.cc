#include "study/page/page_csv.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "base/file/atomic_file.h"
#include "base/file/csv_row.h"

namespace muster {

namespace {

void add_number(CsvRow& row, double value) {
  std::isfinite(value) ? row.real(value) : row.nothing();
}

void add_cell(CsvRow& row, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    row.text(*text);
  } else if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    row.count(*integer);
  } else if (const auto* number = std::get_if<Number>(&cell)) {
    add_number(row, number->value);
  } else {
    row.nothing();
  }
}

void write_table(AtomicFile& file, const PageTable& table) {
  CsvRow row;
  for (const std::string& column : table.columns) row.text(column);
  row.write_to(file);
  for (const auto& cells : table.rows) {
    for (const Cell& cell : cells) add_cell(row, cell);
    row.write_to(file);
  }
}

void write_plot(AtomicFile& file, const Plot& plot) {
  const bool bars = plot.kind == Plot::Kind::kBars;
  file.append(bars ? "series,category,y\n" : "series,x,y\n");
  CsvRow row;
  for (const Series& series : plot.series) {
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      row.text(series.name);
      bars ? row.text(plot.categories[i]) : add_number(row, series.x[i]);
      add_number(row, series.y[i]);
      row.write_to(file);
    }
  }
}

void write_gantt(AtomicFile& file, const Gantt& gantt) {
  file.append("group,row,label,begin_s,end_s\n");
  CsvRow row;
  for (const Gantt::Bar& bar : gantt.bars) {
    row.text(gantt.groups[gantt.group_of_row[bar.row]]);
    row.count(bar.row);
    row.text(gantt.labels[bar.label]);
    add_number(row, bar.begin);
    add_number(row, bar.end);
    row.write_to(file);
  }
}

// Files that are moved into place together.
class Batch {
 public:
  explicit Batch(const std::string& dir) : folder_(dir) {}

  template <class Part>
  void add(const Part& part, void (*write)(AtomicFile&, const Part&)) {
    if (failure_) return;
    files_.push_back(std::make_unique<AtomicFile>(folder_ / (part.key + ".csv")));
    write(*files_.back(), part);
    failure_ = files_.back()->close();
  }

  MaybeError publish() {
    for (const auto& file : files_) {
      if (!failure_) failure_ = file->publish();
    }
    return failure_;
  }

 private:
  std::filesystem::path folder_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  MaybeError failure_;
};

}  // namespace

MaybeError write_page_csv(const std::string& dir, const Page& page) {
  check_page(page);
  if (MaybeError refusal = make_directory(dir)) return refusal;
  Batch batch(dir);
  for (const Section& section : page.sections) {
    for (const PageTable& table : section.tables) batch.add(table, write_table);
    for (const Plot& plot : section.plots) batch.add(plot, write_plot);
    for (const Gantt& gantt : section.gantts) batch.add(gantt, write_gantt);
  }
  return batch.publish();
}

}  // namespace muster
