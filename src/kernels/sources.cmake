# Loops for the compiler to vectorise: -O2 does that only half way.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/kernels/cumulative.cpp"
                            "${PROJECT_SOURCE_DIR}/src/kernels/iota.cpp"
                            "${PROJECT_SOURCE_DIR}/src/kernels/narrow.cpp"
                            "${PROJECT_SOURCE_DIR}/src/kernels/strided.cpp"
                            "${PROJECT_SOURCE_DIR}/src/kernels/view.cpp" PROPERTIES COMPILE_OPTIONS "-O3")
