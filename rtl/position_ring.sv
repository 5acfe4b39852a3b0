// Position among COUNT, starting at INIT, in the order of a ring; `last` marks the last one.
module position_ring #(
    parameter integer COUNT = 8,
    parameter integer INIT = 0,
    parameter integer BITS = 3
) (
    input  logic            clk,
    input  logic            rst,
    input  logic            step,
    output logic [BITS-1:0] state,
    output logic            last
);
`include "ring_code.svh"

  generate
    if (COUNT == 1) begin : g_one
      assign state = '0;
      assign last = 1'b1;
      wire unused = &{1'b0, clk, rst, step};
    end else begin : g_many
      assign last = state == BITS'(ring_code(COUNT - 1, BITS));
      always_ff @(posedge clk)
        if (rst) state <= BITS'(ring_code(INIT, BITS));
        else if (step) begin
          if (last && COUNT != ring_states(BITS)) state <= '0;
          else state <= BITS'(ring_next(16'(state), BITS));
        end
    end
  endgenerate
endmodule
