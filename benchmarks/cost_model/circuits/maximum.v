// The greater of two codes.
module maximum #(
    parameter BITS = 8
) (
    input clk,
    input enable,
    input [BITS-1:0] a,
    input [BITS-1:0] b,
    output reg [BITS-1:0] greater
);
  always @(posedge clk) if (enable) greater <= a > b ? a : b;
endmodule
