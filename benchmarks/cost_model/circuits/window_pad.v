// The padding task: joins FH x COLUMNS tap streams into a window, PAD_VALUE outside the picture.
module window_pad #(
    parameter FH = 3,
    parameter COLUMNS = 4,
    parameter WIDTH = 8,
    parameter OH = 32,
    parameter COLUMN_GROUPS = 16,
    parameter GROUPS = 16,
    parameter STEP = 2,
    parameter IW = 32,
    parameter PAD_VALUE = 0
) (
    input clk,
    input reset,
    input [FH*COLUMNS-1:0] valid,
    input [FH*COLUMNS*WIDTH-1:0] taps,
    input window_ready,
    output [FH*COLUMNS-1:0] read,
    output reg window_write,
    output reg [FH*COLUMNS*WIDTH-1:0] window
);
  reg [$clog2(GROUPS):0] g;
  reg [$clog2(COLUMN_GROUPS):0] og;
  reg [$clog2(OH):0] oh;
  reg [FH*COLUMNS-1:0] inside;
  integer i, j;
  always @*
    for (i = 0; i < FH; i = i + 1)
      for (j = 0; j < COLUMNS; j = j + 1)
        inside[i*COLUMNS+j] = oh + i >= 1 && oh + i <= OH && og * STEP + j >= 1 && og * STEP + j <= IW;
  wire advance = (&(valid | ~inside)) & (window_ready | ~window_write);
  assign read = {FH * COLUMNS{advance}} & inside;
  wire last_g = g == GROUPS - 1;
  wire last_og = og == COLUMN_GROUPS - 1;
  always @(posedge clk)
    if (reset) begin
      g <= 0;
      og <= 0;
      oh <= 0;
      window_write <= 0;
    end else if (advance) begin
      window_write <= 1;
      g <= last_g ? 0 : g + 1;
      if (last_g) og <= last_og ? 0 : og + 1;
      if (last_g & last_og) oh <= oh == OH - 1 ? 0 : oh + 1;
    end else if (window_ready) window_write <= 0;
  genvar t;
  generate
    for (t = 0; t < FH * COLUMNS; t = t + 1) begin : join
      always @(posedge clk)
        if (advance) window[t*WIDTH+:WIDTH] <= inside[t] ? taps[t*WIDTH+:WIDTH] : PAD_VALUE;
    end
  endgenerate
endmodule
