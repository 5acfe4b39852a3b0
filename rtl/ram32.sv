// Distributed RAM of 32 words with one address, read without a clock edge. As a primitive it holds
// two bits of every word in a LUT; synthesisers infer one.
module ram32 #(
    parameter integer WIDTH = 16
) (
    input  logic             clk,
    input  logic             write,
    input  logic [      4:0] address,
    input  logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
`ifdef SYNTHESIS
  localparam integer ROWS = (WIDTH + 15) / 16;
  wire [ROWS*16-1:0] d = (ROWS * 16)'(in);
  wire [ROWS*16-1:0] q;
  assign out = q[WIDTH-1:0];
  genvar r;
  generate
    for (r = 0; r < ROWS; r = r + 1) begin : g_row
      if (WIDTH - r * 16 > 8) begin : g_wide
        RAM32M16 ram (
            .WCLK(clk), .WE(write),
            .ADDRA(address), .ADDRB(address), .ADDRC(address), .ADDRD(address),
            .ADDRE(address), .ADDRF(address), .ADDRG(address), .ADDRH(address),
            .DIA(d[r*16+:2]), .DIB(d[r*16+2+:2]), .DIC(d[r*16+4+:2]), .DID(d[r*16+6+:2]),
            .DIE(d[r*16+8+:2]), .DIF(d[r*16+10+:2]), .DIG(d[r*16+12+:2]), .DIH(d[r*16+14+:2]),
            .DOA(q[r*16+:2]), .DOB(q[r*16+2+:2]), .DOC(q[r*16+4+:2]), .DOD(q[r*16+6+:2]),
            .DOE(q[r*16+8+:2]), .DOF(q[r*16+10+:2]), .DOG(q[r*16+12+:2]), .DOH(q[r*16+14+:2]));
      end else begin : g_narrow
        RAM32M ram (
            .WCLK(clk), .WE(write),
            .ADDRA(address), .ADDRB(address), .ADDRC(address), .ADDRD(address),
            .DIA(d[r*16+:2]), .DIB(d[r*16+2+:2]), .DIC(d[r*16+4+:2]), .DID(d[r*16+6+:2]),
            .DOA(q[r*16+:2]), .DOB(q[r*16+2+:2]), .DOC(q[r*16+4+:2]), .DOD(q[r*16+6+:2]));
        assign q[r*16+8+:8] = '0;
      end
    end
  endgenerate
`else
  logic [WIDTH-1:0] words[32];
  always_ff @(posedge clk) if (write) words[address] <= in;
  assign out = words[address];
`endif
endmodule
