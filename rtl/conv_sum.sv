// Sum of TERMS numbers of WIDTH bits modulo 2^WIDTH: a tree with a register after every adder,
// ceil(log2(TERMS)) clocks.
module conv_sum #(
    parameter int TERMS = 2,
    parameter int WIDTH = 20,
    localparam int LEVELS = $clog2(TERMS)
) (
    input wire clk,
    input wire [TERMS*WIDTH-1:0] terms,
    output wire [WIDTH-1:0] sum
);
  // Level k holds ceil(TERMS / 2^k) numbers.
  wire [WIDTH-1:0] level[0:LEVELS][0:TERMS-1];
  genvar k, n;
  generate
    for (n = 0; n < TERMS; n = n + 1) begin : g_in
      assign level[0][n] = terms[n*WIDTH+:WIDTH];
    end
    for (k = 0; k < LEVELS; k = k + 1) begin : g_level
      for (n = 0; n << (k + 1) < TERMS; n = n + 1) begin : g_adder
        logic [WIDTH-1:0] added;
        if (((2 * n + 1) << k) < TERMS) begin : g_two
          always_ff @(posedge clk) added <= level[k][2*n] + level[k][2*n+1];
        end else begin : g_one
          always_ff @(posedge clk) added <= level[k][2*n];
        end
        assign level[k+1][n] = added;
      end
    end
  endgenerate
  assign sum = level[LEVELS][0];
endmodule
