// Control of a computation task: four nested counters and the stall logic of its ports
// (window, weights, OW_PAR output lanes).
module conv_control #(
    parameter OH = 16,
    parameter COLUMN_GROUPS = 8,
    parameter IN_GROUPS = 32,
    parameter OUT_GROUPS = 4,
    parameter OW_PAR = 2,
    parameter STAGES = 14
) (
    input clk,
    input reset,
    input window_valid,
    input weights_valid,
    input [OW_PAR-1:0] out_ready,
    output window_read,
    output weights_read,
    output [OW_PAR-1:0] out_write,
    output advance,
    output first,
    output reg [$clog2(OUT_GROUPS)-1:0] ocg
);
  reg [$clog2(IN_GROUPS)-1:0] icg;
  reg [$clog2(COLUMN_GROUPS)-1:0] og;
  reg [$clog2(OH)-1:0] oh;
  reg [STAGES-1:0] writes;
  reg [STAGES-1:0] busy;
  wire needs_window = ocg == 0;
  wire last_ocg = ocg == OUT_GROUPS - 1;
  wire last_icg = icg == IN_GROUPS - 1;
  wire last_og = og == COLUMN_GROUPS - 1;
  wire inputs = weights_valid & (window_valid | ~needs_window);
  wire outputs = ~writes[STAGES-1] | (&out_ready);
  assign advance = inputs & outputs;
  assign window_read = advance & needs_window;
  assign weights_read = advance;
  assign out_write = {OW_PAR{advance & writes[STAGES-1]}};
  assign first = icg == 0;
  always @(posedge clk)
    if (reset) begin
      ocg <= 0;
      icg <= 0;
      og <= 0;
      oh <= 0;
      writes <= 0;
      busy <= 0;
    end else if (advance) begin
      writes <= {writes[STAGES-2:0], last_icg};
      busy <= {busy[STAGES-2:0], 1'b1};
      ocg <= last_ocg ? 0 : ocg + 1;
      if (last_ocg) icg <= last_icg ? 0 : icg + 1;
      if (last_ocg & last_icg) og <= last_og ? 0 : og + 1;
      if (last_ocg & last_icg & last_og) oh <= oh == OH - 1 ? 0 : oh + 1;
    end
endmodule
