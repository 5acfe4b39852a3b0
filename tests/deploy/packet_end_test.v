// Random frames through packet_end with random stalls on both sides. Every beat is compared, and a
// packet must hold as many frames as the count said when its first beat passed.
`timescale 1ns / 1ps

module packet_end_test;
  reg clk = 0;
  reg resetn = 0;
  always #1 clk = !clk;

  integer seed, packets, errors, sent, received, frames, promised, cycles;
  reg [31:0] frames_per_packet;
  reg [127:0] in_data;
  reg in_last, in_valid, out_ready;
  wire in_ready, out_valid, out_last;
  wire [127:0] out_data;
  wire [15:0] out_keep;

  packet_end dut (
      .aclk(clk), .aresetn(resetn), .frames_per_packet(frames_per_packet),
      .s_axis_tdata(in_data), .s_axis_tkeep(16'hFFFF), .s_axis_tlast(in_last),
      .s_axis_tvalid(in_valid), .s_axis_tready(in_ready),
      .m_axis_tdata(out_data), .m_axis_tkeep(out_keep), .m_axis_tlast(out_last),
      .m_axis_tvalid(out_valid), .m_axis_tready(out_ready));

  initial begin
    if (!$value$plusargs("seed=%d", seed)) seed = 1;
    errors = 0; sent = 0; received = 0; packets = 0; cycles = 0; frames = 0; promised = 0;
    frames_per_packet = 3;
    in_valid = 0; in_last = 0; in_data = 0; out_ready = 0;
    repeat (3) @(posedge clk);
    resetn <= 1;
  end

  always @(posedge clk) if (resetn) begin
    cycles = cycles + 1;
    if (out_valid && out_ready) begin
      if (promised == 0) promised = frames_per_packet;
      if (out_data !== received || out_keep !== 16'hFFFF) errors = errors + 1;
      received = received + 1;
      if (in_last) frames = frames + 1;
      if (out_last !== (in_last && frames == promised)) errors = errors + 1;
      if (out_last === 1'b1) begin
        packets = packets + 1;
        frames = 0;
        promised = 0;
      end
    end
    // The count may change at any time; only a packet's first beat looks at it.
    if ({$random(seed)} % 4 == 0) frames_per_packet <= 1 + {$random(seed)} % 5;
    if (!in_valid || in_ready) begin
      if (in_valid) sent = sent + 1;
      in_valid <= {$random(seed)} % 3 != 0;
      in_data <= sent;
      in_last <= {$random(seed)} % 4 == 0;
    end
    out_ready <= {$random(seed)} % 3 != 0;
    if (packets == 200 || cycles == 100000) begin
      $display("packets %0d errors %0d", packets, errors);
      $finish;
    end
  end
endmodule
