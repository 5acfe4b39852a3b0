// Beats of 16 bytes to tokens of TOKEN bytes through a byte buffer written at a varying position.
module input_dma #(
    parameter TOKEN = 3,
    parameter LANES = 2
) (
    input clk,
    input reset,
    input beat_valid,
    input [127:0] beat,
    input [LANES-1:0] out_ready,
    output beat_read,
    output [LANES-1:0] out_write,
    output [TOKEN*8-1:0] token
);
  reg [(16+TOKEN)*8-1:0] buffer;
  reg [4:0] fill;
  reg [LANES-1:0] lane;
  reg [9:0] pixel;
  wire needs = fill < TOKEN;
  wire advance = (beat_valid | ~needs) & |(out_ready & lane);
  assign beat_read = advance & needs;
  assign out_write = {LANES{advance}} & lane;
  wire [(16+TOKEN)*8-1:0] placed = buffer | ({{TOKEN*8{1'b0}}, beat} << (fill * 8));
  wire [(16+TOKEN)*8-1:0] next = needs ? placed : buffer;
  assign token = next[TOKEN*8-1:0];
  always @(posedge clk)
    if (reset) begin
      buffer <= 0;
      fill <= 0;
      lane <= 1;
      pixel <= 0;
    end else if (advance) begin
      buffer <= next >> (TOKEN * 8);
      fill <= fill + (needs ? 16 : 0) - TOKEN;
      lane <= {lane[LANES-2:0], lane[LANES-1]};
      pixel <= pixel + 1;
    end
endmodule
