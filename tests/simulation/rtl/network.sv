// Reads graphs from a file and simulates each to its end or to a standstill.
//
// A graph: task count, stream count, frames; per task: iterations, interval, latency, restart; per
// stream: writer, reader, depth, tokens, write phase, write period, read phase, read period.
// A result, one line each: "done" or "dead"; "T task frame begin end" per frame begun; "S stream
// written taken max_count"; and for a standstill "B task waits_for_token waits_for_slot" (bits).
module network;
  localparam int TASKS = 8;
  localparam int STREAMS = 16;
  localparam int FRAMES = 8;
  localparam int MAX_LATENCY = 8;

  logic clk = 0;
  logic reset = 1;
  logic [15:0] frames;
  logic [TASKS-1:0] enable;
  logic [15:0] iterations[TASKS], interval[TASKS], latency[TASKS], restart[TASKS];
  logic [STREAMS-1:0] reads_stream[TASKS], writes_stream[TASKS];
  logic [15:0] depth[STREAMS], tokens[STREAMS];
  logic [15:0] read_phase[STREAMS], read_period[STREAMS];
  logic [15:0] write_phase[STREAMS], write_period[STREAMS];
  logic [STREAMS-1:0] empty, full;
  logic [15:0] max_count[STREAMS], written[STREAMS], taken[STREAMS];
  logic [STREAMS-1:0] task_read[TASKS], task_write[TASKS];
  logic [STREAMS-1:0] waits_for_token[TASKS], waits_for_slot[TASKS];
  logic [TASKS-1:0] stalled, starts, done;
  logic [15:0] frame[TASKS];
  logic [STREAMS-1:0] any_read, any_write;

  always_comb begin
    any_read = '0;
    any_write = '0;
    for (int t = 0; t < TASKS; t++) begin
      any_read |= task_read[t];
      any_write |= task_write[t];
    end
  end

  for (genvar s = 0; s < STREAMS; s++) begin : g_streams
    fifo u_fifo (
        .clk, .reset,
        .depth(depth[s]), .write(any_write[s]), .read(any_read[s]),
        .empty(empty[s]), .full(full[s]),
        .max_count(max_count[s]), .written(written[s]), .taken(taken[s])
    );
  end

  for (genvar t = 0; t < TASKS; t++) begin : g_tasks
    stalling_pipeline #(
        .STREAMS(STREAMS), .MAX_LATENCY(MAX_LATENCY)
    ) u_task (
        .clk, .reset,
        .enable(enable[t]), .iterations(iterations[t]), .interval(interval[t]),
        .latency(latency[t]), .restart(restart[t]), .frames,
        .reads_stream(reads_stream[t]), .writes_stream(writes_stream[t]),
        .tokens, .read_phase, .read_period, .write_phase, .write_period,
        .empty, .full,
        .read(task_read[t]), .write(task_write[t]),
        .waits_for_token(waits_for_token[t]), .waits_for_slot(waits_for_slot[t]),
        .stalled(stalled[t]), .starts(starts[t]), .done(done[t]), .frame(frame[t])
    );
  end

  int frame_begin[TASKS*FRAMES];
  int frame_end[TASKS*FRAMES];
  int file, task_count, stream_count, cycle, found;
  int value[8];
  string path;

  task automatic read_graph();
    for (int t = 0; t < TASKS; t++) begin
      reads_stream[t] = '0;
      writes_stream[t] = '0;
      enable[t] = t < task_count;
      iterations[t] = 1;
      interval[t] = 1;
      latency[t] = 0;
      restart[t] = 0;
      if (t < task_count) begin
        found = $fscanf(file, "%d %d %d %d", value[0], value[1], value[2], value[3]);
        iterations[t] = value[0][15:0];
        interval[t] = value[1][15:0];
        latency[t] = value[2][15:0];
        restart[t] = value[3][15:0];
      end
    end
    for (int s = 0; s < STREAMS; s++) begin
      depth[s] = 1;
      tokens[s] = 0;
      write_phase[s] = 0;
      write_period[s] = 1;
      read_phase[s] = 0;
      read_period[s] = 1;
      if (s < stream_count) begin
        found = $fscanf(file, "%d %d %d %d %d %d %d %d", value[0], value[1], value[2], value[3],
                        value[4], value[5], value[6], value[7]);
        writes_stream[value[0]][s] = 1;
        reads_stream[value[1]][s] = 1;
        depth[s] = value[2][15:0];
        tokens[s] = value[3][15:0];
        write_phase[s] = value[4][15:0];
        write_period[s] = value[5][15:0];
        read_phase[s] = value[6][15:0];
        read_period[s] = value[7][15:0];
      end
    end
  endtask

  // Nothing moves in a cycle in which every unfinished task stalls, so nothing ever will.
  function automatic logic standstill();
    return (stalled | done) == '1 && done != '1;
  endfunction

  task automatic note_events();
    for (int t = 0; t < task_count; t++) begin
      if (!done[t] && !stalled[t] && (starts[t] || task_write[t] != '0)) begin
        int at;
        at = t * FRAMES + int'(frame[t]);
        if (frame_begin[at] < 0) frame_begin[at] = cycle;
        frame_end[at] = cycle;
      end
    end
  endtask

  task automatic report();
    if (done == '1) $display("done");
    else $display("dead");
    for (int t = 0; t < task_count; t++)
      for (int f = 0; f < int'(frames); f++)
        if (frame_begin[t*FRAMES+f] >= 0)
          $display("T %0d %0d %0d %0d", t, f, frame_begin[t*FRAMES+f], frame_end[t*FRAMES+f]);
    for (int s = 0; s < stream_count; s++)
      $display("S %0d %0d %0d %0d", s, written[s], taken[s], max_count[s]);
    if (done != '1)
      for (int t = 0; t < task_count; t++)
        if (!done[t]) $display("B %0d %0d %0d", t, waits_for_token[t], waits_for_slot[t]);
  endtask

  initial begin
    found = $value$plusargs("graphs=%s", path);
    file = $fopen(path, "r");
    while ($fscanf(file, "%d %d %d", task_count, stream_count, value[7]) == 3) begin
      frames = value[7][15:0];
      reset = 1;
      read_graph();
      for (int i = 0; i < TASKS * FRAMES; i++) begin
        frame_begin[i] = -1;
        frame_end[i] = -1;
      end
      #1 clk = 1;
      #1 clk = 0;
      reset = 0;
      cycle = 0;
      #1;
      while (done != '1 && !standstill()) begin
        note_events();
        clk = 1;
        #1 clk = 0;
        #1 cycle = cycle + 1;
      end
      report();
    end
    $finish;
  end
endmodule
