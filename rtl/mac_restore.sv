// The two sums of a column: p = high * 2^FIELD + low, `mod` = high modulo 2^MOD_BITS.
// `low` must fit FIELD + MOD_BITS signed bits. One clock.
module mac_restore #(
    parameter int FIELD = 18,
    parameter int MOD_BITS = 0,
    parameter int LOW_BITS = 18,
    parameter int HIGH_BITS = 18,
    localparam int MOD_WIDTH = MOD_BITS > 0 ? MOD_BITS : 1
) (
    input wire clk,
    input wire [47:0] p,
    input wire [MOD_WIDTH-1:0] mod,
    output logic signed [LOW_BITS-1:0] low,
    output logic signed [HIGH_BITS-1:0] high
);
  // The upper field of p is the high sum plus what the low one carries into it, which is negative
  // where the low sum has borrowed.
  wire [MOD_BITS:0] carried;
  generate
    if (MOD_BITS > 0) begin : g_mod
      wire [MOD_BITS-1:0] difference = p[FIELD+:MOD_BITS] - mod;
      assign carried = {difference[MOD_BITS-1], difference};
    end else begin : g_no_mod
      assign carried = p[FIELD-1];
      wire unused = &{1'b0, mod};
    end
  endgenerate
  wire [FIELD+MOD_BITS:0] whole = {carried, p[FIELD-1:0]};
  wire [HIGH_BITS-1:0] field = p[FIELD+:HIGH_BITS];
  always_ff @(posedge clk) begin
    low <= LOW_BITS'($signed(whole));
    high <= field - HIGH_BITS'($signed(carried));
  end
  wire unused = &{1'b0, p, whole};
endmodule
