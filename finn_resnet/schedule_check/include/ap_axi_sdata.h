#pragma once

// Side channels of an AXI4-Stream port, for the schedule check.

#include "ap_int.h"

template <int D, int U, int TI, int TD>
struct ap_axiu {
  ap_uint<D> data;
  ap_uint<(D + 7) / 8> keep;
  ap_uint<(D + 7) / 8> strb;
  ap_uint<1> last;
};
