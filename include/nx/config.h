// layer: core
// What every public header needs: the mark of exported symbols.
#pragma once

#if defined(NX_STATIC)
#define NX_API
#else
#define NX_API __attribute__((visibility("default")))
#endif
