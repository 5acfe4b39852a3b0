// `x` limited to [LO, HI], combinational. Bounds of the form 2^k - 1, -2^k and 0 need no comparison.
module requantise_clip #(
    parameter int IN_BITS = 16,
    parameter int OUT_BITS = 8,
    parameter int LO = -128,
    parameter int HI = 127
) (
    input wire signed [IN_BITS-1:0] x,
    output wire [OUT_BITS-1:0] y
);
  localparam int HI_BITS = $clog2(HI + 1);
  localparam int LO_BITS = $clog2(-LO);
  localparam int WIDTH = IN_BITS > OUT_BITS ? IN_BITS : OUT_BITS;
  wire over, under;
  generate
    if (HI >= 0 && HI + 1 == 1 << HI_BITS) begin : g_hi_bits
      if (HI_BITS < IN_BITS - 1) begin : g_reached
        assign over = ~x[IN_BITS-1] & (|x[IN_BITS-2:HI_BITS]);
      end else begin : g_never
        assign over = 1'b0;
      end
    end else begin : g_hi
      assign over = WIDTH'(x) > WIDTH'(HI);
    end
    if (LO == 0) begin : g_not_negative
      assign under = x[IN_BITS-1];
    end else if (LO < 0 && -LO == 1 << LO_BITS) begin : g_lo_bits
      if (LO_BITS < IN_BITS - 1) begin : g_reached
        assign under = x[IN_BITS-1] & ~(&x[IN_BITS-2:LO_BITS]);
      end else begin : g_never
        assign under = 1'b0;
      end
    end else begin : g_lo
      assign under = WIDTH'(x) < WIDTH'(LO);
    end
  endgenerate
  assign y = over ? OUT_BITS'(HI) : under ? OUT_BITS'(LO) : OUT_BITS'(x);
endmodule
