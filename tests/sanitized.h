// Which sanitizer this test was built with: some keep freed memory, or end the process where a
// plain build gets an error.
#pragma once

namespace nx::test {

#if defined(__has_feature)
inline constexpr bool kThreadSanitized = __has_feature(thread_sanitizer);
inline constexpr bool kAddressSanitized = __has_feature(address_sanitizer);
#else
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = false;
#endif
#endif
inline constexpr bool kSanitized = kThreadSanitized || kAddressSanitized;

}  // namespace nx::test
