# The commands of Vitis HLS that the generated script uses: tclsh vitis_hls.tcl SCRIPT FACTS
# Options as in the Vitis HLS user guide (UG1399).

source [file join [file dirname [info script]] recorder.tcl]

namespace eval hls {
  variable state [dict create project "" solution "" top "" sources {} benches {} part "" period ""]
  variable synthesised 0
}

proc hls::get {key} { variable state; return [dict get $state $key] }
proc hls::put {key value} { variable state; dict set state $key $value }
proc hls::ready {command} {
  foreach key {project solution top sources part period} {
    if {[llength [get $key]] == 0} { error "$command: no $key is set" }
  }
}

proc open_project {args} {
  lassign [recorder::arguments open_project $args {-reset} {} 1 1] given rest
  # A project that is opened again keeps what was synthesised.
  set marker [lindex $rest 0]/solution/syn
  if {[dict exists $given -reset]} { file delete -force [lindex $rest 0] }
  file mkdir [lindex $rest 0]
  set hls::synthesised [file exists $marker]
  hls::put project [lindex $rest 0]
}
proc set_top {args} {
  hls::put top [lindex [recorder::arguments set_top $args {} {} 1 1] 1]
}
proc add_files {args} {
  lassign [recorder::arguments add_files $args {-tb} {-cflags -csimflags} 1 1] given rest
  recorder::existing_file add_files [lindex $rest 0]
  set key [expr {[dict exists $given -tb] ? "benches" : "sources"}]
  hls::put $key [concat [hls::get $key] $rest]
  if {[dict exists $given -cflags]} { recorder::fact cflags $key [dict get $given -cflags] }
}
proc open_solution {args} {
  lassign [recorder::arguments open_solution $args {-reset} {-flow_target} 1 1] given rest
  if {[hls::get project] eq ""} { error "open_solution: no project is open" }
  if {[dict get $given -flow_target] ni {vivado vitis}} { error "open_solution: bad -flow_target" }
  hls::put solution $rest
}
proc set_part {args} {
  hls::put part [lindex [recorder::arguments set_part $args {} {} 1 1] 1]
  recorder::fact part [hls::get part]
}
proc create_clock {args} {
  lassign [recorder::arguments create_clock $args {} {-period -name} 0 0] given
  recorder::require create_clock $given -period
  set period [dict get $given -period]
  if {![string is double -strict $period] || $period <= 0} { error "create_clock: period '$period'" }
  hls::put period $period
  recorder::fact period $period
}
proc config_export {args} {
  set options {-format -vendor -library -ipname -version -description -display_name -output -rtl}
  lassign [recorder::arguments config_export $args {} $options 0 0] given
  if {[dict get $given -format] ni {ip_catalog xo syn_dcp sysgen}} { error "config_export: -format" }
  recorder::fact vlnv [dict get $given -vendor]:[dict get $given -library]:[dict get $given -ipname]:[dict get $given -version]
}
proc csim_design {args} {
  recorder::arguments csim_design $args {-clean -O -setup} {-argv -ldflags -mflags} 0 0
  hls::ready csim_design
  if {[llength [hls::get benches]] == 0} { error "csim_design: there is no test bench" }
  recorder::fact step csim
}
proc csynth_design {args} {
  recorder::arguments csynth_design $args {} {} 0 0
  hls::ready csynth_design
  file mkdir [hls::get project]/[hls::get solution]/syn
  set hls::synthesised 1
  recorder::fact step hls
}
proc cosim_design {args} {
  lassign [recorder::arguments cosim_design $args {-O -setup} {-rtl -argv -trace_level -tool} 0 0] given
  hls::ready cosim_design
  if {!$hls::synthesised} { error "cosim_design: the design is not synthesised" }
  recorder::fact step cosim
}
proc export_design {args} {
  recorder::arguments export_design $args {} {-format -flow -rtl -output} 0 0
  hls::ready export_design
  if {!$hls::synthesised} { error "export_design: the design is not synthesised" }
  file mkdir [hls::get project]/[hls::get solution]/impl/ip
  recorder::fact step ip
}
proc close_project {args} {
  recorder::arguments close_project $args {} {} 0 0
  hls::put project ""
}

rename exit tcl_exit
proc exit {{status 0}} {
  if {[hls::get project] ne ""} { error "exit: the project is still open" }
  recorder::write_facts [lindex $::argv 1]
  tcl_exit $status
}

lassign $argv recorded_script
source $recorded_script
exit
