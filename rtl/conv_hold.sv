// Register that keeps its value while `load` is low.
module conv_hold #(
    parameter int WIDTH = 8
) (
    input wire clk,
    input wire load,
    input wire [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
  always_ff @(posedge clk) if (load) out <= in;
endmodule
