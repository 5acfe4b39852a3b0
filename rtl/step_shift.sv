// `in` STEPS steps later: a shift register.
module step_shift #(
    parameter integer WIDTH = 8,
    parameter integer STEPS = 1
) (
    input  logic             clk,
    input  logic             step,
    input  logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
  genvar b;
  generate
    if (STEPS == 0) begin : g_wire
      assign out = in;
      wire unused = &{1'b0, clk, step};
    end else if (STEPS == 1) begin : g_register
      always_ff @(posedge clk) if (step) out <= in;
    end else begin : g_line
      for (b = 0; b < WIDTH; b = b + 1) begin : g_bit
        logic [STEPS-1:0] late;
        always_ff @(posedge clk) if (step) late <= {late[STEPS-2:0], in[b]};
        assign out[b] = late[STEPS-1];
      end
    end
  endgenerate
endmodule
