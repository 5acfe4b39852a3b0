// What a convolution adds to join window rows: codes outside the picture become the padding code.
// The position counters are the convolution's own; here they are inputs.
module window_join #(
    parameter FH = 3,
    parameter COLUMNS = 4,
    parameter BITS = 8,
    parameter IH = 32,
    parameter IW = 32,
    parameter PAD = 1,
    parameter STEP = 2,
    parameter POSITION_BITS = 6
) (
    input [POSITION_BITS-1:0] oh,
    input [POSITION_BITS-1:0] og,
    input [FH*COLUMNS*BITS-1:0] rows,
    output reg [FH*COLUMNS*BITS-1:0] window
);
  integer i, j;
  reg row_inside, inside;
  always @(*)
    for (i = 0; i < FH; i = i + 1) begin
      row_inside = oh + i >= PAD && oh + i < IH + PAD;
      for (j = 0; j < COLUMNS; j = j + 1) begin
        inside = row_inside && og * STEP + j >= PAD && og * STEP + j < IW + PAD;
        window[(i*COLUMNS+j)*BITS+:BITS] = inside ? rows[(i*COLUMNS+j)*BITS+:BITS] : {BITS{1'b0}};
      end
    end
endmodule
