// Ends an AXI4-Stream packet only after `frames_per_packet` frames.
//
// The accelerator marks the last beat of every frame with TLAST; a DMA transfer ends at TLAST. So
// that one transfer can take a batch of frames, all but the last mark of a batch are removed. The
// count is taken when a packet begins and must not be 0.

`timescale 1ns / 1ps

module packet_end #(
    parameter BYTES = 16
) (
    (* X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF s_axis:m_axis, ASSOCIATED_RESET aresetn" *)
    input wire aclk,
    input wire aresetn,
    input wire [31:0] frames_per_packet,

    input wire [8*BYTES-1:0] s_axis_tdata,
    input wire [BYTES-1:0] s_axis_tkeep,
    input wire s_axis_tlast,
    input wire s_axis_tvalid,
    output wire s_axis_tready,

    output wire [8*BYTES-1:0] m_axis_tdata,
    output wire [BYTES-1:0] m_axis_tkeep,
    output wire m_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready
);

  // Frames of this packet that are still to end after the present one.
  reg [31:0] left;
  reg inside;

  wire [31:0] left_now = inside ? left : frames_per_packet - 32'd1;
  wire transfer = s_axis_tvalid && m_axis_tready;

  assign s_axis_tready = m_axis_tready;
  assign m_axis_tdata = s_axis_tdata;
  assign m_axis_tkeep = s_axis_tkeep;
  assign m_axis_tvalid = s_axis_tvalid;
  assign m_axis_tlast = s_axis_tlast && left_now == 32'd0;

  always @(posedge aclk) begin
    if (!aresetn) begin
      inside <= 1'b0;
      left <= 32'd0;
    end else if (transfer) begin
      inside <= !m_axis_tlast;
      left <= left_now - (s_axis_tlast ? 32'd1 : 32'd0);
    end
  end

endmodule
