// clip((x * MULT[group] + ADD[group]) >> SHIFT, LO, HI), floor shift; four clocks. SUM_BITS signed
// bits must hold the product and the sum.
module requantise_affine #(
    parameter int IN_BITS = 20,
    parameter int OUT_BITS = 8,
    parameter int SUM_BITS = 40,
    parameter int MULT_BITS = 16,
    parameter int ADD_BITS = 32,
    parameter int SHIFT = 16,
    parameter int LO = 0,
    parameter int HI = 255,
    parameter int GROUPS = 1,
    parameter logic [GROUPS*MULT_BITS-1:0] MULT = '0,
    parameter logic [GROUPS*ADD_BITS-1:0] ADD = '0,
    localparam int GROUP_BITS = GROUPS > 1 ? $clog2(GROUPS) : 1
) (
    input wire clk,
    input wire [GROUP_BITS-1:0] group,
    input wire signed [IN_BITS-1:0] x,
    output logic [OUT_BITS-1:0] y
);
  logic signed [IN_BITS-1:0] factor;
  logic signed [MULT_BITS-1:0] mult;
  logic signed [ADD_BITS-1:0] add, add_late;
  logic signed [SUM_BITS-1:0] product, sum;
  wire [MULT_BITS-1:0] mult_now;
  wire [ADD_BITS-1:0] add_now;
  conv_rom #(.DEPTH(GROUPS), .WIDTH(MULT_BITS), .WORDS(MULT)) mults (.address(group), .q(mult_now));
  conv_rom #(.DEPTH(GROUPS), .WIDTH(ADD_BITS), .WORDS(ADD)) adds (.address(group), .q(add_now));
  always_ff @(posedge clk) begin
    factor <= x;
    mult <= mult_now;
    add <= add_now;
    product <= SUM_BITS'(factor) * SUM_BITS'(mult);
    add_late <= add;
    sum <= product + SUM_BITS'(add_late);
  end

  wire [OUT_BITS-1:0] clipped;
  requantise_clip #(
      .IN_BITS(SUM_BITS),
      .OUT_BITS(OUT_BITS),
      .LO(LO),
      .HI(HI)
  ) clip (
      .x(sum >>> SHIFT),
      .y(clipped)
  );
  always_ff @(posedge clk) y <= clipped;
endmodule
