# Plugins that pass calls on to the real one and change a thing or two, for plugin_test.cpp.
nxpp_test_plugins(proxy EMPTY UNIMPLEMENTED OLDER NEWER OTHER_SIZES NO_DEVICE ZEROED)
