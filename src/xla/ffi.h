// The foreign function interface of XLA: how a program calls a function of ours.
#pragma once

#include <string_view>

namespace nx::xla {

class Client;

/// The target of the custom calls that run a kernel, and the attribute that names it.
inline constexpr std::string_view kKernelTarget = "nxpp_kernel", kKernelName = "kernel";

/// Whether programs of this client can call our kernels: its memory is the host's, the plugin takes
/// our function, and a program that calls it runs. Tried once for each client.
bool can_call_kernels(Client& client);

}  // namespace nx::xla
