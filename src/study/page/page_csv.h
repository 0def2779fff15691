#pragma once

// Writes a page for spreadsheets: each table, plot and Gantt chart becomes a CSV file KEY.csv.
//
// tables   unchanged, with all digits
// plots    series,x,y; for bars series,category,y: one row per point
// Gantt    group,row,label,begin_s,end_s: one row per bar; rows count from 0 over all groups
//
// Empty cells, NaN and infinity are empty. Texts keep their bytes.

#include <string>

#include "base/types/result.h"
#include "study/page/page.h"

namespace muster {

// Creates the directory and its parents if necessary. The files are moved into place only after all
// are written. Other files stay. The error names the file that could not be written.
MaybeError write_page_csv(const std::string& dir, const Page& page);

}  // namespace muster
