// layer: core
// A vector of trivially copyable elements that holds its first N without allocating. Dimensions,
// axes and edges are nearly always few, and are copied on every operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>

namespace nx {

template <class T, std::uint32_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() noexcept {}
  explicit InlineVector(std::size_t count, T value = T()) { assign(count, value); }
  InlineVector(std::initializer_list<T> list) : InlineVector(list.begin(), list.end()) {}
  explicit InlineVector(std::span<const T> span) : InlineVector(span.begin(), span.end()) {}
  template <std::forward_iterator It>
  InlineVector(It first, It last) {
    reserve(static_cast<std::uint32_t>(std::distance(first, last)));
    for (; first != last; ++first) data()[size_++] = static_cast<T>(*first);
  }
  InlineVector(const InlineVector& other) { copy_from(other); }
  InlineVector(InlineVector&& other) noexcept { steal_from(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) {
      size_ = 0;
      copy_from(other);
    }
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      release();
      steal_from(other);
    }
    return *this;
  }
  ~InlineVector() { release(); }

  T* data() noexcept { return capacity_ == N ? inline_() : heap_; }
  const T* data() const noexcept { return capacity_ == N ? inline_() : heap_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() & noexcept { return data(); }
  T* end() & noexcept { return data() + size_; }
  const T* begin() const& noexcept { return data(); }
  const T* end() const& noexcept { return data() + size_; }
  // Not of temporaries: `Dims(t.shape().begin(), t.shape().end())` would pair the ends of two.
  const T* begin() const&& = delete;
  const T* end() const&& = delete;
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  T& front() noexcept { return data()[0]; }
  const T& front() const noexcept { return data()[0]; }
  T& back() noexcept { return data()[size_ - 1]; }
  const T& back() const noexcept { return data()[size_ - 1]; }

  void clear() noexcept { size_ = 0; }
  void push_back(T value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void pop_back() noexcept { --size_; }
  void assign(std::size_t count, T value) {
    size_ = 0;
    reserve(static_cast<std::uint32_t>(count));
    std::fill_n(data(), count, value);
    size_ = static_cast<std::uint32_t>(count);
  }
  void resize(std::size_t count, T value = T()) {
    reserve(static_cast<std::uint32_t>(count));
    if (count > size_) std::fill(data() + size_, data() + count, value);
    size_ = static_cast<std::uint32_t>(count);
  }
  void insert(const T* where, T value) {
    const std::size_t at = static_cast<std::size_t>(where - data());
    push_back(value);
    std::rotate(data() + at, end() - 1, end());
  }
  void insert(const T* where, const T* first, const T* last) {
    const std::size_t at = static_cast<std::size_t>(where - data()), old = size_;
    const InlineVector more(first, last);  // a copy: the range may lie in this vector
    for (const T& value : more) push_back(value);
    std::rotate(data() + at, data() + old, end());
  }
  void erase(const T* where) noexcept {
    const std::size_t at = static_cast<std::size_t>(where - data());
    std::copy(data() + at + 1, end(), data() + at);
    --size_;
  }

  friend bool operator==(const InlineVector& a, const InlineVector& b) noexcept {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }
  operator std::span<const T>() const noexcept { return {data(), size_}; }

 private:
  T* inline_() noexcept { return reinterpret_cast<T*>(inline_bytes_); }
  const T* inline_() const noexcept { return reinterpret_cast<const T*>(inline_bytes_); }
  void reserve(std::uint32_t wanted) {
    if (wanted <= capacity_) return;
    const std::uint32_t capacity = std::max(wanted, capacity_ * 2);
    T* bigger = static_cast<T*>(::operator new(sizeof(T) * capacity));
    std::memcpy(static_cast<void*>(bigger), data(), sizeof(T) * size_);
    release();
    heap_ = bigger;
    capacity_ = capacity;
  }
  void release() noexcept {
    if (capacity_ != N) ::operator delete(heap_);
    capacity_ = N;
  }
  void copy_from(const InlineVector& other) {
    reserve(other.size_);
    std::memcpy(static_cast<void*>(data()), other.data(), sizeof(T) * other.size_);
    size_ = other.size_;
  }
  void steal_from(InlineVector& other) noexcept {
    size_ = other.size_;
    if (other.capacity_ == N) {
      std::memcpy(inline_bytes_, other.inline_bytes_, sizeof(T) * size_);
    } else {
      heap_ = other.heap_;
      capacity_ = other.capacity_;
      other.capacity_ = N;
    }
    other.size_ = 0;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  union {
    T* heap_;
    alignas(T) unsigned char inline_bytes_[sizeof(T) * N];
  };
};

}  // namespace nx
