// The only file that knows oneDNN's matmul. Builds with 2.x and 3.x.
//
// A primitive is made once for its shapes and strides and run by many threads at once; what it
// needs of memory objects is taken from a short list. The order of additions is the same on any
// number of threads.
#include <omp.h>
#include <dnnl.hpp>

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
  std::int64_t a = 0, b = 0, c = 0;  // in bytes; c of a later run along k: in the scratch
  std::int64_t run = 0;              // along k
  std::size_t scratch = 0;
};

/// What a thread should have to do at least, in multiplications: about 1 us.
constexpr double kLeastWork = 1.2e5;

/// oneDNN shares small products badly between threads (128x784 by 784x90 on two: 115 us, as two
/// products 83), so a product is cut into a grid of parts, about one for each processor, and each
/// part stays on one thread. The grid does not depend on the threads of a call.
class OneDnnMatmul final : public Matmul {
 public:
  OneDnnMatmul(const MatmulSpec& s, memory::data_type type)
      : spec_(s), element_bytes_(byte_size_of(s.type)), runs_(runs_of(s)) {
    const auto parts = static_cast<std::int64_t>(
        std::clamp(products_of(s) / kLeastWork, 1.0, static_cast<double>(most_threads())));
    const std::int64_t batches = std::min(s.batch, parts);
    const std::int64_t left = std::max<std::int64_t>(1, parts / std::max(runs_, batches));
    const std::int64_t across = std::clamp<std::int64_t>(s.m / 32, 1, left);
    const std::int64_t along = std::clamp<std::int64_t>(s.n / 48, 1, left / across);
    const TeamSize alone(1);
    const auto each = [](std::int64_t count, std::int64_t pieces, const auto& body) {
      const std::int64_t size = std::max<std::int64_t>(1, (count + pieces - 1) / pieces);
      for (std::int64_t first = 0; first < count; first += size)
        body(first, std::min(size, count - first));
    };
    std::int64_t run = 0;
    each(s.k, runs_, [&](std::int64_t k, std::int64_t ks) {
      each(s.batch, batches, [&](std::int64_t b, std::int64_t bs) {
        each(s.m, across, [&](std::int64_t m, std::int64_t ms) {
          each(s.n, along, [&](std::int64_t n, std::int64_t ns) {
            add_part(type, {run, b, m, n, k}, {bs, ms, ns, ks});
          });
        });
      });
      ++run;
    });
    partial_bytes_ = padded(static_cast<std::size_t>(s.m * s.n) * element_bytes_);
    partials_ = scratch_bytes_;
    scratch_bytes_ += partial_bytes_ * static_cast<std::size_t>(runs_ - 1);
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  double cost_us() const override { return products_of(spec_) / 5e4; }

  void run(const void* a, const void* b, void* c, void* scratch, int threads) const override {
    std::unique_ptr<Arguments> arguments = take();
    {
      const TeamSize alone(1);
      parallel_for(static_cast<std::int64_t>(parts_.size()), threads,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i)
                       run_part(static_cast<std::size_t>(i), *arguments, a, b, c, scratch);
                   });
    }
    give_back(std::move(arguments));
    if (runs_ > 1)
      add_runs(spec_, static_cast<float*>(c), static_cast<char*>(scratch) + partials_,
               partial_bytes_, runs_, threads);
  }

 private:
  struct Size {
    std::int64_t batch, m, n, k;
    bool operator==(const Size&) const = default;
  };
  struct First {
    std::int64_t run, batch, m, n, k;
  };
  struct Primitive {
    Size size;
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

  std::size_t primitive_of(memory::data_type type, const Size& size) {
    const MatmulSpec& s = spec_;
    const auto at = std::find_if(primitives_.begin(), primitives_.end(),
                                 [&](const Primitive& p) { return p.size == size; });
    if (at != primitives_.end()) return static_cast<std::size_t>(at - primitives_.begin());
    const memory::desc a = describe(type, size.batch, size.m, size.k, s.a_batch, s.a_m, s.a_k);
    const memory::desc b = describe(type, size.batch, size.k, size.n, s.b_batch, s.b_k, s.b_n);
    const memory::desc c = describe(type, size.batch, size.m, size.n, s.m * s.n, s.n, 1);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    Primitive made{size, {}, {}};
#if DNNL_VERSION_MAJOR >= 3
    made.desc = dnnl::matmul::primitive_desc(cpu_engine(), a, b, c, attributes);
#else
    made.desc = dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attributes, cpu_engine());
#endif
    made.matmul = dnnl::matmul(made.desc);
    primitives_.push_back(std::move(made));
    return primitives_.size() - 1;
  }

  void add_part(memory::data_type type, const First& first, const Size& size) {
    const MatmulSpec& s = spec_;
    const auto bytes = static_cast<std::int64_t>(element_bytes_);
    Part part;
    part.primitive = primitive_of(type, size);
    part.a = (first.batch * s.a_batch + first.m * s.a_m + first.k * s.a_k) * bytes;
    part.b = (first.batch * s.b_batch + first.k * s.b_k + first.n * s.b_n) * bytes;
    part.c = ((first.batch * s.m + first.m) * s.n + first.n) * bytes;
    part.run = first.run;
    part.scratch = scratch_bytes_;
    parts_.push_back(part);
    scratch_bytes_ += padded(primitives_[part.primitive].desc.scratchpad_desc().get_size());
  }

  char* partial(char* scratch, std::int64_t run) const {
    return scratch + partials_ + partial_bytes_ * static_cast<std::size_t>(run - 1);
  }

  void run_part(std::size_t i, Arguments& arguments, const void* a, const void* b, void* c,
                void* scratch) const {
    const Part& part = parts_[i];
    PartArguments& args = arguments[i];
    char* const bytes = static_cast<char*>(scratch);
    char* const to = part.run == 0 ? static_cast<char*>(c) : partial(bytes, part.run);
    // oneDNN's handles are not const; the operands are only read.
    args.a.set_data_handle(static_cast<char*>(const_cast<void*>(a)) + part.a);
    args.b.set_data_handle(static_cast<char*>(const_cast<void*>(b)) + part.b);
    args.c.set_data_handle(to + part.c);
    args.scratch.set_data_handle(bytes + part.scratch);
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

  MatmulSpec spec_;
  std::size_t element_bytes_, scratch_bytes_ = 0;
  std::int64_t runs_;              // along k
  std::size_t partial_bytes_ = 0;  // of the product of one run
  std::size_t partials_ = 0;       // where they begin in the scratch
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
    const auto type = spec.type == DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
    auto made = std::make_shared<const OneDnnMatmul>(spec, type);
    cache->insert(spec, made);
    return made;
  } catch (const dnnl::error&) {
    return nullptr;  // not on this processor: our own loops take over
  }
}

}  // namespace nx::kernels
