// Counts in the order of `ring_code.svh`, whole circles, from state INIT.
module ring #(
    parameter integer BITS = 4,
    parameter integer INIT = 0
) (
    input  logic            clk,
    input  logic            rst,
    input  logic            step,
    output logic [BITS-1:0] state
);
`include "ring_code.svh"

  always_ff @(posedge clk)
    if (rst) state <= BITS'(ring_code(INIT, BITS));
    else if (step) state <= BITS'(ring_next(16'(state), BITS));
endmodule
