// What follows CHAINS packed DSP cascades: each field of P as a signed number, plus 1 if the bit
// below it says that it was borrowed from, added over the chains. The topmost field has the rest of
// P. The products themselves are one DSP48E2 a tap.
module packed_restore #(
    parameter CHAINS = 1,
    parameter FIELDS = 2,
    parameter FIELD_BITS = 18,
    parameter SUM_BITS = 21
) (
    input [CHAINS*48-1:0] cascades,
    output signed [FIELDS*SUM_BITS-1:0] sums
);
  genvar c, f;
  generate
    for (f = 0; f < FIELDS; f = f + 1) begin : field
      localparam BITS = f == FIELDS - 1 ? 48 - f * FIELD_BITS : FIELD_BITS;
      wire signed [SUM_BITS-1:0] sum[0:CHAINS];
      assign sum[0] = 0;
      for (c = 0; c < CHAINS; c = c + 1) begin : chain
        wire signed [BITS-1:0] value = cascades[c*48+f*FIELD_BITS+:BITS];
        if (f == 0) assign sum[c+1] = sum[c] + value;
        else assign sum[c+1] = sum[c] + value + $signed({1'b0, cascades[c*48+f*FIELD_BITS-1]});
      end
      assign sums[f*SUM_BITS+:SUM_BITS] = sum[CHAINS];
    end
  endgenerate
endmodule
