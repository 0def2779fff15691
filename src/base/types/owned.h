#pragma once

// An owning pointer to an object of a class derived from Base. A copy of the pointer copies the
// object, with the class it had at construction. Classes that contain a policy, a placement or a
// planner can therefore be copied, and those need no clone().

#include <concepts>
#include <memory>
#include <utility>

namespace muster {

template <class Base>
class Owned {
 public:
  Owned() = default;
  template <class Derived>
  requires std::derived_from<Derived, Base> Owned(
      std::unique_ptr<Derived> thing)  // NOLINT: implicit, as from one pointer to another.
      : thing_(std::move(thing)), copy_([](const Base& from) -> std::unique_ptr<Base> {
          return std::make_unique<Derived>(static_cast<const Derived&>(from));
        }) {}
  Owned(const Owned& other)
      : thing_(other.thing_ ? other.copy_(*other.thing_) : nullptr), copy_(other.copy_) {}
  Owned(Owned&&) noexcept = default;
  Owned& operator=(Owned other) noexcept {
    std::swap(thing_, other.thing_);
    std::swap(copy_, other.copy_);
    return *this;
  }
  ~Owned() = default;

  explicit operator bool() const { return thing_ != nullptr; }
  Base& operator*() const { return *thing_; }
  Base* operator->() const { return thing_.get(); }

 private:
  std::unique_ptr<Base> thing_;
  std::unique_ptr<Base> (*copy_)(const Base&) = nullptr;
};

}  // namespace muster
