// One slice of a window buffer: every token to the next slice, those some window needs to its tap.
// Data pass unchanged; only handshakes and counters cost logic.
module window_slice #(
    parameter IH = 32,
    parameter LANE_COLUMNS = 16,
    parameter GROUPS = 16,
    parameter FIRST_ROW = 1,
    parameter FIRST_COLUMN = 1,
    parameter STRIDE = 1
) (
    input clk,
    input reset,
    input in_valid,
    input link_ready,
    input tap_ready,
    output advance,
    output link_write,
    output tap_write
);
  reg [$clog2(GROUPS):0] g;
  reg [$clog2(LANE_COLUMNS):0] k;
  reg [$clog2(IH):0] h;
  reg written;
  wire needs_row = h + 1 > FIRST_ROW && (STRIDE == 1 || h[0] == FIRST_ROW[0]);
  wire needs_column = k + 1 > FIRST_COLUMN;
  wire needed = needs_row & needs_column;
  assign advance = in_valid & link_ready & (tap_ready | ~needed);
  assign link_write = advance;
  assign tap_write = advance & needed;
  wire last_g = g == GROUPS - 1;
  wire last_k = k == LANE_COLUMNS - 1;
  always @(posedge clk)
    if (reset) begin
      g <= 0;
      k <= 0;
      h <= 0;
    end else if (advance) begin
      g <= last_g ? 0 : g + 1;
      if (last_g) k <= last_k ? 0 : k + 1;
      if (last_g & last_k) h <= h == IH - 1 ? 0 : h + 1;
    end
endmodule
