// A whole window buffer with one task a window row, the FIFOs between and behind the tasks, and the
// selection that puts the padding in where the reader joins the rows (its position counters are the
// reader's own; here they are inputs).

// One row: takes a lane group, passes it on, keeps the last few, writes the window row it completes.
module row_task #(
    parameter IH = 32,
    parameter LANE_GROUPS = 16,
    parameter GROUPS = 16,
    parameter LANES = 2,
    parameter COLUMNS = 4,
    parameter WIDTH = 8,
    parameter STEP = 1,
    parameter LOOKAHEAD = 1,
    parameter PAD = 1,
    parameter FIRST_ROW = 1,
    parameter STRIDE = 1
) (
    input clk,
    input reset,
    input in_valid,
    input [LANES*WIDTH-1:0] in,
    input link_ready,
    input row_ready,
    output in_read,
    output link_write,
    output row_write,
    output [COLUMNS*WIDTH-1:0] row
);
  reg [$clog2(GROUPS):0] g;
  // Lane group and picture row that come in, and those that leave, LOOKAHEAD groups later.
  reg [$clog2(LANE_GROUPS):0] in_k, k;
  reg [$clog2(IH):0] in_h, h;
  reg [$clog2(STEP + 1):0] phase;
  wire reads = in_h != IH;
  wire needs_row = h + 1 > FIRST_ROW && (STRIDE == 1 || h[0] == FIRST_ROW[0]);
  wire needed = needs_row & ~k[$clog2(LANE_GROUPS)] & (STEP == 1 || phase == 0);
  wire advance = (in_valid & link_ready | ~reads) & (row_ready | ~needed);
  assign in_read = advance & reads;
  assign link_write = advance & reads;
  assign row_write = advance & needed;
  wire last_g = g == GROUPS - 1;
  wire last_in_k = in_k == LANE_GROUPS - 1;
  wire last_k = k == LANE_GROUPS - 1;
  wire last = ~reads & in_k == LOOKAHEAD - 1 & last_g;
  always @(posedge clk)
    if (reset | advance & last) begin
      g <= 0;
      in_k <= 0;
      in_h <= 0;
      k <= -LOOKAHEAD;
      h <= 0;
      phase <= 0;
    end else if (advance) begin
      g <= last_g ? 0 : g + 1;
      if (last_g) begin
        in_k <= last_in_k ? 0 : in_k + 1;
        in_h <= last_in_k ? in_h + 1 : in_h;
        k <= last_k ? 0 : k + 1;
        h <= last_k ? h + 1 : h;
        if (STEP > 1) phase <= last_k | phase == STEP - 1 | k[$clog2(LANE_GROUPS)] ? 0 : phase + 1;
      end
    end
  genvar j;
  generate
    for (j = COLUMNS - 1; j >= 0; j = j - 1) begin : column
      localparam LANE = (j - PAD + 8 * LANES) % LANES;
      localparam AGE = LOOKAHEAD - ((j - PAD + 8 * LANES) / LANES - 8);
      if (AGE == 0) assign row[j*WIDTH+:WIDTH] = in[LANE*WIDTH+:WIDTH];
      else if (j + LANES < COLUMNS)
        delay #(.WIDTH(WIDTH), .CYCLES(GROUPS)) older (
            clk, advance, row[(j+LANES)*WIDTH+:WIDTH], row[j*WIDTH+:WIDTH]
        );
      else
        delay #(.WIDTH(WIDTH), .CYCLES(AGE * GROUPS)) oldest (
            clk, advance, in[LANE*WIDTH+:WIDTH], row[j*WIDTH+:WIDTH]
        );
    end
  endgenerate
endmodule

module window_rows #(
    parameter IH = 32,
    parameter IW = 32,
    parameter GROUPS = 16,
    parameter ICH_PAR = 1,
    parameter FH = 3,
    parameter FW = 3,
    parameter OW_PAR = 2,
    parameter LANES = 2,
    parameter STRIDE = 1,
    parameter PAD = 1,
    parameter BITS = 8,
    parameter STYLE = "distributed",
    parameter COLUMNS = FW + (OW_PAR - 1) * STRIDE,
    parameter WIDTH = ICH_PAR * BITS
) (
    input clk,
    input reset,
    input in_valid,
    input [LANES*WIDTH-1:0] in,
    output in_read,
    input [5:0] oh,
    input [5:0] og,
    input window_read,
    output window_valid,
    output [FH*COLUMNS*WIDTH-1:0] window
);
  localparam LANE_GROUPS = (IW + LANES - 1) / LANES;
  localparam STEP = OW_PAR * STRIDE / LANES;
  wire [LANES*WIDTH-1:0] source[0:FH-1];
  wire [FH-1:0] source_valid, source_read, link_write, link_ready, row_write, row_ready, row_valid;
  wire [COLUMNS*WIDTH-1:0] row[0:FH-1];
  wire [FH*COLUMNS*WIDTH-1:0] rows;
  assign source[FH-1] = in;
  assign source_valid[FH-1] = in_valid;
  assign in_read = source_read[FH-1];
  assign link_ready[0] = 1'b1;
  assign window_valid = &row_valid;
  genvar i;
  generate
    for (i = 0; i < FH; i = i + 1) begin : stage
      row_task #(
          .IH(IH), .LANE_GROUPS(LANE_GROUPS), .GROUPS(GROUPS), .LANES(LANES), .COLUMNS(COLUMNS),
          .WIDTH(WIDTH), .STEP(STEP), .LOOKAHEAD((COLUMNS - 1 - PAD) / LANES), .PAD(PAD),
          .FIRST_ROW(i), .STRIDE(STRIDE)
      ) one (
          clk, reset, source_valid[i], source[i], link_ready[i], row_ready[i], source_read[i],
          link_write[i], row_write[i], row[i]
      );
      fifo #(.DEPTH(2), .WIDTH(COLUMNS * WIDTH)) out (
          clk, reset, row_write[i], row[i], window_read, rows[i*COLUMNS*WIDTH+:COLUMNS*WIDTH],
          row_valid[i], row_ready[i]
      );
      if (i > 0)
        fifo #(.DEPTH(LANE_GROUPS * GROUPS), .WIDTH(LANES * WIDTH), .STYLE(STYLE)) link (
            clk, reset, link_write[i], source[i], source_read[i-1], source[i-1],
            source_valid[i-1], link_ready[i]
        );
    end
  endgenerate
  window_join #(
      .FH(FH), .COLUMNS(COLUMNS), .BITS(WIDTH), .IH(IH), .IW(IW), .PAD(PAD),
      .STEP(OW_PAR * STRIDE)
  ) joiner (oh, og, rows, window);
endmodule
