// SPDX-License-Identifier: Apache-2.0
// A ring between two processes: one pushes, the other takes. `tail` is written by the producer only, `head` by the
// consumer only; both count up for ever, and slot i is slots[i % size].
//
// The producer may be killed between any two instructions: an element is visible only once `tail` has passed it.
// Neither side trusts the other: an index that makes no sense is reported, never followed.
//
// Waking: a side that wants to sleep stores "I sleep" (its own word, seq_cst) and then looks at the other's counter once
// more; a side that has moved its counter and wants to be heard stores it once more (seq_cst: announce, publish) and then
// looks at "I sleep". In the single order of these four accesses at least one side sees the other's store, so no wake-up
// is lost. What is pushed and not announced may be seen at once, or when the next one is announced: an announcement waits
// until all stores before it have left the processor, which is most of what a push would cost.
//
// The two views below hold private copies of both counters; each is used by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>

namespace leat::shm {

template <class T>
class RingProducer {
 public:
  /// `slots`: `size` elements, a power of two. Continues where `tail` stands.
  RingProducer(T* slots, std::uint32_t size, std::atomic<std::uint64_t>& tail,
               const std::atomic<std::uint64_t>& head) noexcept
      : slots_(slots), size_(size), tail_(tail), head_(head) {
    // Relaxed: nobody else writes our own counter.
    next_ = tail_.load(std::memory_order_relaxed);
    end_ = next_ >= size_ ? next_ : size_;
  }

  /// False when the ring is full; nothing is pushed then.
  bool push(const T& element) noexcept {
    if (full()) return false;
    slot() = element;
    push_slot();
    return true;
  }

  /// Where the next element is to stand; only while the ring is not full. Nobody sees it until it is
  /// pushed.
  T& slot() noexcept { return slots_[next_ & (size_ - 1)]; }
  void push_slot() noexcept {
    ++next_;
    // Release: the element is complete before the consumer can see the new tail.
    tail_.store(next_, std::memory_order_release);
  }

  /// Before looking whether the consumer sleeps.
  void announce() noexcept { tail_.store(next_, std::memory_order_seq_cst); }

  /// Calls `call` with each element that the consumer has not let go.
  template <class Call>
  void for_each_left(Call call) const {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    if (head > next_ || next_ - head > size_) return;
    for (std::uint64_t i = head; i < next_; ++i) call(slots_[i & (size_ - 1)]);
  }

  /// The number of the element that is pushed next.
  std::uint64_t next() const noexcept { return next_; }
  bool full() noexcept { return next_ >= end_ && !refresh_head(); }

 private:
  // Acquire: the consumer has read a slot before we write it again. A head that ran ahead of the tail, or back, is no
  // head of ours and is not believed.
  bool refresh_head() noexcept {
    const std::uint64_t head = head_.load(std::memory_order_seq_cst);
    if (head <= next_ && head >= end_ - size_) end_ = head + size_;
    return next_ < end_;
  }

  T* slots_;
  std::uint64_t size_;
  std::atomic<std::uint64_t>& tail_;
  const std::atomic<std::uint64_t>& head_;
  std::uint64_t next_ = 0;
  std::uint64_t end_ =
      0;  // the head that was seen last and `size_`: the first number for which there is no slot
};

template <class T>
class RingConsumer {
 public:
  RingConsumer(const T* slots, std::uint32_t size, const std::atomic<std::uint64_t>& tail,
               std::atomic<std::uint64_t>& head) noexcept
      : slots_(slots), size_(size), tail_(tail), head_(head) {
    start_at(head_.load(std::memory_order_relaxed));
  }

  /// The first `number` elements were taken by a consumer that has ended, and may not have been
  /// published by it.
  void start_at(std::uint64_t number) noexcept { next_ = seen_tail_ = number; }
  /// How many were taken since the start.
  std::uint64_t taken() const noexcept { return next_; }

  /// Copies the next element out. False when there is none, or when the producer's counter makes no sense (broken()).
  bool pop(T& element) noexcept {
    if (next_ == seen_tail_ && !refresh_tail()) return false;
    element = slots_[next_ & (size_ - 1)];
    ++next_;
    return true;
  }

  /// Lets the producer use the slots of all that was popped so far. True when there was something to tell.
  bool publish() noexcept {
    if (published_ == next_) return false;
    // Our reads of the slots are done before the producer may write them; ordered against "does the producer wait?".
    head_.store(next_, std::memory_order_seq_cst);
    published_ = next_;
    return true;
  }

  bool empty() noexcept { return next_ == seen_tail_ && !refresh_tail(); }
  bool broken() const noexcept { return broken_; }

 private:
  bool refresh_tail() noexcept {
    // Acquire: pairs with the producer's release, so that the element is complete.
    const std::uint64_t tail = tail_.load(std::memory_order_seq_cst);
    if (tail < next_ || tail - next_ > size_) {
      broken_ = true;
      return false;
    }
    seen_tail_ = tail;
    return next_ != seen_tail_;
  }

  const T* slots_;
  std::uint64_t size_;
  const std::atomic<std::uint64_t>& tail_;
  std::atomic<std::uint64_t>& head_;
  std::uint64_t next_ = 0;
  std::uint64_t seen_tail_ = 0;
  std::uint64_t published_ = 0;
  bool broken_ = false;
};

}  // namespace leat::shm
