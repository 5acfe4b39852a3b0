// Channel regrouping of one lane: tokens of IN_PAR codes to tokens of OUT_PAR codes, CHANNELS codes
// a pixel, through a buffer of both widths.
module width_adapter #(
    parameter CHANNELS = 16,
    parameter IN_PAR = 4,
    parameter OUT_PAR = 1,
    parameter BITS = 8,
    parameter PIXELS = 1024
) (
    input clk,
    input reset,
    input in_valid,
    input [IN_PAR*BITS-1:0] in,
    input out_ready,
    output in_read,
    output out_write,
    output [OUT_PAR*BITS-1:0] out
);
  localparam HELD = $clog2(IN_PAR + OUT_PAR + 1);
  reg [(IN_PAR+OUT_PAR)*BITS-1:0] buffer;
  reg [HELD-1:0] held;
  reg [$clog2(CHANNELS):0] given;
  reg [$clog2(PIXELS)-1:0] pixel;
  wire needs = held < OUT_PAR && given + held < CHANNELS;
  wire advance = (in_valid | ~needs) & (out_ready | ~writes);
  wire [HELD-1:0] filled = held + (needs ? IN_PAR : 0);
  wire writes = filled >= OUT_PAR || given + filled >= CHANNELS;
  assign in_read = advance & needs;
  assign out_write = advance & writes;
  wire [(IN_PAR+OUT_PAR)*BITS-1:0] placed = buffer | ({{OUT_PAR*BITS{1'b0}}, in} << (held * BITS));
  wire [(IN_PAR+OUT_PAR)*BITS-1:0] next = needs ? placed : buffer;
  assign out = next[OUT_PAR*BITS-1:0];
  wire last = given + OUT_PAR >= CHANNELS;
  always @(posedge clk)
    if (reset) begin
      buffer <= 0;
      held <= 0;
      given <= 0;
      pixel <= 0;
    end else if (advance) begin
      buffer <= writes ? next >> (OUT_PAR * BITS) : next;
      held <= writes ? (last ? 0 : filled - OUT_PAR) : filled;
      if (writes) given <= last ? 0 : given + OUT_PAR;
      if (writes & last) pixel <= pixel + 1;
    end
endmodule
