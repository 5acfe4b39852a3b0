// Streams the WORDS words of FILE (hexadecimal, one a line), over and over. BLOCK 0: a memory in LUTs,
// read without a clock edge; 1: block RAM with its output registers.
module parameter_memory #(
    parameter integer WIDTH = 8,
    parameter integer WORDS = 4,
    parameter integer BLOCK = 0,
    parameter FILE = "",
    parameter integer BITS = WORDS > 1 ? $clog2(WORDS) : 1
) (
    input  logic             clk,
    input  logic             rst,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
  logic [BITS-1:0] address;
  generate
    if (BLOCK == 0) begin : g_lut
      (* rom_style = "distributed", ram_style = "distributed" *)
      logic [WIDTH-1:0] words[WORDS];
      initial $readmemh(FILE, words);
      always_ff @(posedge clk) out_valid <= ~rst;
      counter #(.COUNT(WORDS)) addresses (
          .clk, .rst, .step(out_valid & out_ready), .restart(1'b0), .value(address));
      assign out_data = words[address];
    end else begin : g_block
      (* rom_style = "block", ram_style = "block" *)
      logic [WIDTH-1:0] words[WORDS];
      initial $readmemh(FILE, words);
      logic read_valid;
      logic [WIDTH-1:0] read_data;
      wire out_step = out_ready | ~out_valid;
      wire read_step = out_step | ~read_valid;
      counter #(.COUNT(WORDS)) addresses (
          .clk, .rst, .step(read_step), .restart(1'b0), .value(address));
      always_ff @(posedge clk) begin
        if (read_step) read_data <= words[address];
        if (out_step) out_data <= read_data;
        if (rst) begin
          read_valid <= 1'b0;
          out_valid <= 1'b0;
        end else begin
          read_valid <= 1'b1;
          if (out_step) out_valid <= read_valid;
        end
      end
    end
  endgenerate
endmodule
