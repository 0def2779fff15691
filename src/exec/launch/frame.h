#pragma once

// Frames: typed messages. A frame is one packet: the version, the type, then the members. Each
// type has one size and one number of descriptors. A *channel* is the std::variant of all frames
// that a receiver accepts; it refuses everything else and closes the descriptors.

#include <variant>

#include "exec/launch/packet.h"

namespace muster {

inline constexpr std::uint32_t kWireVersion = 1;

// Base of a frame with this type and this number of descriptors; by itself without members.
template <std::uint32_t kNumber, std::size_t kCount = 0>
struct FrameOf {
  static_assert(kCount <= kMaxPacketDescriptors);
  static constexpr std::uint32_t kType = kNumber;
  static constexpr std::size_t kDescriptors = kCount;
  bool is_valid() const { return true; }  // Whether all values are within their limits.
  constexpr void fields(auto f) { f(); }
};

template <class Frame>
struct FrameWithHeader {
  std::uint32_t version = kWireVersion;
  std::uint32_t type = Frame::kType;
  Frame frame;
  constexpr void fields(auto f) { f(version, type, frame); }
};

template <class Frame>
auto pack_frame(const Frame& frame) {
  static_assert(packed_size<FrameWithHeader<Frame>>() <= kMaxPacketBytes);
  return pack(FrameWithHeader<Frame>{.frame = frame});
}

// Returns nullopt unless bytes and descriptors are exactly one valid frame of the channel.
template <class Channel, std::size_t kIndex = 0>
std::optional<Channel> unpack_frame(ByteSpan bytes, std::size_t descriptors) {
  if constexpr (kIndex < std::variant_size_v<Channel>) {
    using Frame = std::variant_alternative_t<kIndex, Channel>;
    const auto read = unpack<FrameWithHeader<Frame>>(bytes);
    if (read && read->version == kWireVersion && read->type == Frame::kType)
      return descriptors == Frame::kDescriptors && read->frame.is_valid()
                 ? std::optional<Channel>(read->frame)
                 : std::nullopt;
    return unpack_frame<Channel, kIndex + 1>(bytes, descriptors);
  }
  return std::nullopt;
}

// Fails as send_packet(). REQUIRES: as many descriptors as the type has.
template <class Frame>
MaybeError send_frame(int socket, const Frame& frame, std::span<const int> descriptors = {}) {
  MUSTER_CHECK(descriptors.size() == Frame::kDescriptors && frame.is_valid());
  return send_packet(socket, pack_frame(frame), descriptors);
}

// Fails as receive_packet(), and with kInvalid after any other message than a frame of the channel.
template <class Channel>
Result<Channel> receive_frame(int socket, std::vector<Descriptor>& descriptors) {
  Result<Packet> packet = receive_packet(socket);
  if (!packet.ok()) return packet.error();
  auto frame = unpack_frame<Channel>(packet.value().bytes, packet.value().descriptors.size());
  if (!frame) return Error{"message: unknown or invalid frame", ErrorCode::kInvalid};
  descriptors = std::move(packet.value().descriptors);
  return *frame;
}

}  // namespace muster
