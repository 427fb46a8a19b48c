//go:build linux

package reap

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// Age returns how long ago the process was started.
func (p Proc) Age() time.Duration {
	return time.Duration(ticksAt(time.Now())-min(p.Start, ticksAt(time.Now()))) * TickTime
}

// ticksAt converts a time to the unit of Proc.Start, which counts from boot.
func ticksAt(t time.Time) uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return math.MaxUint64 // later than every start
	}
	return uint64(max(0, now.Nano()-time.Since(t).Nanoseconds()) / TickTime.Nanoseconds())
}
