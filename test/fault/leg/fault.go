package leg

import "sync/atomic"

// Fault is what a leg does to a connection.
type Fault string

// Faults.
const (
	FIN       Fault = "FIN"       // orderly end of both halves; what still comes is dropped
	RST       Fault = "RST"       // reset of both halves; on a unix socket a close with bytes unread
	Stall     Fault = "stall"     // nothing passes any more, and nobody is told
	Throttle  Fault = "throttle"  // 10 KB/s for half a second
	Bytewise  Fault = "bytewise"  // 2 KiB of each direction in writes of one byte
	Close1000 Fault = "close1000" // the protocol's orderly close without a status, then FIN
	Forge     Fault = "forge"     // `Status: Success` on the error channel, orderly close, FIN
)

// Way is a direction.
type Way int

// Directions.
const (
	Down Way = iota // launcher to worker
	Up              // worker to launcher
)

// Strike is one fault at one place of a connection.
type Strike struct {
	Fault Fault
	Way   Way
	// After is how many bytes of Way still pass on the connection.
	After int
	// OneWay, for Stall: the other direction goes on.
	OneWay bool
	// Begin, if set, is called when it strikes, before anything is done.
	Begin func()

	struck atomic.Bool
}

// Struck reports whether the fault has been carried out.
func (s *Strike) Struck() bool { return s.struck.Load() }

// Cuts reports whether the fault ends a connection, sooner or later.
func (f Fault) Cuts() bool { return f != Throttle && f != Bytewise }
