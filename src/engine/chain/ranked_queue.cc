#include "engine/chain/ranked_queue.h"

#include <algorithm>

#include "base/types/check.h"

namespace muster {

void RankedQueue::play(std::uint32_t match, Instant now) {
  const Match& left = matches_[2 * match];
  const Match& right = matches_[2 * match + 1];
  Match& here = matches_[match];
  here.holds_until = std::min(left.holds_until, right.holds_until);
  if (left.winner == kNone || right.winner == kNone) {
    here.winner = left.winner == kNone ? right.winner : left.winner;
    return;
  }
  const bool left_wins = before(left.winner, right.winner, now);
  here.winner = left_wins ? left.winner : right.winner;
  const Entry& winner = entries_[here.winner];
  const Entry& loser = entries_[left_wins ? right.winner : left.winner];
  if (winner.rank.moves() || loser.rank.moves()) {
    const bool loser_leads_ties = loser.rank.tie != winner.rank.tie
                                      ? loser.rank.tie < winner.rank.tie
                                      : loser.job < winner.job;
    here.holds_until =
        std::min(here.holds_until, overtaken_at(winner.rank, loser.rank, now, loser_leads_ties));
  }
}

void RankedQueue::replay_above(Slot slot, Instant now) {
  for (std::uint32_t match = (width_ + slot) / 2; match >= 1; match /= 2) {
    const Match last = matches_[match];
    play(match, now);
    const Match& here = matches_[match];
    // The matches above neither had nor have this slot as a winner, so they do not change.
    if (here.winner == last.winner && last.winner != slot && here.holds_until == last.holds_until) {
      return;
    }
  }
}

void RankedQueue::grow(Instant now) {
  const std::uint32_t width = width_ == 0 ? 8 : width_ * 2;
  std::vector<Match> matches(2 * static_cast<std::size_t>(width));
  for (Slot slot = 0; slot < width_; ++slot) matches[width + slot] = matches_[width_ + slot];
  for (Slot slot = width; slot-- > width_;) free_.push_back(slot);
  matches_ = std::move(matches);
  width_ = width;
  entries_.resize(width);
  for (std::uint32_t match = width_ - 1; match >= 1; --match) play(match, now);
}

RankedQueue::Slot RankedQueue::insert(JobId job, const Rank& rank, Instant now) {
  if (free_.empty()) grow(now);
  const Slot slot = free_.back();
  free_.pop_back();
  entries_[slot] = {job, rank};
  matches_[width_ + slot].winner = slot;
  ++size_;
  replay_above(slot, now);
  return slot;
}

void RankedQueue::remove(Slot slot, Instant now) {
  MUSTER_CHECK(slot < width_ && matches_[width_ + slot].winner == slot);
  matches_[width_ + slot].winner = kNone;
  free_.push_back(slot);
  --size_;
  replay_above(slot, now);
}

void RankedQueue::advance_below(std::uint32_t match, Instant now) {
  if (match >= width_ || matches_[match].holds_until > now) return;
  advance_below(2 * match, now);
  advance_below(2 * match + 1, now);
  play(match, now);
}

void RankedQueue::advance(Instant now) {
  if (width_ != 0) advance_below(1, now);
}

const RankedQueue::Entry& RankedQueue::first() const {
  MUSTER_CHECK(size_ > 0);
  return entries_[matches_[1].winner];
}

void RankedQueue::Walk::begin(const RankedQueue& queue, Instant now) {
  queue_ = &queue;
  now_ = now;
  open_.clear();
  top_ = 1;
  current_ = queue.size_ == 0 ? kNone : queue.matches_[1].winner;
}

void RankedQueue::Walk::next() {
  // All jobs that lost directly to the current job are candidates now.
  const std::vector<Match>& matches = queue_->matches_;
  const auto worse = [&](std::uint32_t a, std::uint32_t b) {
    return queue_->before(matches[b].winner, matches[a].winner, now_);
  };
  for (std::uint32_t m = queue_->width_ + current_; m > top_; m /= 2) {
    if (matches[m ^ 1].winner == kNone) continue;
    open_.push_back(m ^ 1);
    std::push_heap(open_.begin(), open_.end(), worse);
  }
  if (open_.empty()) {
    current_ = kNone;
    return;
  }
  std::pop_heap(open_.begin(), open_.end(), worse);
  top_ = open_.back();
  open_.pop_back();
  current_ = matches[top_].winner;
}

}  // namespace muster
