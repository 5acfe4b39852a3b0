#pragma once

/// Tasks of the dataflow network.
///
/// FR_TASK("conv1", call)  one task; a plain call in synthesis. The untimed build calls it at once,
///                         so tasks must come in topological order; with FR_TIMED it becomes a
///                         fiber.
/// FR_DATAFLOW_END()       ends the top function: checks the frame (untimed) or runs the network
///                         (FR_TIMED); nothing in synthesis.
/// fr::iteration(ii = 1)   first statement of every pipelined loop body: with FR_TIMED a time step
///                         of ii cycles, the loop's initiation interval.
/// fr::probe(id, value)    hands an accumulator to the test bench in builds with FR_PROBES.

#include "vendor.hpp"

#ifdef FR_VENDOR

#  define FR_TASK(name, ...) __VA_ARGS__
#  define FR_DATAFLOW_END()

namespace fr {
inline void iteration(int /*interval*/ = 1) {}
}  // namespace fr

#else

#  include "stream.hpp"

#  ifdef FR_TIMED
#    include "simulation/scheduler.hpp"

// The tasks run when the whole network is known; the lambda outlives the call because the top
// function only returns from FR_DATAFLOW_END.
#    define FR_TASK(name, ...) FR_TASK_EXPANDED(name, __COUNTER__, __VA_ARGS__)
#    define FR_TASK_EXPANDED(name, number, ...) FR_TASK_NUMBERED(name, number, __VA_ARGS__)
#    define FR_TASK_NUMBERED(name, number, ...)             \
      const auto fr_task_##number = [&]() { __VA_ARGS__; }; \
      ::fr::sim::Scheduler::instance().add_task(name, fr_task_##number)
#    define FR_DATAFLOW_END() ::fr::sim::Scheduler::instance().run()

namespace fr {
inline void iteration(int interval = 1) {
  sim::Scheduler::instance().current().iteration(interval);
}
}  // namespace fr
#  else
#    include "simulation/network.hpp"

#    define FR_TASK(name, ...)                           \
      do {                                               \
        ::fr::sim::Network::instance().begin_task(name); \
        __VA_ARGS__;                                     \
      } while (false)
#    define FR_DATAFLOW_END() ::fr::sim::Network::instance().end_frame()

namespace fr {
inline void iteration(int /*interval*/ = 1) {}
}  // namespace fr

#  endif  // FR_TIMED

#endif  // FR_VENDOR

#if defined(FR_PROBES) && !defined(FR_VENDOR)
#  include "simulation/probe.hpp"
#else
namespace fr {
template <class V>
inline void probe(int /*id*/, const V& /*value*/) {}
}  // namespace fr
#endif
