// x * w of signed operands in LUTs, two clocks. Booth's digits of w, two bits each, so that a row
// is one adder whose every bit, partial product included, is a function of six inputs: a LUT and
// its carry position.
module lut_multiplier #(
    parameter int X_BITS = 9,
    parameter int W_BITS = 8
) (
    input wire clk,
    input wire [X_BITS-1:0] x,
    input wire [W_BITS-1:0] w,
    output wire [X_BITS+W_BITS-1:0] y
);
  localparam int ROWS = (W_BITS + 1) / 2;
  localparam int EARLY = (ROWS + 1) / 2;  // rows before the register
  localparam int BITS = X_BITS + 2;
  localparam int Y_BITS = X_BITS + W_BITS;

  // Digits with the bit below each: w[1], w[0], 0 are the first.
  wire [2*ROWS:0] digits = {{(2 * ROWS - W_BITS) {w[W_BITS-1]}}, w, 1'b0};
  logic [2*ROWS:0] digits_late;
  logic [X_BITS-1:0] x_late;
  wire [BITS-1:0] sums[0:ROWS-1];
  wire [2*ROWS-1:0] done;  // the two lowest bits of every row's sum are final
  genvar k;
  generate
    for (k = 0; k < ROWS; k = k + 1) begin : g_row
      wire [2:0] digit = k < EARLY ? digits[2*k+:3] : digits_late[2*k+:3];
      wire [X_BITS-1:0] factor = k < EARLY ? x : x_late;
      wire [BITS-1:0] once = {{2{factor[X_BITS-1]}}, factor};
      wire one = digit[1] ^ digit[0];
      wire two = digit[2] != digit[1] && digit[1] == digit[0];
      wire [BITS-1:0] product = ((once & {BITS{one}}) | ({once[BITS-2:0], 1'b0} & {BITS{two}}))
                                ^ {BITS{digit[2]}};
      wire [BITS-1:0] above;
      if (k == 0) begin : g_first
        assign above = '0;
      end else if (k == EARLY) begin : g_late
        logic [BITS-1:0] late;
        always_ff @(posedge clk) late <= {{2{sums[k-1][BITS-1]}}, sums[k-1][BITS-1:2]};
        assign above = late;
      end else begin : g_next
        assign above = {{2{sums[k-1][BITS-1]}}, sums[k-1][BITS-1:2]};
      end
      wire [BITS:0] sum = {above, 1'b1} + {product, digit[2]};  // plus 1 where the digit is negative
      assign sums[k] = sum[BITS:1];
      if (k < EARLY) begin : g_delay
        logic [1:0] late;
        always_ff @(posedge clk) late <= sum[2:1];
        assign done[2*k+:2] = late;
      end else begin : g_now
        assign done[2*k+:2] = sum[2:1];
      end
      wire unused = &{1'b0, sum[0]};
    end
  endgenerate
  always_ff @(posedge clk) begin
    digits_late <= digits;
    x_late <= x;
  end
  logic [Y_BITS-1:0] product;
  wire [BITS+2*ROWS-3:0] whole;
  generate
    if (ROWS > EARLY) begin : g_two
      assign whole = {sums[ROWS-1], done[2*ROWS-3:0]};
    end else begin : g_one
      logic [BITS-1:0] late;
      always_ff @(posedge clk) late <= sums[0];
      assign whole = late;
    end
  endgenerate
  always_ff @(posedge clk) product <= whole[Y_BITS-1:0];
  assign y = product;
  wire unused = &{1'b0, digits, digits_late, x_late, done, whole};
endmodule
