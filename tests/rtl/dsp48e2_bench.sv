// The wrapper around the vendor's slice and our model, side by side: three in a cascade, operands
// with many corners, every load enable, inmode, opmode and reset drawn anew in every cycle.
// Prints the cycles compared and those that differ.
`timescale 1ns / 1ps
module dsp48e2_bench;
  parameter integer SELECT_B = 0;
  parameter integer SEED = 1;
  parameter integer CYCLES = 4000;
  localparam integer SLICES = 3;

  reg clk = 0;
  always #1 clk = ~clk;
  reg rst = 0;
  reg [27*SLICES-1:0] a = 0, d = 0;
  reg [18*SLICES-1:0] b = 0;
  reg [48*SLICES-1:0] c = 0;
  reg [SLICES-1:0] ce_a = 0, ce_b = 0, ce_d = 0;
  reg [5*SLICES-1:0] inmode = 0;
  reg [9*SLICES-1:0] opmode = 0;
  wire [48*(SLICES+1)-1:0] cascade, cascade_model;
  wire [48*SLICES-1:0] p, p_model;
  assign cascade[47:0] = 0;
  assign cascade_model[47:0] = 0;
  genvar s;
  generate
    for (s = 0; s < SLICES; s = s + 1) begin : g_slice
      dsp48e2 #(.SELECT_B(SELECT_B)) slice (
          .clk(clk), .rst(rst), .a(a[27*s+:27]), .b(b[18*s+:18]), .c(c[48*s+:48]),
          .d(d[27*s+:27]), .ce_a(ce_a[s]), .ce_b(ce_b[s]), .ce_d(ce_d[s]),
          .inmode(inmode[5*s+:5]), .opmode(opmode[9*s+:9]),
          .pcin(cascade[48*s+:48]), .pcout(cascade[48*(s+1)+:48]), .p(p[48*s+:48]));
      dsp48e2_model #(.SELECT_B(SELECT_B)) model (
          .clk(clk), .rst(rst), .a(a[27*s+:27]), .b(b[18*s+:18]), .c(c[48*s+:48]),
          .d(d[27*s+:27]), .ce_a(ce_a[s]), .ce_b(ce_b[s]), .ce_d(ce_d[s]),
          .inmode(inmode[5*s+:5]), .opmode(opmode[9*s+:9]),
          .pcin(cascade_model[48*s+:48]), .pcout(cascade_model[48*(s+1)+:48]),
          .p(p_model[48*s+:48]));
    end
  endgenerate

  integer seed = SEED, n, k, different = 0;
  reg [47:0] drawn;
  // Random bits, or an end of the range, or close to it.
  task draw(input integer bits);
    begin
      drawn = {$random(seed), $random(seed)};
      case ($unsigned($random(seed)) % 8)
        0: drawn = 0;
        1: drawn = -1;
        2: drawn = 48'd1 << (bits - 1);
        3: drawn = (48'd1 << (bits - 1)) - 1;
        4: drawn = 1;
        default: ;
      endcase
    end
  endtask
  initial begin
    #201;  // past the vendor's global set and reset
    for (n = 0; n < CYCLES; n = n + 1) begin
      @(posedge clk);
      #0.1;
      if (p !== p_model || cascade !== cascade_model) begin
        different = different + 1;
        if (different < 4) $display("cycle %0d: %h, model %h", n, p, p_model);
      end
      rst = $unsigned($random(seed)) % 64 == 0;
      for (k = 0; k < SLICES; k = k + 1) begin
        draw(27); a[27*k+:27] = drawn;
        draw(27); d[27*k+:27] = drawn;
        draw(18); b[18*k+:18] = drawn;
        draw(48); c[48*k+:48] = drawn;
        {ce_a[k], ce_b[k], ce_d[k]} = $random(seed) | $random(seed);
        case ($unsigned($random(seed)) % 3)
          0: inmode[5*k+:5] = 5'b00100;
          1: inmode[5*k+:5] = 5'b00110;
          default: inmode[5*k+:5] = 5'b00000;
        endcase
        drawn = $random(seed);
        opmode[9*k+:9] = {drawn[1:0] == 2'b10 ? 2'b00 : drawn[1:0], 1'b0, drawn[3:2],
                          drawn[4] | drawn[5] ? 4'b0101 : 4'b0000};
      end
    end
    $display("cycles %0d different %0d", CYCLES, different);
    $finish;
  end
endmodule
