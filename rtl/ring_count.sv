// Marks every COUNT-th step with `last`; counts as a ring, for its order does not matter.
module ring_count #(
    parameter integer COUNT = 2
) (
    input  logic clk,
    input  logic rst,
    input  logic step,
    output logic last
);
`include "ring_code.svh"
  localparam integer BITS = ring_bits(COUNT);

  generate
    if (COUNT == 1) begin : g_always
      assign last = 1'b1;
      wire unused = &{1'b0, clk, rst, step};
    end else begin : g_count
      logic [BITS-1:0] state;
      assign last = state == BITS'(ring_code(COUNT - 1, BITS));
      always_ff @(posedge clk)
        if (rst | (step & last)) state <= '0;
        else if (step) state <= BITS'(ring_next(16'(state), BITS));
    end
  endgenerate
endmodule
