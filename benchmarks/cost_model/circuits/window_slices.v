// A whole window buffer with one task a tap, the FIFOs between and behind the tasks, and the padding
// task that joins the taps.

// One slice: every token to the next slice, those some window needs to its tap.
module slice_task #(
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

module window_slices #(
    parameter IH = 32,
    parameter IW = 32,
    parameter GROUPS = 16,
    parameter ICH_PAR = 1,
    parameter FH = 3,
    parameter FW = 3,
    parameter OW_PAR = 2,
    parameter LANES = 2,
    parameter STRIDE = 1,
    parameter BITS = 8,
    parameter STYLE = "distributed",
    parameter COLUMNS = FW + (OW_PAR - 1) * STRIDE,
    parameter WIDTH = ICH_PAR * BITS
) (
    input clk,
    input reset,
    input [LANES-1:0] in_valid,
    input [LANES*WIDTH-1:0] in,
    output [LANES-1:0] in_read,
    input window_read,
    output window_valid,
    output [FH*COLUMNS*WIDTH-1:0] window
);
  localparam LANE_COLUMNS = (IW + LANES - 1) / LANES;
  localparam TAPS = FH * COLUMNS;
  wire [WIDTH-1:0] source[0:TAPS-1];
  wire [TAPS*WIDTH-1:0] taps;
  wire [TAPS-1:0] source_valid, source_read, link_write, link_ready, tap_write, tap_ready;
  wire [TAPS-1:0] tap_valid, tap_read;
  genvar i, j;
  generate
    for (i = 0; i < FH; i = i + 1) begin : rows
      for (j = 0; j < COLUMNS; j = j + 1) begin : columns
        localparam AT = i * COLUMNS + j;
        // The link behind this slice leads to the next older one of its lane.
        localparam SAME_ROW = j >= LANES;
        localparam LAST = COLUMNS - 1 - (COLUMNS - 1 - j) % LANES;
        localparam NEXT = SAME_ROW ? AT - LANES : (i - 1) * COLUMNS + LAST;
        localparam REST = (LANE_COLUMNS - (LAST - j) / LANES) * GROUPS;
        if (i == FH - 1 && j + LANES >= COLUMNS) begin : newest
          assign source[AT] = in[(j%LANES)*WIDTH+:WIDTH];
          assign source_valid[AT] = in_valid[j%LANES];
          assign in_read[j%LANES] = source_read[AT];
        end
        slice_task #(
            .IH(IH), .LANE_COLUMNS(LANE_COLUMNS), .GROUPS(GROUPS), .FIRST_ROW(i),
            .FIRST_COLUMN(j / LANES), .STRIDE(STRIDE)
        ) slice (
            clk, reset, source_valid[AT], link_ready[AT], tap_ready[AT], source_read[AT],
            link_write[AT], tap_write[AT]
        );
        fifo #(.DEPTH(2), .WIDTH(WIDTH)) tap (
            clk, reset, tap_write[AT], source[AT], tap_read[AT], taps[AT*WIDTH+:WIDTH],
            tap_valid[AT], tap_ready[AT]
        );
        if (SAME_ROW || i > 0) begin : behind
          fifo #(.DEPTH(SAME_ROW ? GROUPS : REST), .WIDTH(WIDTH), .STYLE(STYLE)) link (
              clk, reset, link_write[AT], source[AT], source_read[NEXT], source[NEXT],
              source_valid[NEXT], link_ready[AT]
          );
        end else assign link_ready[AT] = 1'b1;
      end
    end
  endgenerate
  wire joined_write, joined_ready;
  wire [TAPS*WIDTH-1:0] joined;
  window_pad #(
      .FH(FH), .COLUMNS(COLUMNS), .WIDTH(WIDTH), .OH(IH / STRIDE),
      .COLUMN_GROUPS(IW / STRIDE / OW_PAR), .GROUPS(GROUPS), .STEP(OW_PAR * STRIDE), .IW(IW)
  ) pad (
      clk, reset, tap_valid, taps, joined_ready, tap_read, joined_write, joined
  );
  fifo #(.DEPTH(2), .WIDTH(TAPS * WIDTH)) out (
      clk, reset, joined_write, joined, window_read, window, window_valid, joined_ready
  );
endmodule
