#pragma once

// Streams for the schedule check: accesses to memory that only these two functions know, so that
// none is moved, merged or removed.

extern "C" {
void* fr_stream_read(void* stream) noexcept __attribute__((malloc));
void* fr_stream_write(void* stream) noexcept;
void fr_pipelined_iteration() noexcept;
}

namespace hls {

template <class T>
class stream {
 public:
  T read() { return *static_cast<T*>(fr_stream_read(this)); }
  void write(const T& value) { *static_cast<T*>(fr_stream_write(this)) = value; }
  bool empty();
};

}  // namespace hls
