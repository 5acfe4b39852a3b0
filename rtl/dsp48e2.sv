// One DSP48E2 with all its registers: four clocks from the operands to `p`.
//
//   SELECT_B = 0:  p = (d + a) * b + w + z      b has two registers
//   SELECT_B = 1:  p = a * (b or d) + w + z     a has two registers; inmode takes b or d
//
// `inmode`: 5'b00100 adds d to a (b), 5'b00110 takes d alone, 5'b00000 a (b) alone.
// `opmode` = {w, z, 4'b0101}: w 00 nothing, 01 p, 11 c; z 000 nothing, 001 pcin, 010 p, 011 c.
// `inmode` comes with the operands, `c` and `opmode` two clocks after them. `ce_*` load the first
// register of an operand. Synthesis takes the primitive, simulation its model; DSP48E2_PRIMITIVE
// puts the primitive into a simulation that has the vendor's model of it.
module dsp48e2 #(
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
    output wire [47:0] p
);
`ifdef SYNTHESIS
`define DSP48E2_PRIMITIVE
`endif
`ifdef DSP48E2_PRIMITIVE
  DSP48E2 #(
      .AMULTSEL(SELECT_B ? "A" : "AD"),
      .BMULTSEL(SELECT_B ? "AD" : "B"),
      .PREADDINSEL(SELECT_B ? "B" : "A"),
      .AREG(SELECT_B ? 2 : 1),
      .ACASCREG(SELECT_B ? 2 : 1),
      .BREG(SELECT_B ? 1 : 2),
      .BCASCREG(SELECT_B ? 1 : 2),
      .USE_MULT("MULTIPLY")
  ) slice (
      .CLK(clk),
      .A({{3{a[26]}}, a}),
      .B(b),
      .C(c),
      .D(d),
      .PCIN(pcin),
      .PCOUT(pcout),
      .P(p),
      .INMODE(inmode),
      .OPMODE(opmode),
      .ALUMODE(4'd0),
      .CARRYIN(1'b0),
      .CARRYINSEL(3'd0),
      .ACIN(30'd0),
      .BCIN(18'd0),
      .CARRYCASCIN(1'b0),
      .MULTSIGNIN(1'b0),
      .CEA1(SELECT_B ? ce_a : 1'b0),
      .CEA2(SELECT_B ? 1'b1 : ce_a),
      .CEB1(SELECT_B ? 1'b0 : ce_b),
      .CEB2(SELECT_B ? ce_b : 1'b1),
      .CED(ce_d),
      .CEC(1'b1),
      .CEAD(1'b1),
      .CEM(1'b1),
      .CEP(1'b1),
      .CEINMODE(1'b1),
      .CECTRL(1'b1),
      .CEALUMODE(1'b1),
      .CECARRYIN(1'b1),
      .RSTA(rst),
      .RSTB(rst),
      .RSTC(rst),
      .RSTD(rst),
      .RSTM(rst),
      .RSTP(rst),
      .RSTINMODE(rst),
      .RSTCTRL(rst),
      .RSTALUMODE(rst),
      .RSTALLCARRYIN(rst)
  );
`else
  dsp48e2_model #(.SELECT_B(SELECT_B)) slice (.*);
`endif
endmodule
