// Two signed operands side by side on a port of a DSP48E2 without the help of its pre-adder: the
// higher one takes the borrow of a negative lower one. STEP is their distance.
module packed_operand #(
    parameter BITS = 4,
    parameter STEP = 11
) (
    input signed [BITS-1:0] high,
    input signed [BITS-1:0] low,
    output signed [STEP+BITS:0] packed_value
);
  wire signed [BITS:0] borrowed = high - $signed({1'b0, low[BITS-1]});
  assign packed_value = {borrowed, {(STEP - BITS) {low[BITS-1]}}, low};
endmodule
