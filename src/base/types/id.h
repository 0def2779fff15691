#pragma once

// Typed dense ids, and vectors that are indexed by one id type.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace muster {

// A dense index of one kind of object, in four bytes. It converts implicitly neither to other id
// types nor to or from integers. Tables assign ids in order and never reuse one.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;  // Id 0. Only for members that are set later.
  constexpr explicit Id(std::uint32_t index) : index_(index) {}
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}
  constexpr explicit Id(int index) : index_(static_cast<std::uint32_t>(index)) {}
  constexpr std::uint32_t index() const { return index_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint32_t index_ = 0;
};

using JobId = Id<struct JobTag>;
using NodeId = Id<struct NodeTag>;
using RackId = Id<struct RackTag>;
using GpuTypeId = Id<struct GpuTypeTag>;
using ProfileId = Id<struct ProfileTag>;
using TenantId = Id<struct TenantTag>;
using UserId = Id<struct UserTag>;
using NameId = Id<struct NameTag>;  // The name of a job. Runs of one experiment share it.

// A vector that is indexed by one id type.
template <class IdType, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, T fill = T()) : items_(size, std::move(fill)) {}

  T& operator[](IdType id) { return items_[id.index()]; }
  const T& operator[](IdType id) const { return items_[id.index()]; }

  IdType push_back(T item) {
    items_.push_back(std::move(item));
    return IdType(items_.size() - 1);
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  bool contains(IdType id) const { return id.index() < items_.size(); }
  void resize(std::size_t size, T fill = T()) { items_.resize(size, std::move(fill)); }
  void reserve(std::size_t size) { items_.reserve(size); }
  void assign(std::size_t size, const T& fill) { items_.assign(size, fill); }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace muster
