// Linked into the tests and nxpp-conformance under the address sanitizer: leaks of XLA's own
// compiler (its maps of indices) are not ours to mend, whichever plugin it comes with. What we leak
// of a plugin's buffers and programs is found by counting them (Client::live_buffers and
// live_programs in tests/xla).
extern "C" const char* __lsan_default_suppressions() { return "leak:pjrt*.so\n"; }
