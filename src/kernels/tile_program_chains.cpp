// Elementwise operations as chains: values of a builder with one reader stay in vector registers;
// how a finisher lays a chain out.
#include <utility>

#include "kernels/tile_program.h"
#include "kernels/tile_program_finisher.h"

namespace nx::kernels {

using Value = TileProgramBuilder::Value;

class TileProgramChainer {
 public:
  using Node = TileProgramBuilder::Node;
  using Link = TileProgramBuilder::Link;
  using Kind = TileProgramBuilder::Kind;

  explicit TileProgramChainer(TileProgramBuilder& builder)
      : b_(builder), reads_(builder.nodes_.size()), reader_(builder.nodes_.size()) {
    for (Value v = 0; v < b_.nodes_.size(); ++v)
      for (const Value in : b_.nodes_[v].in) {
        ++reads_[in];
        reader_[in] = v;
      }
  }
  void run() {
    for (Value v = 0; v < b_.nodes_.size(); ++v)
      if (is_link(v) && is_worthwhile(v)) add_link(v, side_of_value(b_.nodes_[v]));
  }

 private:
  bool is_link(Value v) const {
    const Node& node = b_.nodes_[v];
    return (node.kind == Kind::kApply || node.kind == Kind::kChain) && node.form.exists();
  }
  /// Whether the value may stay in registers: one operation reads it, which is a link of the same
  /// type (and SIMD target) over the same positions. It may be a result as well.
  bool is_passed_on(Value v) const {
    const Node &from = b_.nodes_[v], &to = b_.nodes_[reader_[v]];
    return is_link(v) && reads_[v] == 1 && is_link(reader_[v]) &&
           from.form.store.block == to.form.store.block && from.extent == to.extent;
  }
  /// An operation alone is a chain only where that saves a register full of copies.
  bool is_worthwhile(Value v) const {
    for (const Value in : b_.nodes_[v].in)
      if (is_passed_on(in) || b_.is_one(in)) return true;
    return is_passed_on(v);
  }
  /// Whether a link can multiply the operand itself: elements times one for all.
  bool is_scaled(Value v) const {
    const Node& node = b_.nodes_[v];
    return is_passed_on(v) && node.store < 0 && node.links.size() == 1 && node.form.multiplies &&
           node.links[0].one;
  }
  /// The operand that is in registers: not the one that the link multiplies itself, else a chain,
  /// the later one of two; never a single element if there is another.
  std::size_t side_of_value(const Node& node) const {
    if (node.in.size() == 1) return 0;
    const Value left = node.in[0], right = node.in[1];
    if (b_.is_one(left) || b_.is_one(right)) return b_.is_one(left) ? 1 : 0;
    if (node.form.left.scaled.first != nullptr && is_scaled(left) != is_scaled(right))
      return is_scaled(left) ? 1 : 0;
    if (is_passed_on(left) != is_passed_on(right)) return is_passed_on(right) ? 1 : 0;
    return is_passed_on(left) && right > left ? 1 : 0;
  }
  void add_link(Value v, std::size_t side);
  static void take_over(Node& from, Node& to);

  TileProgramBuilder& b_;
  std::vector<int> reads_;
  std::vector<Value> reader_;  // the last one
};

/// The operation runs as part of another.
void TileProgramChainer::take_over(Node& from, Node& to) {
  from.in.clear();
  from.links.clear();
  to.cost_ns += std::exchange(from.cost_ns, 0.0f);
}

void TileProgramChainer::add_link(Value v, std::size_t side) {
  Node& node = b_.nodes_[v];
  const Value value = node.in[side];
  std::vector<Value> in = {value};
  std::vector<Link> links;
  if (is_passed_on(value)) {
    Node& chain = b_.nodes_[value];
    in = chain.in;
    links = chain.links;
    if (chain.store >= 0) {
      Link link;
      link.form.middle = chain.form.store_and_go_on;
      link.store = std::exchange(chain.store, -1);
      links.push_back(link);
    }
    take_over(chain, node);
  }
  Link link;
  if (node.in.size() == 1) {
    link.form = node.form.unary;
  } else {
    const ChainForm::Binary& form = side == 0 ? node.form.left : node.form.right;
    const Value other = node.in[1 - side];
    link.operand = in.size();
    if (form.scaled.first != nullptr && is_scaled(other)) {
      Node& product = b_.nodes_[other];
      link.form = form.scaled;
      link.scale = in.size() + 1;
      in.push_back(product.in[0]);
      in.push_back(product.in[1]);
      take_over(product, node);
    } else {
      link.one = b_.is_one(other);
      link.form = link.one ? form.one : form.many;
      in.push_back(other);
    }
  }
  links.push_back(link);
  node.kind = Kind::kChain;
  node.in = std::move(in);
  node.links = std::move(links);
}

bool TileProgramBuilder::is_one(Value value) const {
  const Node& node = nodes_[value];
  return node.extent == Extent::kScalar &&
         (node.kind == Kind::kConstant || node.kind == Kind::kInput);
}

bool TileProgramBuilder::reads_one(const Node& node, std::size_t operand) const {
  for (const Link& link : node.links)
    if (operand != 0 && (link.operand == operand ? link.one : link.scale == operand)) return true;
  return false;
}

void TileProgramBuilder::make_chains() { TileProgramChainer(*this).run(); }

void TileProgramFinisher::emit_chain(Value v, std::uint32_t out) {
  const Builder::Node& node = b_.nodes_[v];
  const LinkForm& first = node.links[0].form;
  const bool follows = last_chain_ != kNone && follows_chain(v);
  if (follows) {
    go_on_after_chain();
  } else {
    TileProgram::Op& op = emit(OpKind::kChain, v, out, {});
    op.extra = static_cast<std::uint32_t>(p_.links_.size());
    op.chain = first.first;
  }
  p_.links_.push_back({follows ? first.next : LinkCode(), place_[node.in[0]]});
  for (std::size_t k = 0; k < node.links.size(); ++k)
    p_.links_.push_back(
        {node.links[k].form.middle, place_of_link(v, k), place_[node.in[node.links[k].scale]]});
  if (node.links.size() > 1) p_.links_.back().code = node.links.back().form.last;
  p_.links_.push_back({node.form.store, out});
  for (const Builder::Link& link : node.links)
    p_.operations_ += link.store >= 0 ? 0 : link.scale != 0 ? 2 : 1;
  if (!follows) --p_.operations_;  // an operation of the tile is counted with the others
  last_chain_ = v;
}

std::uint32_t TileProgramFinisher::place_of_link(Value v, std::size_t link) {
  const Builder::Node& node = b_.nodes_[v];
  const std::int64_t slot = node.links[link].store;
  if (slot < 0) return place_[node.in[node.links[link].operand]];
  if (!is_overwriting(slot, v, link)) return output_place(slot, v);
  std::size_t index;
  const std::uint32_t buffer = new_register(node.extent, node.element, index);
  copy_later(slot, v, buffer, node.extent);
  return buffer;
}

/// Whether chain `v` can be run together with the operation before it.
bool TileProgramFinisher::follows_chain(Value v) const {
  const Builder::Node &before = b_.nodes_[last_chain_], &node = b_.nodes_[v];
  return p_.body_.back().kind == OpKind::kChain && before.extent == node.extent &&
         before.form.store.block == node.form.store.block;
}

/// The chain that was emitted last stores, and goes on to one that is emitted next.
void TileProgramFinisher::go_on_after_chain() {
  const Builder::Node& before = b_.nodes_[last_chain_];
  p_.links_.back().code = before.form.store_and_go_on;
  if (before.links.size() > 1)
    p_.links_[p_.links_.size() - 2].code = before.links.back().form.middle;
}

bool TileProgramFinisher::reads_later(Value v, std::size_t link, std::uint32_t slot) const {
  const Builder::Node& node = b_.nodes_[v];
  const auto reads = [&](std::size_t operand) {
    const Builder::Node& in = b_.nodes_[node.in[operand]];
    return operand != 0 && (in.kind == Kind::kInput || in.kind == Kind::kStrided) &&
           in.slot == slot;
  };
  for (std::size_t k = link + 1; k < node.links.size(); ++k)
    if (reads(node.links[k].operand) || reads(node.links[k].scale)) return true;
  return false;
}

}  // namespace nx::kernels
