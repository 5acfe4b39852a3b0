// clip(round_half_even(x * 2^-SHIFT)) to an unsigned (SIGNED = 0) or signed code.
module shift_requant #(
    parameter IN_BITS = 20,
    parameter SHIFT = 7,
    parameter CODE_BITS = 8,
    parameter SIGNED = 0
) (
    input clk,
    input enable,
    input signed [IN_BITS-1:0] x,
    output reg [CODE_BITS-1:0] code
);
  localparam signed [IN_BITS:0] HIGHEST = SIGNED ? (1 << (CODE_BITS - 1)) - 1 : (1 << CODE_BITS) - 1;
  localparam signed [IN_BITS:0] LOWEST = SIGNED ? -(1 << (CODE_BITS - 1)) : 0;
  wire half = x[SHIFT-1];
  wire rest = |x[SHIFT-2:0];
  wire odd = x[SHIFT];
  wire signed [IN_BITS:0] rounded = (x >>> SHIFT) + $signed({1'b0, half & (rest | odd)});
  always @(posedge clk)
    if (enable)
      code <= rounded > HIGHEST ? HIGHEST[CODE_BITS-1:0]
            : rounded < LOWEST ? LOWEST[CODE_BITS-1:0] : rounded[CODE_BITS-1:0];
endmodule
