// What every kernel file may use. Kept short on purpose: a kernel is read on its own.
#pragma once

using u32 = unsigned int;
using u64 = unsigned long long;

constexpr u32 full_warp = 0xffffffffu;  // every lane of a warp takes part
constexpr u32 warp_size = 32;
