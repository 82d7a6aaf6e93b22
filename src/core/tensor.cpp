// Making, sharing and dropping of tensor bodies, and reading values on the host.
#include "nx/tensor.h"

#include <fmt/format.h>

#include "core/body.h"

namespace nx {
namespace detail {
namespace {

// Bodies are made on every operation: freed ones are kept in a short list of the thread. The list
// is trivially destructible, so a tensor that dies after the thread's other objects is safe: once
// the ending thread has drained the list it stays closed, and bodies go straight back.
constexpr int kKept = 64;
thread_local Body* kept[kKept];
thread_local int kept_count = 0;
thread_local int kept_limit = 0;  // 0 before the list is opened, and after it is closed
thread_local bool was_opened = false;

struct Drain {
  ~Drain() {
    kept_limit = 0;
    while (kept_count > 0) ::operator delete(kept[--kept_count]);
  }
};

/// True when the list was opened now.
bool open_kept() noexcept {
  if (was_opened) return false;
  static thread_local Drain drain;
  was_opened = true;
  kept_limit = kKept;
  return true;
}

Body* new_body() {
  if (kept_count > 0) return new (kept[--kept_count]) Body;
  return new (::operator new(sizeof(Body))) Body;
}

void delete_body(Body* body) noexcept {
  body->~Body();
  if (kept_count < kept_limit || open_kept()) {
    kept[kept_count++] = body;
  } else {
    ::operator delete(body);
  }
}

Body* make_body(DType type, Dims&& dims, Content content, Labels* labels) {
  Body* const body = new_body();
  body->type = type;
  body->dims = std::move(dims);
  body->content = content;
  retain_labels(labels);
  body->labels = labels;
  return body;
}

}  // namespace

Labels* make_labels(Names names, VectorAxes vector_axes) {
  bool any = !vector_axes.empty();
  for (const Name name : names) any = any || !name.empty();
  if (!any) return nullptr;
  auto* const labels = new Labels;
  bool named = false;
  for (const Name name : names) named = named || !name.empty();
  if (named) labels->names = std::move(names);
  labels->vector_axes = std::move(vector_axes);
  return labels;
}

void retain_labels(Labels* labels) noexcept {
  if (labels) labels->refs.fetch_add(1, std::memory_order_relaxed);
}

void release_labels(Labels* labels) noexcept {
  if (labels && labels->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete labels;
}

void drop_body(Body* body) noexcept {
  if (body->content == Content::kBuffer) {
    body->storage->drop_tensor();
    body->storage->release();
  } else if (body->content == Content::kNode) {
    body->trace->release();
  }
  release_labels(body->labels);
  delete_body(body);
}

Tensor Access::make_buffer(DType type, Dims dims, Storage* storage, Labels* labels) {
  Body* const body = make_body(type, std::move(dims), Content::kBuffer, labels);
  body->storage = storage;
  storage->add_tensor();
  return adopt(body);
}

Tensor Access::make_node(DType type, Dims dims, TraceBase& trace, std::uint32_t node,
                         std::uint32_t output, Labels* labels) {
  Body* const body = make_body(type, std::move(dims), Content::kNode, labels);
  trace.retain();
  body->trace = &trace;
  body->node = node;
  body->output = output;
  return adopt(body);
}

Tensor Access::make_template(DType type, Dims dims, Labels* labels) {
  return adopt(make_body(type, std::move(dims), Content::kTemplate, labels));
}

Tensor Access::with_labels(const Tensor& t, Names names, VectorAxes vector_axes) {
  const Body& from = checked(t, "rename");
  Labels* const labels = make_labels(std::move(names), std::move(vector_axes));
  Tensor made;
  switch (from.content) {
    case Content::kBuffer:
      from.storage->retain();
      made = make_buffer(from.type, from.dims, from.storage, labels);
      break;
    case Content::kNode:
      made = make_node(from.type, from.dims, *from.trace, from.node, from.output, labels);
      break;
    case Content::kTemplate: made = make_template(from.type, from.dims, labels); break;
  }
  release_labels(labels);
  return made;
}

Body& Access::checked(const Tensor& t, std::string_view operation, SourceLocation where) {
  if (!t.has_value()) throw ArgumentError(operation, "the tensor is empty or moved from", where);
  return *t.body();
}

int Access::vector_rank(const Tensor& t) noexcept {
  const Body* const body = t.body();
  return body && body->labels ? static_cast<int>(body->labels->vector_axes.size()) : 0;
}

HostRead::HostRead(const Tensor& tensor, const char* operation) {
  const Body& body = Access::checked(tensor, operation);
  if (body.content == Content::kNode)
    throw TraceError(operation, body.trace->is_closed()
                                    ? "the tensor belongs to a trace that has ended"
                                    : "a traced tensor has no values yet; return it from the function");
  if (body.content == Content::kTemplate)
    throw ArgumentError(operation, "a template has no values");
  if (body.storage->try_lease(Lease::kSpan) != Storage::Outcome::kDone)
    body.storage->throw_gone(operation);
  Storage* const storage = body.storage;
  storage->retain();
  storage_ = storage;
  type_ = body.type;
  count_ = element_count(body.dims);
  data_ = storage->data();
  if (data_ == nullptr && storage->bytes() > 0) {
    try {
      copy_.resize(storage->bytes());
      storage->copy_to_host(copy_.data());
    } catch (...) {  // the value was lost: nothing holds the buffer any longer
      storage->end_lease(Lease::kSpan);
      storage->release();
      throw;
    }
    data_ = copy_.data();
  }
}

HostRead::HostRead(HostRead&& other) noexcept
    : storage_(std::exchange(other.storage_, nullptr)),
      copy_(std::move(other.copy_)),
      data_(other.data_),
      count_(other.count_),
      type_(other.type_) {}

HostRead::~HostRead() {
  if (storage_ == nullptr) return;
  auto* const storage = static_cast<Storage*>(storage_);
  storage->end_lease(Lease::kSpan);
  storage->release();
}

void check_host_type(DType have, DType wanted) {
  const bool narrow = is_subbyte(have) && bits_of(wanted) == 8 &&
                      is_unsigned(have) == is_unsigned(wanted) && is_integer(wanted);
  if (have != wanted && !narrow)
    throw DTypeError("host", fmt::format("expected a span of {}, got {}", name_of(have),
                                         name_of(wanted)));
}

void check_one_element(std::int64_t count) {
  if (count != 1)
    throw ArgumentError("to_number", fmt::format("expected 1 element, got {}", count));
}

}  // namespace detail

using detail::Access;
using detail::Content;

DType Tensor::type() const { return Access::checked(*this, "type").type; }

Shape Tensor::shape() const {
  const Dims& dims = Access::checked(*this, "shape").dims;
  return Shape(dims.begin() + Access::vector_rank(*this), dims.end());
}

int Tensor::rank() const {
  return static_cast<int>(Access::checked(*this, "rank").dims.size()) - Access::vector_rank(*this);
}

std::int64_t Tensor::size() const { return element_count(shape()); }

Names Tensor::names() const {
  const auto& body = Access::checked(*this, "names");
  return body.labels ? body.labels->names : Names();
}

VectorAxes Tensor::vectorized_axes() const {
  const auto& body = Access::checked(*this, "vectorized_axes");
  return body.labels ? body.labels->vector_axes : VectorAxes();
}

bool Tensor::is_traced() const noexcept {
  return has_value() && body()->content == Content::kNode;
}
bool Tensor::is_template() const noexcept {
  return has_value() && body()->content == Content::kTemplate;
}
bool Tensor::is_consumed() const noexcept {
  return has_value() && body()->content == Content::kBuffer && body()->storage->is_consumed();
}

}  // namespace nx
