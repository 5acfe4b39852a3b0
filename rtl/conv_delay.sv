// `in` CYCLES clocks later. With CLEARED the registers start from 0 at a reset (else: a shift
// register without reset, which fits a LUT).
module conv_delay #(
    parameter int WIDTH = 1,
    parameter int CYCLES = 1,
    parameter bit CLEARED = 1'b0
) (
    input wire clk,
    input wire rst,
    input wire [WIDTH-1:0] in,
    output wire [WIDTH-1:0] out
);
  genvar b;
  generate
    if (CYCLES == 1) begin : g_register
      logic [WIDTH-1:0] late;
      always_ff @(posedge clk) late <= CLEARED && rst ? '0 : in;
      assign out = late;
    end else begin : g_line
      for (b = 0; b < WIDTH; b = b + 1) begin : g_bit
        logic [CYCLES-1:0] late;
        always_ff @(posedge clk) late <= CLEARED && rst ? '0 : {late[CYCLES-2:0], in[b]};
        assign out[b] = late[CYCLES-1];
      end
    end
  endgenerate
  wire unused = &{1'b0, rst};
endmodule
