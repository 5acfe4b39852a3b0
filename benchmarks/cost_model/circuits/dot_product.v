// TAPS products of a code and a weight, summed: the LUT form of a multiplier column.
module dot_product #(
    parameter TAPS = 9,
    parameter CODE_BITS = 8,
    parameter WEIGHT_BITS = 8,
    parameter SUM_BITS = 20
) (
    input clk,
    input enable,
    input [TAPS*CODE_BITS-1:0] codes,
    input signed [TAPS*WEIGHT_BITS-1:0] weights,
    output reg signed [SUM_BITS-1:0] sum
);
  integer t;
  reg signed [SUM_BITS-1:0] total;
  always @* begin
    total = 0;
    for (t = 0; t < TAPS; t = t + 1)
      total = total + $signed({1'b0, codes[t*CODE_BITS+:CODE_BITS]})
                    * $signed(weights[t*WEIGHT_BITS+:WEIGHT_BITS]);
  end
  always @(posedge clk) if (enable) sum <= total;
endmodule
