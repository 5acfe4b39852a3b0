// A FIFO as the generated hardware has them: two words in registers, up to 1024 bits in shift
// registers, more in a RAM of the given style.
module fifo #(
    parameter DEPTH = 2,
    parameter WIDTH = 8,
    parameter STYLE = "distributed"
) (
    input clk,
    input reset,
    input write,
    input [WIDTH-1:0] in,
    input read,
    output [WIDTH-1:0] out,
    output valid,
    output ready
);
  generate
    if (DEPTH <= 2) begin : registers
      shift_fifo #(.DEPTH(2), .WIDTH(WIDTH)) words (clk, reset, write, in, read, out, valid, ready);
    end else if (DEPTH * WIDTH <= 1024) begin : shifts
      srl_fifo #(.DEPTH(DEPTH), .WIDTH(WIDTH)) words (clk, reset, write, in, read, out, valid, ready);
    end else begin : memory
      ram_fifo #(.DEPTH(DEPTH), .WIDTH(WIDTH), .STYLE(STYLE)) words (
          clk, reset, write, in, read, out, valid, ready
      );
    end
  endgenerate
endmodule

// A FIFO of addressable shift registers.
module srl_fifo #(
    parameter DEPTH = 16,
    parameter WIDTH = 8,
    parameter COUNT = (DEPTH + 31) / 32,
    parameter POINTER = $clog2(COUNT * 32)
) (
    input clk,
    input reset,
    input write,
    input [WIDTH-1:0] in,
    input read,
    output [WIDTH-1:0] out,
    output reg valid,
    output reg ready
);
  reg [POINTER:0] level;
  wire push = write & ready;
  wire pop = read & valid;
  wire [POINTER:0] next = level + push - pop;
  wire [POINTER-1:0] position = level - 1;
  always @(posedge clk)
    if (reset) begin
      level <= 0;
      valid <= 0;
      ready <= 1;
    end else begin
      level <= next;
      valid <= next != 0;
      ready <= next != DEPTH;
    end
  genvar b, c;
  generate
    for (b = 0; b < WIDTH; b = b + 1) begin : bits
      if (DEPTH <= 16) begin : short
        SRL16E #(.INIT(16'd0)) word (
            .Q(out[b]), .A0(position[0]), .A1(position[1]), .A2(position[2]), .A3(position[3]),
            .CE(push), .CLK(clk), .D(in[b])
        );
      end else begin : long
        wire [COUNT-1:0] at;
        wire [COUNT:0] chain;
        assign chain[0] = in[b];
        for (c = 0; c < COUNT; c = c + 1) begin : parts
          SRLC32E #(.INIT(32'd0)) word (
              .Q(at[c]), .Q31(chain[c+1]), .A(position[4:0]), .CE(push), .CLK(clk), .D(chain[c])
          );
        end
        if (COUNT == 1) assign out[b] = at[0];
        else assign out[b] = at[position[POINTER-1:5]];
      end
    end
  endgenerate
endmodule
