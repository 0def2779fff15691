#pragma once

// Draws one plot of a Page as a standalone SVG file, for documents. (A browser draws the plots of a
// Page itself.)

#include <string>

#include "study/page/page.h"

namespace muster {

// An image of 720 x 420 without scripts or external resources. It has no background, and its colors
// suit light and dark backgrounds. The y axis includes zero. NaN is omitted. The same plot gives
// the same bytes.
std::string plot_svg(const Plot& plot);

}  // namespace muster
