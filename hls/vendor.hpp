#pragma once

/// FR_VENDOR: the vendor's streams, beats and integers in place of ours. On in synthesis, and set
/// by hand (-DFR_VENDOR) for the vendor's C simulation and co-simulation, whose test bench shares
/// its ports with the RTL.

#if defined(__SYNTHESIS__) && !defined(FR_VENDOR)
#  define FR_VENDOR
#endif
