# Packaging an IP (UG1118): the ports are read from the top module, an instance must have its module.

namespace eval ipx {
  variable core {}                ;# options of package_project
  variable names [dict create]    ;# name, version, display_name
  variable clocked {}             ;# bus interfaces with a clock
  variable reset 0
  variable checked 0
}

# The text of all SystemVerilog sources of the project, without comments.
proc ipx::sources {} {
  set text ""
  foreach file $vivado::sources {
    if {[file extension $file] ni {.sv .svh}} { continue }
    set channel [open $file]
    regsub -all -line {//.*$} [read $channel] {} plain
    append text $plain\n
    close $channel
  }
  return $text
}

proc ipx::package_project {args} {
  variable core
  lassign [recorder::arguments ipx::package_project $args {-import_files -force} {-root_dir -vendor -library -taxonomy} 0 0] given
  recorder::require ipx::package_project $given -root_dir -vendor -library
  current_project
  set core $given
  set text [sources]
  foreach {- module} [regexp -all -inline -line {^ +([a-z]\w*) #\(} $text] {
    if {![regexp -line "^module $module\\M" $text]} { error "ipx::package_project: no source has module '$module'" }
  }
  file mkdir [dict get $given -root_dir]
}
proc ipx::current_core {args} {
  if {$ipx::core eq ""} { error "ipx::current_core: nothing is packaged" }
  return "core:packaged"
}
proc ipx::associate_bus_interfaces {args} {
  lassign [recorder::arguments ipx::associate_bus_interfaces $args {} {-busif -clock -reset} 1 1] given rest
  vivado::object core [lindex $rest 0]
  recorder::require ipx::associate_bus_interfaces $given -clock
  set text [sources]
  if {![regexp "input wire [dict get $given -clock]\\M" $text]} { error "ipx::associate_bus_interfaces: no clock '[dict get $given -clock]'" }
  if {[dict exists $given -busif]} {
    set bus [dict get $given -busif]
    if {![regexp "${bus}_TDATA\\M" $text]} { error "ipx::associate_bus_interfaces: no interface '$bus'" }
    lappend ipx::clocked $bus
  }
  if {[dict exists $given -reset]} { set ipx::reset 1 }
}
proc ipx::update_checksums {core} { vivado::object core $core }
proc ipx::check_integrity {core} {
  vivado::object core $core
  foreach {- bus} [regexp -all -inline {\m(\w+)_TDATA,} [ipx::sources]] {
    if {$bus ni $ipx::clocked} { error "ipx::check_integrity: interface '$bus' has no clock" }
  }
  if {!$ipx::reset} { error "ipx::check_integrity: the clock has no reset" }
  set ipx::checked 1
}
proc ipx::save_core {core} {
  vivado::object core $core
  if {!$ipx::checked} { error "ipx::save_core: the integrity is not checked" }
  foreach name {name version} {
    if {![dict exists $ipx::names $name]} { error "ipx::save_core: the core has no $name" }
  }
  recorder::fact ip [join [list [dict get $ipx::core -vendor] [dict get $ipx::core -library] [dict get $ipx::names name] [dict get $ipx::names version]] :]
}
proc close_project {args} {
  recorder::arguments close_project $args {} {} 0 0
  set vivado::project ""
}
