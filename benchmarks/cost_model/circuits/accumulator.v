// One output lane of a convolution: partial sums of GROUPS channel groups in distributed memory,
// started from a bias in the first input channel group.
module accumulator #(
    parameter BITS = 20,
    parameter GROUPS = 8,
    parameter ADDRESS = $clog2(GROUPS)
) (
    input clk,
    input enable,
    input first,
    input [ADDRESS-1:0] group,
    input signed [BITS-1:0] bias,
    input signed [BITS-1:0] products,
    output reg signed [BITS-1:0] total
);
  (* ram_style = "distributed" *) reg signed [BITS-1:0] partial[0:GROUPS-1];
  reg [ADDRESS-1:0] group_q;
  reg enable_q;
  always @(posedge clk) begin
    if (enable) begin
      total <= (first ? bias : partial[group]) + products;
      group_q <= group;
    end
    enable_q <= enable;
    if (enable_q) partial[group_q] <= total;
  end
endmodule
