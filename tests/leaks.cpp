// Linked into the tests and nxpp-conformance under the address sanitizer: leaks of XLA's own
// compiler (36 bytes in a pass over scatter) are not ours to mend. What we leak of a plugin's
// buffers and programs is found by counting them (Client::live_buffers and live_programs in
// tests/xla).
extern "C" const char* __lsan_default_suppressions() { return "leak:pjrt_c_api_cpu_plugin.so\n"; }
