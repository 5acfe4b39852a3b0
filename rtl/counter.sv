// Counts steps from 0 to COUNT - 1 and starts again, also at `restart` with a step.
module counter #(
    parameter integer COUNT = 2,
    parameter integer BITS = COUNT > 1 ? $clog2(COUNT) : 1
) (
    input  logic            clk,
    input  logic            rst,
    input  logic            step,
    input  logic            restart,
    output logic [BITS-1:0] value
);
  generate
    if (COUNT == 1) begin : g_zero
      assign value = '0;
      wire unused = &{1'b0, clk, rst, step, restart};
    end else begin : g_count
      wire last = COUNT != 1 << BITS && value == BITS'(COUNT - 1);
      always_ff @(posedge clk)
        if (rst | (step & (last | restart))) value <= '0;
        else if (step) value <= value + 1'b1;
    end
  endgenerate
endmodule
