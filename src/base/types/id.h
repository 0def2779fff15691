#pragma once

// Dense indices that know what they count, and vectors that only their own index opens.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace muster {

// A JobId and a NodeId are four bytes each; neither converts to the other, to an integer or from
// one. Tables hand ids out in order and never reuse one.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;  // The first id; only for members filled in later.
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
using NameId = Id<struct NameTag>;  // What a user called a job; runs of one experiment share it.

// A vector whose elements are reached by one kind of id.
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
