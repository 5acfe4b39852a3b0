// One row task of a window buffer: takes a lane group, passes it on, and writes the window row that
// it completes. The codes themselves only move through shift registers, which are not in here.
module window_row #(
    parameter IH = 32,
    parameter LANE_GROUPS = 16,
    parameter GROUPS = 16,
    parameter LOOKAHEAD = 1,
    parameter FLUSH = 1,
    parameter FIRST_ROW = 1,
    parameter STRIDE = 1
) (
    input clk,
    input reset,
    input in_valid,
    input link_ready,
    input row_ready,
    output advance,
    output link_write,
    output row_write
);
  reg [$clog2(GROUPS):0] g;
  // Lane group and picture row that come in, and those that leave, LOOKAHEAD groups later.
  reg [$clog2(LANE_GROUPS):0] in_k, k;
  reg [$clog2(IH):0] in_h, h;
  wire reads = in_h != IH;
  wire needs_row = h + 1 > FIRST_ROW && (STRIDE == 1 || h[0] == FIRST_ROW[0]);
  wire needed = needs_row & ~k[$clog2(LANE_GROUPS)];
  assign advance = (in_valid & link_ready | ~reads) & (row_ready | ~needed);
  assign link_write = advance & reads;
  assign row_write = advance & needed;
  wire last_g = g == GROUPS - 1;
  wire last_in_k = in_k == LANE_GROUPS - 1;
  wire last_k = k == LANE_GROUPS - 1;
  wire last = ~reads & in_k == FLUSH - 1 & last_g;
  always @(posedge clk)
    if (reset | advance & last) begin
      g <= 0;
      in_k <= 0;
      in_h <= 0;
      k <= -LOOKAHEAD;
      h <= 0;
    end else if (advance) begin
      g <= last_g ? 0 : g + 1;
      if (last_g) begin
        in_k <= last_in_k ? 0 : in_k + 1;
        in_h <= last_in_k ? in_h + 1 : in_h;
        k <= last_k ? 0 : k + 1;
        h <= last_k ? h + 1 : h;
      end
    end
endmodule
