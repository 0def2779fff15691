#pragma once

// A new directory for one test, under the temporary directory. The destructor removes it and its
// content. Tests of all modules that use files use this class.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "base/types/check.h"

namespace muster {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-test-XXXXXX").string();
    MUSTER_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text, int mode = 0600) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << text;
    std::filesystem::permissions(path_ / name, static_cast<std::filesystem::perms>(mode));
  }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::app) << text;
  }
  std::string read(const std::string& name) const {  // Empty if there is no such file.
    std::ifstream file(path_ / name, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace muster
