// States of `ring`: a shift register of b bits with XNOR feedback, which counts with one LUT. Up to
// 6 bits the all-ones state belongs to the circle (one more input of the same LUT), so the circle
// has 2^b states; wider ones have 2^b - 1.

/* verilator lint_off UNUSEDSIGNAL */
// A module that includes this file need not use all of it.
function automatic integer ring_bits(input integer n);
  begin
    ring_bits = n <= 2 ? 1 : $clog2(n);
    if (ring_bits > 6) ring_bits = $clog2(n + 1);
  end
endfunction

function automatic integer ring_states(input integer b);
  ring_states = b <= 6 ? 1 << b : (1 << b) - 1;
endfunction

// Taps of a primitive polynomial for each width.
function automatic [15:0] ring_taps(input integer b);
  case (b)
    2: ring_taps = 16'h0003;
    3: ring_taps = 16'h0006;
    4: ring_taps = 16'h000C;
    5: ring_taps = 16'h0014;
    6: ring_taps = 16'h0030;
    7: ring_taps = 16'h0060;
    8: ring_taps = 16'h00B8;
    9: ring_taps = 16'h0110;
    10: ring_taps = 16'h0240;
    11: ring_taps = 16'h0500;
    12: ring_taps = 16'h0E08;
    13: ring_taps = 16'h1C80;
    14: ring_taps = 16'h3802;
    15: ring_taps = 16'h6000;
    16: ring_taps = 16'hD008;
    default: ring_taps = 16'h0001;
  endcase
endfunction

function automatic [15:0] ring_next(input [15:0] x, input integer b);
  reg feedback;
  reg [15:0] low;
  begin
    low = (16'd1 << (b - 1)) - 16'd1;
    feedback = ~^(x & ring_taps(b));
    if (b > 1 && b <= 6 && (x & low) == low) feedback = ~feedback;
    ring_next = {x[14:0], feedback} & ((low << 1) | 16'd1);
  end
endfunction

// State after `n` steps from 0.
function automatic [15:0] ring_code(input integer n, input integer b);
  integer i;
  begin
    ring_code = 16'd0;
    for (i = 0; i < n; i = i + 1) ring_code = ring_next(ring_code, b);
  end
endfunction
/* verilator lint_on UNUSEDSIGNAL */
