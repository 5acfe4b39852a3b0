// A task as HLS builds it from a loop with `pipeline II=interval style=stp`: iteration k starts
// `interval` cycles after iteration k-1 and reads; its writes leave `latency` cycles later. While
// any read of this cycle finds its FIFO empty, or any write its FIFO full, every stage holds. After
// the last iteration the pipeline drains, `restart` idle cycles pass and the next frame starts.
//
// Stream s is read (written) in the iterations phase + i * period of each frame, 0 <= i < tokens.
module stalling_pipeline #(
    parameter int STREAMS = 16,
    parameter int MAX_LATENCY = 8
) (
    input  logic               clk,
    input  logic               reset,
    input  logic               enable,
    input  logic        [15:0] iterations,
    input  logic        [15:0] interval,
    input  logic        [15:0] latency,
    input  logic        [15:0] restart,
    input  logic        [15:0] frames,
    input  logic [STREAMS-1:0] reads_stream,
    input  logic [STREAMS-1:0] writes_stream,
    input  logic        [15:0] tokens       [STREAMS],
    input  logic        [15:0] read_phase   [STREAMS],
    input  logic        [15:0] read_period  [STREAMS],
    input  logic        [15:0] write_phase  [STREAMS],
    input  logic        [15:0] write_period [STREAMS],
    input  logic [STREAMS-1:0] empty,
    input  logic [STREAMS-1:0] full,
    output logic [STREAMS-1:0] read,
    output logic [STREAMS-1:0] write,
    output logic [STREAMS-1:0] waits_for_token,
    output logic [STREAMS-1:0] waits_for_slot,
    output logic               stalled,
    output logic               starts,     // an iteration starts in this cycle
    output logic               done,
    output logic        [15:0] frame
);
  logic [15:0] iteration;
  logic [15:0] phase;
  logic [15:0] idle;  // cycles left until the next frame may start
  logic [STREAMS-1:0] stage[MAX_LATENCY];  // writes on their way
  logic [STREAMS-1:0] reads_now, writes_started, writes_now;
  logic initiate;
  // The iteration of each stream's next access in this frame, and how many are left.
  logic [15:0] next_read[STREAMS], next_write[STREAMS];
  logic [15:0] reads_left[STREAMS], writes_left[STREAMS];

  assign done = !enable || frame == frames;
  assign initiate = !done && idle == 0 && phase == 0;

  always_comb begin
    reads_now = '0;
    writes_started = '0;
    if (initiate) begin
      for (int s = 0; s < STREAMS; s++) begin
        reads_now[s] = reads_stream[s] && iteration == next_read[s] && reads_left[s] != 0;
        writes_started[s] = writes_stream[s] && iteration == next_write[s] && writes_left[s] != 0;
      end
    end
    writes_now = writes_started;
    if (latency != 0) writes_now = stage[latency-1];
  end

  assign waits_for_token = reads_now & empty;
  assign waits_for_slot = writes_now & full;
  assign stalled = |waits_for_token || |waits_for_slot;
  assign read = stalled ? '0 : reads_now;
  assign write = stalled ? '0 : writes_now;
  assign starts = initiate && !stalled;

  always_ff @(posedge clk) begin
    for (int s = 0; s < STREAMS; s++) begin
      if (reset || (starts && iteration == iterations - 1)) begin
        next_read[s] <= read_phase[s];
        next_write[s] <= write_phase[s];
        reads_left[s] <= tokens[s];
        writes_left[s] <= tokens[s];
      end else if (starts) begin
        if (reads_now[s]) begin
          next_read[s] <= next_read[s] + read_period[s];
          reads_left[s] <= reads_left[s] - 1;
        end
        if (writes_started[s]) begin
          next_write[s] <= next_write[s] + write_period[s];
          writes_left[s] <= writes_left[s] - 1;
        end
      end
    end
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      iteration <= 0;
      phase <= 0;
      idle <= 0;
      frame <= 0;
      for (int i = 0; i < MAX_LATENCY; i++) stage[i] <= '0;
    end else if (!stalled && !done) begin
      stage[0] <= writes_started;
      for (int i = 1; i < MAX_LATENCY; i++) stage[i] <= stage[i-1];
      if (idle != 0) begin
        idle <= idle - 1;
        if (idle == 1) frame <= frame + 1;
      end else if (initiate && iteration == iterations - 1) begin
        iteration <= 0;
        phase <= 0;
        if (latency + restart > interval - 1) idle <= latency + restart;
        else idle <= interval - 1;
        if (latency + restart == 0 && interval == 1) frame <= frame + 1;
      end else if (phase == interval - 1) begin
        phase <= 0;
        iteration <= iteration + 1;
      end else begin
        phase <= phase + 1;
      end
    end
  end
endmodule
