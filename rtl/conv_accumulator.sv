// Sums over the input channel groups, one for each output channel group:
//
//   acc = (first ? initial : acc of the group before) + sum * 2^SHIFT
//
// `first`, `initial` and `group` come one clock before `sum` and `valid`, which go with the same
// iteration; `acc` follows one clock after `sum`. A group returns after OUT_GROUPS valid iterations.
module conv_accumulator #(
    parameter int SUM_BITS = 18,
    parameter int ACC_BITS = 20,
    parameter int SHIFT = 0,
    parameter int IN_GROUPS = 4,
    parameter int OUT_GROUPS = 4,
    localparam int GROUP_BITS = OUT_GROUPS > 1 ? $clog2(OUT_GROUPS) : 1
) (
    input wire clk,
    input wire valid,
    input wire first,
    input wire [GROUP_BITS-1:0] group,
    input wire [ACC_BITS-1:0] initial_value,
    input wire signed [SUM_BITS-1:0] sum,
    output logic [ACC_BITS-1:0] acc
);
  logic [ACC_BITS-1:0] base;
  wire [ACC_BITS-1:0] total = base + (ACC_BITS'(sum) << SHIFT);
  generate
    if (IN_GROUPS == 1) begin : g_once
      always_ff @(posedge clk) begin
        base <= initial_value;
        acc <= total;
      end
      wire unused = &{1'b0, valid, first, group};
    end else if (OUT_GROUPS == 1) begin : g_register
      // `first` may be high and `initial_value` wrong where no iteration is: nothing is kept then.
      always_ff @(posedge clk) begin
        base <= first ? initial_value : valid ? total : acc;
        if (valid) acc <= total;
      end
      wire unused = &{1'b0, group};
    end else begin : g_memory
      (* ram_style = "distributed" *)
      logic [ACC_BITS-1:0] sums[0:OUT_GROUPS-1];
      logic [GROUP_BITS-1:0] write_group;
      always_ff @(posedge clk) begin
        write_group <= group;
        base <= first ? initial_value : sums[group];
        acc <= total;
        if (valid) sums[write_group] <= total;
      end
    end
  endgenerate
endmodule
