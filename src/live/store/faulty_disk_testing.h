#pragma once

// A disk for tests that fails on request. While the object lives, it sits between SQLite and the
// real files of the process. It also records the last synced content of each file, which is what a
// power failure leaves.

#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <string>

#include "live/store/testing.h"

namespace muster {

class FaultyDisk {
 public:
  enum class Fault { kNone, kFull, kBadWrite, kBadSync };

  FaultyDisk() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
    current() = this;
    vfs_.zName = "faulty";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    sqlite3_vfs_register(&vfs_, 1);
  }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  ~FaultyDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
    current() = nullptr;
  }

  // After `after` more operations of its kind, all operations fail until mend().
  void fail(Fault fault, int after) { fault_ = fault, left_ = after, struck_ = false; }
  void mend() { fault_ = Fault::kNone; }
  bool struck() const { return struck_; }
  int syncs() const { return syncs_; }

  // Writes the files that a power failure would leave now to another folder.
  void power_cut(const std::filesystem::path& folder) const {
    for (const auto& [path, bytes] : synced_) {
      write_bytes((folder / std::filesystem::path(path).filename()).string(), bytes);
    }
  }

 private:
  struct File {
    sqlite3_file base;
    sqlite3_file* real;
    const char* name;
  };
  static FaultyDisk*& current() {
    static FaultyDisk* disk = nullptr;
    return disk;
  }
  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

  bool strikes(bool of_this_kind) {
    if (!of_this_kind || left_-- > 0) return false;
    left_ = 0;
    return struck_ = true;
  }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
    auto* mine = reinterpret_cast<File*>(file);
    mine->real = reinterpret_cast<sqlite3_file*>(mine + 1);
    mine->name = name;
    sqlite3_vfs* below = current()->real_;
    const int code = below->xOpen(below, name, mine->real, flags, out);
    mine->base.pMethods = code == SQLITE_OK ? methods() : nullptr;
    return code;
  }
  static int remove(sqlite3_vfs*, const char* name, int sync) {
    current()->synced_.erase(name);
    return current()->real_->xDelete(current()->real_, name, sync);
  }
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    FaultyDisk& disk = *current();
    if (disk.strikes(disk.fault_ == Fault::kFull)) return SQLITE_FULL;
    if (disk.strikes(disk.fault_ == Fault::kBadWrite)) return SQLITE_IOERR_WRITE;
    return real(file)->pMethods->xWrite(real(file), bytes, size, offset);
  }
  static int sync(sqlite3_file* file, int flags) {
    FaultyDisk& disk = *current();
    if (disk.strikes(disk.fault_ == Fault::kBadSync)) return SQLITE_IOERR_FSYNC;
    const int code = real(file)->pMethods->xSync(real(file), flags);
    ++disk.syncs_;
    const char* name = reinterpret_cast<File*>(file)->name;
    if (code == SQLITE_OK && name != nullptr) disk.synced_[name] = read_bytes(name);
    return code;
  }

  static const sqlite3_io_methods* methods() {
    using F = sqlite3_file;
    static const sqlite3_io_methods all = {
        3,
        [](F* f) { return real(f)->pMethods->xClose(real(f)); },
        [](F* f, void* to, int n, sqlite3_int64 at) {
          return real(f)->pMethods->xRead(real(f), to, n, at);
        },
        write,
        [](F* f, sqlite3_int64 n) { return real(f)->pMethods->xTruncate(real(f), n); },
        sync,
        [](F* f, sqlite3_int64* n) { return real(f)->pMethods->xFileSize(real(f), n); },
        [](F* f, int l) { return real(f)->pMethods->xLock(real(f), l); },
        [](F* f, int l) { return real(f)->pMethods->xUnlock(real(f), l); },
        [](F* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
        [](F* f, int op, void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); },
        [](F* f) { return real(f)->pMethods->xSectorSize(real(f)); },
        [](F* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
        [](F* f, int page, int size, int extend, void volatile** out) {
          return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
        },
        [](F* f, int at, int n, int flags) {
          return real(f)->pMethods->xShmLock(real(f), at, n, flags);
        },
        [](F* f) { real(f)->pMethods->xShmBarrier(real(f)); },
        [](F* f, int drop) { return real(f)->pMethods->xShmUnmap(real(f), drop); },
        [](F*, sqlite3_int64, int, void** out) {
          *out = nullptr;
          return SQLITE_OK;
        },
        [](F*, sqlite3_int64, void*) { return SQLITE_OK; }};
    return &all;
  }

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  Fault fault_ = Fault::kNone;
  int left_ = 0;
  bool struck_ = false;
  int syncs_ = 0;
  std::map<std::string, std::string> synced_;
};

}  // namespace muster
