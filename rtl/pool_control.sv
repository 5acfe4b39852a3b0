// Starts the iterations of a pool of the whole picture: one token of every lane in a step. The last
// column group of a row may have fewer lanes (`takes`). `first` and `last` mark the first and the
// last lane group of a frame; in the last one each step completes a result and needs room for it.
module pool_control #(
    parameter integer H = 4,
    parameter integer W = 4,
    parameter integer LANES = 2,
    parameter integer GROUPS = 1,
    parameter integer GROUP_BITS = GROUPS > 1 ? $clog2(GROUPS) : 1
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [     LANES-1:0] in_valid,
    output logic [     LANES-1:0] in_ready,
    input  logic                  room,
    output logic                  step,
    output logic [     LANES-1:0] takes,
    output logic                  first,
    output logic                  last,
    output logic [GROUP_BITS-1:0] group
);
  localparam integer COLUMN_GROUPS = (W + LANES - 1) / LANES;
  logic [LANES-1:0] exists;
  assign step = ~rst & (&(in_valid | ~exists)) & (room | ~last);
  assign takes = exists;
  assign in_ready = step ? exists : '0;
  wire pixel_end = step & (group == GROUP_BITS'(GROUPS - 1));
  counter #(.COUNT(GROUPS)) groups (.clk, .rst, .step, .restart(1'b0), .value(group));
  ring_count #(.COUNT(H * COLUMN_GROUPS)) frame (.clk, .rst, .step(pixel_end), .last);
  always_ff @(posedge clk)
    if (rst) first <= 1'b1;
    else if (pixel_end) first <= last;
  genvar l;
  generate
    if (W % LANES == 0) begin : g_even
      assign exists = '1;
    end else begin : g_ragged
      logic row_end;
      ring_count #(.COUNT(COLUMN_GROUPS)) columns (.clk, .rst, .step(pixel_end), .last(row_end));
      for (l = 0; l < LANES; l = l + 1) begin : g_lane
        assign exists[l] = !(l >= W % LANES && row_end);
      end
    end
  endgenerate
endmodule
