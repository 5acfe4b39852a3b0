// One sum with the multipliers in LUTs: sum = start + sum over t of x[t] * w[t], staggered and timed
// as in `mac_column`: tap t's operands come t clocks after tap 0's, `start` two clocks after them,
// and `sum` is there TAPS + 3 clocks after them. `load_x` as there.
module mac_lut_column #(
    parameter int TAPS = 9,
    parameter int X_BITS = 9,
    parameter int W_BITS = 8,
    parameter int SUM_BITS = 20
) (
    input wire clk,
    input wire [TAPS*X_BITS-1:0] x,
    input wire [TAPS*W_BITS-1:0] w,
    input wire [TAPS-1:0] load_x,
    input wire [SUM_BITS-1:0] start,
    output wire [SUM_BITS-1:0] sum
);
  localparam int PRODUCT_BITS = X_BITS + W_BITS;
  logic [SUM_BITS-1:0] sums[0:TAPS];
  always_ff @(posedge clk) sums[0] <= start;
  assign sum = sums[TAPS];

  genvar t;
  generate
    for (t = 0; t < TAPS; t = t + 1) begin : g_tap
      logic [X_BITS-1:0] x_held;
      logic [W_BITS-1:0] w_held;
      /* verilator lint_off UNUSEDSIGNAL */
      // A sum may be known to need fewer bits than a product can have.
      wire signed [PRODUCT_BITS-1:0] product;
      /* verilator lint_on UNUSEDSIGNAL */
      lut_multiplier #(
          .X_BITS(X_BITS),
          .W_BITS(W_BITS)
      ) multiplier (
          .clk,
          .x(x_held),
          .w(w_held),
          .y(product)
      );
      always_ff @(posedge clk) begin
        if (load_x[t]) x_held <= x[X_BITS*t+:X_BITS];
        w_held <= w[W_BITS*t+:W_BITS];
        sums[t+1] <= sums[t] + SUM_BITS'(product);
      end
    end
  endgenerate
endmodule
