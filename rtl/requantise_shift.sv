// clip(round(x * 2^-SHIFT), LO, HI), one clock (FLOOR, no digit to drop, or ADDED) or two.
//
// Every mode but half to even is floor((x + addend) / 2^SHIFT), the addend by the sign of x:
//   MODE 0 half to even    2^(SHIFT-1), then the result's lowest bit is cleared if x was a tie
//        1 floor           0                      2 ceil       2^SHIFT - 1
//        3 away from zero  2^SHIFT - 1 if x >= 0  4 to zero    2^SHIFT - 1 if x < 0
//        5 half away       2^(SHIFT-1) - (x < 0)  6 half to 0  2^(SHIFT-1) - (x >= 0)
// With ADDED = 1 (modes 0 to 2) the addend is already in x.
module requantise_shift #(
    parameter int IN_BITS = 20,
    parameter int OUT_BITS = 8,
    parameter int SHIFT = 5,
    parameter int MODE = 0,
    parameter int LO = 0,
    parameter int HI = 255,
    parameter bit ADDED = 1'b0
) (
    input wire clk,
    input wire signed [IN_BITS-1:0] x,
    output logic [OUT_BITS-1:0] y
);
  localparam int DROPPED = SHIFT > 0 ? SHIFT : 0;
  // Of x plus an addend of DROPPED unsigned bits.
  localparam int SUM_BITS = (IN_BITS > DROPPED + 1 ? IN_BITS : DROPPED + 1) + 1;
  localparam int SHIFTED_BITS = SHIFT > 0 ? SUM_BITS - DROPPED : IN_BITS - SHIFT;

  wire signed [SHIFTED_BITS-1:0] rounded;
  generate
    if (SHIFT <= 0) begin : g_multiply
      assign rounded = SHIFTED_BITS'(x) << -SHIFT;
    end else begin : g_divide
      localparam logic [SUM_BITS-1:0] ONE = 1;
      localparam logic [SUM_BITS-1:0] HALF = ONE << (DROPPED - 1);
      localparam logic [SUM_BITS-1:0] MOST = (ONE << DROPPED) - ONE;
      localparam logic [SUM_BITS-1:0] POSITIVE =
          MODE == 2 || MODE == 3 ? MOST : MODE == 6 ? HALF - ONE : MODE == 0 || MODE == 5 ? HALF : 0;
      localparam logic [SUM_BITS-1:0] NEGATIVE =
          MODE == 2 || MODE == 4 ? MOST : MODE == 5 ? HALF - ONE : MODE == 0 || MODE == 6 ? HALF : 0;
      logic signed [SUM_BITS-1:0] sum;
      if (ADDED || MODE == 1) begin : g_floor
        assign sum = SUM_BITS'(x);
      end else begin : g_add
        always_ff @(posedge clk) sum <= SUM_BITS'(x) + (x[IN_BITS-1] ? NEGATIVE : POSITIVE);
      end
      wire tie = MODE == 0 && sum[DROPPED-1:0] == '0;
      wire signed [SHIFTED_BITS-1:0] floor = sum[SUM_BITS-1:DROPPED];
      if (SHIFTED_BITS > 1) begin : g_wide
        assign rounded = {floor[SHIFTED_BITS-1:1], floor[0] & ~tie};
      end else begin : g_narrow
        assign rounded = floor & ~tie;
      end
    end
  endgenerate

  wire [OUT_BITS-1:0] clipped;
  requantise_clip #(
      .IN_BITS(SHIFTED_BITS),
      .OUT_BITS(OUT_BITS),
      .LO(LO),
      .HI(HI)
  ) clip (
      .x(rounded),
      .y(clipped)
  );
  always_ff @(posedge clk) y <= clipped;
endmodule
