// Running a compiled program once on its device. Everything that could be wrong with the arguments
// is checked by the caller: PJRT compares byte counts only.
#pragma once

#include <cstdint>
#include <span>

#include "xla/buffer.h"
#include "xla/compile.h"

namespace nx::xla {

enum class Completion : std::uint8_t {
  // Return when the work is queued; errors of the run come out of reading its results. The first
  // run of a program is waited for all the same (Client::end_at_exit).
  kAsync,
  kWait,  // return when the run has ended; its errors are thrown here
};

struct RunOptions {
  /// Inputs that this run must leave alone though the program aliases them: it copies instead.
  std::span<const std::int64_t> protected_inputs = {};
  Completion completion = Completion::kAsync;
};

/// Queues one run. Inputs whose parameters are aliased, and which are not protected, are deleted.
/// `outputs` has one place for each result; what it held is destroyed. May be called from many
/// threads at once. Throws BackendError; then outputs are untouched, and donated inputs may be
/// deleted (`Buffer::is_deleted` tells).
void run(const Program& program, std::span<PJRT_Buffer* const> inputs, std::span<Buffer> outputs,
         const RunOptions& options = {});

}  // namespace nx::xla
