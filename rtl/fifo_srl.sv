// FIFO as a shift register with a read address, for 2 to 128 tokens. The oldest token is the output;
// the address is one less than the number of tokens, modulo a power of two.
module fifo_srl #(
    parameter integer WIDTH = 8,
    parameter integer DEPTH = 16
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
  localparam integer BITS = $clog2(DEPTH);

  logic [BITS-1:0] oldest;
  wire push = in_valid & in_ready;
  wire pop = out_valid & out_ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      oldest <= '1;
      in_ready <= 1'b1;
      out_valid <= 1'b0;
    end else if (push & ~pop) begin
      oldest <= oldest + 1'b1;
      in_ready <= oldest != BITS'(DEPTH - 2);
      out_valid <= 1'b1;
    end else if (pop & ~push) begin
      oldest <= oldest - 1'b1;
      in_ready <= 1'b1;
      out_valid <= oldest != '0;
    end
  end

  genvar b;
  generate
    for (b = 0; b < WIDTH; b = b + 1) begin : g_bit
      logic [DEPTH-1:0] tokens;
      always_ff @(posedge clk) if (push) tokens <= {tokens[DEPTH-2:0], in_data[b]};
      assign out_data[b] = tokens[oldest];
    end
  endgenerate
endmodule
