# The IP blocks of the block designs: pins, interfaces, properties, address spaces, as their product
# guides name them (PG021 axi_dma, PG247 smartconnect, PG164 proc_sys_reset, PG144 axi_gpio, PG201
# zynq_ultra_ps_e).
#
# An IP is described by a proc that is given its configuration and returns a dict:
#   pins        name {clock|reset|data in|out}     a reset is active low
#   interfaces  name {axis|axi master|slave width clock-pin}
#   spaces      list of address spaces
#   segments    name -> slave interface that decodes it
# and by its properties: name -> {default pattern}.

namespace eval catalog {
  variable properties [dict create]
}

dict set catalog::properties xilinx.com:ip:zynq_ultra_ps_e {
  PSU__USE__M_AXI_GP0 {1 {^[01]$}} PSU__USE__M_AXI_GP1 {1 {^[01]$}} PSU__USE__M_AXI_GP2 {0 {^[01]$}}
  PSU__USE__S_AXI_GP0 {0 {^[01]$}} PSU__USE__S_AXI_GP2 {0 {^[01]$}} PSU__USE__S_AXI_GP3 {0 {^[01]$}}
  PSU__SAXIGP2__DATA_WIDTH {128 {^(32|64|128)$}} PSU__SAXIGP3__DATA_WIDTH {128 {^(32|64|128)$}}
  PSU__FPGA_PL0_ENABLE {1 {^[01]$}}
  PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ {100 {^[0-9]+([.][0-9]+)?$}}
}
proc catalog::zynq_ultra_ps_e {config} {
  set pins {pl_clk0 {clock out} pl_resetn0 {reset out}}
  set interfaces {}
  set segments {}
  set width [dict get $config PSU__SAXIGP2__DATA_WIDTH]
  foreach {key pin port} {
    PSU__USE__M_AXI_GP0 maxihpm0_fpd_aclk M_AXI_HPM0_FPD
    PSU__USE__M_AXI_GP1 maxihpm1_fpd_aclk M_AXI_HPM1_FPD
    PSU__USE__M_AXI_GP2 maxihpm0_lpd_aclk M_AXI_HPM0_LPD
  } {
    if {[dict get $config $key]} {
      dict set pins $pin {clock in}
      dict set interfaces $port [list axi master 128 $pin]
    }
  }
  foreach {key pin port segment} {
    PSU__USE__S_AXI_GP2 saxihp0_fpd_aclk S_AXI_HP0_FPD SAXIGP2/HP0_DDR_LOW
    PSU__USE__S_AXI_GP3 saxihp1_fpd_aclk S_AXI_HP1_FPD SAXIGP3/HP1_DDR_LOW
  } {
    if {[dict get $config $key]} {
      dict set pins $pin {clock in}
      dict set interfaces $port [list axi slave $width $pin]
      dict set segments $segment $port
    }
  }
  return [dict create pins $pins interfaces $interfaces spaces Data segments $segments]
}

dict set catalog::properties xilinx.com:ip:proc_sys_reset {C_EXT_RST_WIDTH {4 {^[0-9]+$}}}
proc catalog::proc_sys_reset {config} {
  return {
    pins {
      slowest_sync_clk {clock in} ext_reset_in {reset in} peripheral_aresetn {reset out}
      interconnect_aresetn {reset out}
    }
    interfaces {} spaces {} segments {}
  }
}

dict set catalog::properties xilinx.com:ip:axi_dma {
  c_include_sg {1 {^[01]$}} c_sg_include_stscntrl_strm {1 {^[01]$}}
  c_sg_length_width {14 {^([89]|1[0-9]|2[0-6])$}}
  c_include_mm2s {1 {^[01]$}} c_include_s2mm {1 {^[01]$}}
  c_m_axi_mm2s_data_width {32 {^(32|64|128|256|512|1024)$}}
  c_m_axis_mm2s_tdata_width {32 {^(8|16|32|64|128|256|512|1024)$}}
  c_m_axi_s2mm_data_width {32 {^(32|64|128|256|512|1024)$}}
  c_s_axis_s2mm_tdata_width {32 {^(8|16|32|64|128|256|512|1024)$}}
  c_mm2s_burst_size {16 {^(2|4|8|16|32|64|128|256)$}} c_s2mm_burst_size {16 {^(2|4|8|16|32|64|128|256)$}}
  c_include_mm2s_dre {0 {^[01]$}} c_include_s2mm_dre {0 {^[01]$}} c_addr_width {32 {^[0-9]+$}}
}
proc catalog::axi_dma {config} {
  set pins {s_axi_lite_aclk {clock in} axi_resetn {reset in}}
  set interfaces {S_AXI_LITE {axi slave 32 s_axi_lite_aclk}}
  set spaces {}
  if {[dict get $config c_include_sg]} {
    dict set pins m_axi_sg_aclk {clock in}
    dict set interfaces M_AXI_SG {axi master 32 m_axi_sg_aclk}
    lappend spaces Data_SG
  }
  foreach {key channel stream mode memory_width stream_width} {
    c_include_mm2s mm2s M_AXIS_MM2S master c_m_axi_mm2s_data_width c_m_axis_mm2s_tdata_width
    c_include_s2mm s2mm S_AXIS_S2MM slave c_m_axi_s2mm_data_width c_s_axis_s2mm_tdata_width
  } {
    if {![dict get $config $key]} continue
    set wide [dict get $config $memory_width]
    set narrow [dict get $config $stream_width]
    if {$narrow > $wide} { error "axi_dma: a $narrow bit stream does not fit a $wide bit memory port" }
    set clock m_axi_${channel}_aclk
    dict set pins $clock {clock in}
    dict set interfaces M_AXI_[string toupper $channel] [list axi master $wide $clock]
    dict set interfaces $stream [list axis $mode $narrow $clock]
    lappend spaces Data_[string toupper $channel]
  }
  return [dict create pins $pins interfaces $interfaces spaces $spaces segments {S_AXI_LITE/Reg S_AXI_LITE}]
}

dict set catalog::properties xilinx.com:ip:smartconnect {
  NUM_SI {1 {^([1-9]|1[0-6])$}} NUM_MI {1 {^([1-9]|1[0-6])$}} NUM_CLKS {1 {^[1-9]$}}
}
proc catalog::smartconnect {config} {
  set interfaces {}
  foreach {key letter mode} {NUM_SI S slave NUM_MI M master} {
    for {set i 0} {$i < [dict get $config $key]} {incr i} {
      dict set interfaces [format {%s%02d_AXI} $letter $i] [list axi $mode 0 aclk]
    }
  }
  return [dict create pins {aclk {clock in} aresetn {reset in}} interfaces $interfaces spaces {} segments {}]
}

dict set catalog::properties xilinx.com:ip:axi_gpio {
  C_GPIO_WIDTH {32 {^([1-9]|[12][0-9]|3[0-2])$}} C_ALL_OUTPUTS {0 {^[01]$}} C_ALL_INPUTS {0 {^[01]$}}
  C_DOUT_DEFAULT {0x00000000 {^0x[0-9A-Fa-f]{8}$}}
}
proc catalog::axi_gpio {config} {
  set pins {s_axi_aclk {clock in} s_axi_aresetn {reset in}}
  if {[dict get $config C_ALL_OUTPUTS]} { dict set pins gpio_io_o {data out} }
  return [dict create pins $pins interfaces {S_AXI {axi slave 32 s_axi_aclk}} spaces {} \
    segments {S_AXI/Reg S_AXI}]
}

# The accelerator: its streams come from the environment, "name slave name master ...". Vitis HLS
# appends _r to keywords of Verilog and VHDL.
dict set catalog::properties core {}
proc catalog::core {config} {
  set interfaces {}
  foreach {name mode} $::env(RECORDER_STREAMS) {
    if {$name in {in out input output}} { append name _r }
    dict set interfaces $name [list axis $mode 128 ap_clk]
  }
  return [dict create pins {ap_clk {clock in} ap_rst_n {reset in}} interfaces $interfaces spaces {} \
    segments {}]
}

# An RTL module, from the ports of its source.
proc catalog::module {file name} {
  set channel [open $file]
  set text [read $channel]
  close $channel
  if {![regexp "\\mmodule\\s+$name\\M" $text]} { error "create_bd_cell: '$file' has no module '$name'" }
  set pins {}
  set interfaces {}
  foreach {- direction port} [regexp -all -inline {\m(input|output) wire (?:\[[^]]*\] )?(\w+)} $text] {
    set way [string range $direction 0 [expr {$direction eq "input" ? 1 : 2}]]
    if {[regexp {^([sm])_axis_tdata$} $port - side]} {
      dict set interfaces ${side}_axis [list axis [expr {$side eq "s" ? "slave" : "master"}] 128 aclk]
    } elseif {![string match ?_axis_* $port]} {
      set kind [expr {$port eq "aclk" ? "clock" : $port eq "aresetn" ? "reset" : "data"}]
      dict set pins $port [list $kind $way]
    }
  }
  return [dict create pins $pins interfaces $interfaces spaces {} segments {}]
}
