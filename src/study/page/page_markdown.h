#pragma once

// Writes a page as a Markdown document: findings, tables, and links to the images of its plots.

#include <string>

#include "study/page/page.h"

namespace muster {

// `images` is the directory of the plots' SVG files (KEY.svg), relative to the document; empty: no
// images. `before` is inserted after the title. Texts may contain any bytes.
std::string page_markdown(const Page& page, const std::string& images, const std::string& before);

}  // namespace muster
