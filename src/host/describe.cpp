// A plan as text: a line for each step, with what was fused and where operands and results lie.
#include <fmt/format.h>

#include "host/executable.h"

namespace nx::host {
namespace {

using graph::Graph;

class Describer {
 public:
  Describer(const Graph& graph, const Plan& plan, std::span<const kernels::TileProgram> programs)
      : graph_(graph), plan_(plan), programs_(programs) {}

  std::string run() {
    const graph::MemoryUse& m = plan_.memory;
    std::string text = fmt::format(
        "host program `{}`: {} steps, arguments {} B, results {} B, aliased {} B, temporaries {} "
        "B\n",
        graph_.name, plan_.steps.size(), m.arguments, m.results, m.aliased, m.temporaries);
    for (const graph::DonationPair& pair : plan_.pairs)
      text += fmt::format("  result {} `{}` takes over `{}`\n", pair.output,
                          graph_.outputs[pair.output].path, graph_.parameters[pair.parameter].path);
    std::size_t loop = 0;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlannedStep& step = plan_.steps[s];
      text += fmt::format("  {:3}: ", s);
      for (std::size_t o = 0; o < step.out.size(); ++o) text += (o ? ", " : "") + result(step, o);
      text += " = " + what(step, loop);
      for (std::size_t i = 0; i < step.in.size(); ++i) text += (i ? ", " : "(") + value(step.in[i]);
      text += step.in.empty() ? "()" : ")";
      if (step.scratch >= 0) text += " scratch " + value(static_cast<ValueIndex>(step.scratch));
      text += "\n";
    }
    return text;
  }

 private:
  std::string what(const PlannedStep& step, std::size_t& loop) {
    switch (step.kind) {
      case StepKind::kCopy: return "copy";
      case StepKind::kKernel: return std::string(graph_.nodes[step.nodes[0]].row->name);
      case StepKind::kLoop: break;
    }
    const kernels::TileProgram& program = programs_[loop++];
    std::string text = fmt::format("loop {}x{} by {}x{} [", program.rows(), program.columns(),
                                   program.tile_rows(), program.tile_columns());
    for (std::size_t i = 0; i < step.nodes.size(); ++i)
      text += fmt::format("{}{}", i ? " " : "", graph_.nodes[step.nodes[i]].row->name);
    return text + fmt::format("], {} operations, registers {} B, ", program.operations(),
                              program.register_bytes());
  }
  std::string value(ValueIndex v) const {
    const PlannedValue& value = plan_.values[v];
    const std::size_t inputs = plan_.pair_of_parameter.size();
    if (value.at.block < inputs) return fmt::format("`{}`", graph_.parameters[value.at.block].path);
    if (value.at.block < plan_.workspace_block())
      return fmt::format("{}result {}{}", value.output >= 0 ? "" : "in ", value.at.block - inputs,
                         value.at.offset ? fmt::format("+{}", value.at.offset) : "");
    return fmt::format("workspace+{}", value.at.offset);
  }
  /// A result, and the operands it lies on.
  std::string result(const PlannedStep& step, std::size_t slot) const {
    const PlannedValue& out = plan_.values[step.out[slot]];
    std::string text = value(step.out[slot]) + ": " + graph::to_string(graph_.type(out.edge));
    for (const ValueIndex in : step.in) {
      const PlannedValue& from = plan_.values[in];
      const bool paired =
          from.at.block < plan_.pair_of_parameter.size() &&
          plan_.pair_of_parameter[from.at.block] >= 0 &&
          plan_.output_block(static_cast<std::size_t>(plan_.pair_of_parameter[from.at.block])) ==
              out.at.block &&
          out.at.offset == 0;
      if (from.at == out.at || paired) return text + " in place";
    }
    return text;
  }

  const Graph& graph_;
  const Plan& plan_;
  std::span<const kernels::TileProgram> programs_;
};

}  // namespace

std::string describe(const Graph& graph, const Plan& plan,
                     std::span<const kernels::TileProgram> programs) {
  return Describer(graph, plan, programs).run();
}

}  // namespace nx::host
