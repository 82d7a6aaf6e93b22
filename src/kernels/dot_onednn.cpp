// The only file that knows oneDNN's matmul. Builds with 2.x and 3.x.
//
// A primitive is made once for its shapes and strides and run by many threads at once; what it
// needs of memory objects is taken from a short list. The order of additions is the same on any
// number of threads.
#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kernels/dot.h"
#include "kernels/threads.h"

namespace nx::kernels {
namespace {

using dnnl::memory;

/// Sets the size of OpenMP teams of this thread for a scope.
class TeamSize {
 public:
  explicit TeamSize(int threads) : before_(omp_get_max_threads()), changed_(before_ != threads) {
    if (changed_) omp_set_num_threads(threads);
  }
  ~TeamSize() {
    if (changed_) omp_set_num_threads(before_);
  }
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
  bool changed_;
};

dnnl::engine& cpu_engine() {
  static auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);  // never destroyed
  return *engine;
}

dnnl::stream& cpu_stream() {
  thread_local dnnl::stream* stream = nullptr;
  if (stream == nullptr) stream = new dnnl::stream(cpu_engine());
  return *stream;
}

/// oneDNN wants one of the two strides to be 1 and the other to be at least the row's length;
/// strides of axes of size 1 mean nothing and are made to fit.
memory::desc describe(memory::data_type type, std::int64_t batch, std::int64_t rows,
                      std::int64_t columns, std::int64_t batch_stride, std::int64_t row_stride,
                      std::int64_t column_stride) {
  if (columns == 1 && row_stride != 1) column_stride = 1;
  if (column_stride == 1) {
    if (rows == 1) row_stride = columns;
    row_stride = std::max(row_stride, columns);
  } else {
    row_stride = 1;
    if (columns == 1) column_stride = rows;
    column_stride = std::max(column_stride, rows);
  }
  if (batch == 1) return {{rows, columns}, type, memory::dims{row_stride, column_stride}};
  return {{batch, rows, columns}, type, memory::dims{batch_stride, row_stride, column_stride}};
}

/// One product of the grid: a primitive for its size, and where its operands begin.
struct Part {
  std::size_t primitive = 0;
  std::int64_t a = 0, b = 0, c = 0;  // in bytes
  std::size_t scratch = 0;
};

/// oneDNN shares small products badly between threads (128x784 by 784x90 on two: 115 us, as two
/// products of 64 rows 83), so a product is cut into a grid of parts, one for each processor, and
/// each part stays on one thread. The grid does not depend on the threads of a call.
class OneDnnMatmul final : public Matmul {
 public:
  OneDnnMatmul(const MatmulSpec& s, memory::data_type type) : element_bytes_(byte_size_of(s.type)) {
    const int processors = std::max(omp_get_max_threads(), omp_get_num_procs());
    constexpr double kLeast = 1e6;  // multiplications of a part, about 10 us
    const double work = static_cast<double>(s.m) * static_cast<double>(s.n) *
                        static_cast<double>(s.k);
    const auto parts = static_cast<std::int64_t>(
        std::clamp(work / kLeast, 1.0, static_cast<double>(processors)));
    const std::int64_t across = s.batch > 1 ? 1 : std::clamp<std::int64_t>(s.m / 32, 1, parts);
    const std::int64_t along =
        s.batch > 1 ? 1 : std::clamp<std::int64_t>(s.n / 48, 1, parts / across);
    const TeamSize team(across * along == 1 ? processors : 1);
    const std::int64_t rows = (s.m + across - 1) / across, columns = (s.n + along - 1) / along;
    for (std::int64_t row = 0; row < s.m; row += rows)
      for (std::int64_t column = 0; column < s.n; column += columns)
        add_part(s, type, row, std::min(rows, s.m - row), column, std::min(columns, s.n - column));
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const void* a, const void* b, void* c, void* scratch, int threads) const override {
    std::unique_ptr<Arguments> arguments = take();
    if (parts_.size() == 1) {
      const TeamSize team(threads);
      run_part(0, *arguments, a, b, c, scratch);
    } else {
      const auto count = static_cast<std::int64_t>(parts_.size());
      const TeamSize team(1);
      parallel_for(count, threads, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          run_part(static_cast<std::size_t>(i), *arguments, a, b, c, scratch);
      });
    }
    give_back(std::move(arguments));
  }

 private:
  struct Primitive {
    std::int64_t m = 0, n = 0;
    dnnl::matmul::primitive_desc desc;
    dnnl::matmul matmul;
  };
  struct PartArguments {
    explicit PartArguments(const dnnl::matmul::primitive_desc& desc)
        : a(desc.src_desc(), cpu_engine(), nullptr),
          b(desc.weights_desc(), cpu_engine(), nullptr),
          c(desc.dst_desc(), cpu_engine(), nullptr),
          scratch(desc.scratchpad_desc(), cpu_engine(), nullptr),
          all{{DNNL_ARG_SRC, a},
              {DNNL_ARG_WEIGHTS, b},
              {DNNL_ARG_DST, c},
              {DNNL_ARG_SCRATCHPAD, scratch}} {}
    memory a, b, c, scratch;
    std::unordered_map<int, memory> all;
  };
  using Arguments = std::vector<PartArguments>;

  void add_part(const MatmulSpec& s, memory::data_type type, std::int64_t row, std::int64_t m,
                std::int64_t column, std::int64_t n) {
    auto at = std::find_if(primitives_.begin(), primitives_.end(),
                           [&](const Primitive& p) { return p.m == m && p.n == n; });
    if (at == primitives_.end()) {
      const memory::desc a = describe(type, s.batch, m, s.k, s.a_batch, s.a_m, s.a_k);
      const memory::desc b = describe(type, s.batch, s.k, n, s.b_batch, s.b_k, s.b_n);
      const memory::desc c = describe(type, s.batch, m, n, s.m * s.n, s.n, 1);
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      Primitive made{m, n, {}, {}};
#if DNNL_VERSION_MAJOR >= 3
      made.desc = dnnl::matmul::primitive_desc(cpu_engine(), a, b, c, attributes);
#else
      made.desc =
          dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attributes, cpu_engine());
#endif
      made.matmul = dnnl::matmul(made.desc);
      at = primitives_.insert(primitives_.end(), std::move(made));
    }
    const auto bytes = static_cast<std::int64_t>(element_bytes_);
    parts_.push_back({static_cast<std::size_t>(at - primitives_.begin()), row * s.a_m * bytes,
                      column * s.b_n * bytes, (row * s.n + column) * bytes, scratch_bytes_});
    scratch_bytes_ += (at->desc.scratchpad_desc().get_size() + 63) / 64 * 64;
  }

  void run_part(std::size_t i, Arguments& arguments, const void* a, const void* b, void* c,
                void* scratch) const {
    const Part& part = parts_[i];
    PartArguments& args = arguments[i];
    // oneDNN's handles are not const; the operands are only read.
    args.a.set_data_handle(static_cast<char*>(const_cast<void*>(a)) + part.a);
    args.b.set_data_handle(static_cast<char*>(const_cast<void*>(b)) + part.b);
    args.c.set_data_handle(static_cast<char*>(c) + part.c);
    args.scratch.set_data_handle(static_cast<char*>(scratch) + part.scratch);
    primitives_[part.primitive].matmul.execute(cpu_stream(), args.all);
  }

  std::unique_ptr<Arguments> take() const {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        auto arguments = std::move(spare_.back());
        spare_.pop_back();
        return arguments;
      }
    }
    auto arguments = std::make_unique<Arguments>();
    for (const Part& part : parts_) arguments->emplace_back(primitives_[part.primitive].desc);
    return arguments;
  }
  void give_back(std::unique_ptr<Arguments> arguments) const {
    const std::lock_guard lock(mutex_);
    if (spare_.size() < 8) spare_.push_back(std::move(arguments));
  }

  std::size_t element_bytes_, scratch_bytes_ = 0;
  std::vector<Primitive> primitives_;
  std::vector<Part> parts_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Arguments>> spare_;
};

/// The most recently used primitives: eager calls ask for the same few shapes again and again.
class Cache {
 public:
  std::shared_ptr<const Matmul> find(const MatmulSpec& spec) {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.spec == spec; });
    if (at == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at);
    return at->matmul;
  }
  void insert(const MatmulSpec& spec, std::shared_ptr<const Matmul> matmul) {
    const std::lock_guard lock(mutex_);
    entries_.push_front({spec, std::move(matmul)});
    if (entries_.size() > kMost) entries_.pop_back();
  }

 private:
  static constexpr std::size_t kMost = 128;
  struct Entry {
    MatmulSpec spec;
    std::shared_ptr<const Matmul> matmul;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace

std::shared_ptr<const Matmul> onednn_matmul(const MatmulSpec& spec) {
  if (spec.type != DType::f32 && spec.type != DType::bf16) return nullptr;
  static auto* const cache = new Cache;  // never destroyed: a global may run an operation late
  if (auto found = cache->find(spec)) return found;
  try {
    const auto type =
        spec.type == DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
    auto made = std::make_shared<const OneDnnMatmul>(spec, type);
    cache->insert(spec, made);
    return made;
  } catch (const dnnl::error&) {
    return nullptr;  // not on this processor: our own loops take over
  }
}

}  // namespace nx::kernels
