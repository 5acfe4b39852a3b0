// Behaviour of the DSP48E2 as `dsp48e2` configures it; ports as there.
module dsp48e2_model #(
    parameter bit SELECT_B = 1'b0
) (
    input wire clk,
    input wire rst,
    input wire [26:0] a,
    input wire [17:0] b,
    input wire [47:0] c,
    input wire [26:0] d,
    input wire ce_a,
    input wire ce_b,
    input wire ce_d,
    input wire [4:0] inmode,
    input wire [8:0] opmode,
    input wire [47:0] pcin,
    output wire [47:0] pcout,
    output logic [47:0] p
);
  logic signed [26:0] a_first, a_last, d_first, sum;
  logic signed [17:0] b_first, b_last;
  logic [44:0] product;
  logic [47:0] c_first;
  logic [4:0] inmode_now;
  logic [8:0] opmode_now;

  // The pre-adder: d or nothing, plus a (or b) or nothing.
  wire signed [26:0] added = SELECT_B ? 27'(b_first) : a_first;
  wire signed [26:0] pre_sum = (inmode_now[2] ? d_first : 27'd0) + (inmode_now[1] ? 27'd0 : added);
  wire signed [26:0] wide = SELECT_B ? a_last : sum;
  wire signed [17:0] narrow = SELECT_B ? sum[17:0] : b_last;
  wire signed [44:0] multiplied = 45'(wide) * 45'(narrow);

  logic [47:0] w, x, z;
  always_comb begin
    case (opmode_now[8:7])
      2'b01: w = p;
      2'b11: w = c_first;
      default: w = '0;
    endcase
    x = opmode_now[3:0] == 4'b0101 ? {{3{product[44]}}, product} : 48'd0;
    case (opmode_now[6:4])
      3'b001: z = pcin;
      3'b010: z = p;
      3'b011: z = c_first;
      default: z = '0;
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      {a_first, a_last, d_first, sum, b_first, b_last} <= '0;
      {product, c_first, inmode_now, opmode_now, p} <= '0;
    end else begin
      if (ce_a) a_first <= a;
      if (ce_b) b_first <= b;
      if (ce_d) d_first <= d;
      a_last <= a_first;
      b_last <= b_first;
      sum <= pre_sum;
      product <= multiplied;
      c_first <= c;
      inmode_now <= inmode;
      opmode_now <= opmode;
      p <= w + x + z;
    end
  end
  assign pcout = p;

  // The slice powers up cleared.
  initial begin
    {a_first, a_last, d_first, sum, b_first, b_last} = '0;
    {product, c_first, inmode_now, opmode_now, p} = '0;
  end

  wire unused = &{1'b0, inmode_now[4:3], inmode_now[0]};
endmodule
