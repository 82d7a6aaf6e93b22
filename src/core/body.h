// What a Tensor handle points at: type, shape, labels, and one of three contents (a buffer, a node
// of an open trace, nothing but the template). Immutable once made.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/storage.h"
#include "nx/tensor.h"

namespace nx::detail {

/// Names and vectorised axes, kept aside since most tensors have neither.
struct Labels {
  std::atomic<std::uint32_t> refs{1};
  Names names;             // of the axes after the vectorised ones; empty or one for each
  VectorAxes vector_axes;
};

/// The trace a traced tensor belongs to. graph/ derives from it; core only counts and asks.
class TraceBase {
 public:
  virtual ~TraceBase() = default;
  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  void close() noexcept { closed_.store(true, std::memory_order_release); }
  const std::string& function() const noexcept { return function_; }

 protected:
  explicit TraceBase(std::string function) : function_(std::move(function)) {}

 private:
  std::atomic<std::uint32_t> refs_{1};
  std::atomic<bool> closed_{false};
  std::string function_;
};

enum class Content : std::uint8_t { kBuffer, kNode, kTemplate };

struct Body {
  std::atomic<std::uint32_t> refs{1};  // first: nx/tensor.h counts through it
  DType type = DType::f32;
  Content content = Content::kTemplate;
  std::uint32_t output = 0;            // kNode: which result of the node
  Dims dims;                           // all axes, vectorised ones first
  Labels* labels = nullptr;            // counted
  union {
    Storage* storage = nullptr;        // kBuffer: counted
    TraceBase* trace;                  // kNode: counted
  };
  std::uint32_t node = 0;              // kNode: index in the trace
};

/// The library's door into the handle.
struct NX_API Access {
  static Body* body(const Tensor& t) noexcept { return t.body(); }
  static bool mark(const Tensor& t) noexcept { return (t.bits_ & Tensor::kMark) != 0; }
  static Tensor with_mark(Tensor t, bool mark) noexcept {
    t.bits_ = (t.bits_ & ~Tensor::kMark) | (mark && t.bits_ != 0 ? Tensor::kMark : 0);
    return t;
  }
  /// Takes over one reference of `body`.
  static Tensor adopt(Body* body) noexcept {
    Tensor t;
    t.bits_ = reinterpret_cast<std::uintptr_t>(body);
    return t;
  }
  static std::uintptr_t bits(const Tensor& t) noexcept { return t.bits_; }

  /// Takes over one reference of `storage`; `labels` are shared (counted anew).
  static Tensor make_buffer(DType type, Dims dims, Storage* storage, Labels* labels = nullptr);
  static Tensor make_node(DType type, Dims dims, TraceBase& trace, std::uint32_t node,
                          std::uint32_t output, Labels* labels = nullptr);
  static Tensor make_template(DType type, Dims dims, Labels* labels = nullptr);
  /// The same content under other labels (and, for nodes and templates, dims as given).
  static Tensor with_labels(const Tensor& t, Names names, VectorAxes vector_axes);

  static Body& checked(const Tensor& t, std::string_view operation, SourceLocation where = {});
  /// Number of leading vectorised axes.
  static int vector_rank(const Tensor& t) noexcept;
};

/// New labels, or null when there is nothing to label.
Labels* make_labels(Names names, VectorAxes vector_axes);
void retain_labels(Labels* labels) noexcept;
void release_labels(Labels* labels) noexcept;

}  // namespace nx::detail
