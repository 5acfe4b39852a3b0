// What follows CHAINS packed DSP cascades: low sum = P[17:0] as a signed number, high sum =
// (P >> 18) + P[17], added over the chains. The products themselves are one DSP48E2 a tap.
module packed_restore #(
    parameter CHAINS = 1
) (
    input [CHAINS*48-1:0] cascades,
    output signed [20:0] high_sum,
    output signed [20:0] low_sum
);
  wire signed [20:0] high[0:CHAINS];
  wire signed [20:0] low[0:CHAINS];
  assign high[0] = 0;
  assign low[0] = 0;
  genvar c;
  generate
    for (c = 0; c < CHAINS; c = c + 1) begin : chain
      wire [47:0] p = cascades[c*48+:48];
      assign high[c+1] = high[c] + $signed(p[38:18]) + $signed({1'b0, p[17]});
      assign low[c+1] = low[c] + $signed(p[17:0]);
    end
  endgenerate
  assign high_sum = high[CHAINS];
  assign low_sum = low[CHAINS];
endmodule
