package wire

import (
	"fmt"
	"math/rand/v2"
)

// NewID returns a new random word of 32 hexadecimal digits for a session or an
// instance. The runtime seeds it from the kernel; ids have to be unique, not
// secret, since whoever can open a link owns the worker anyway.
func NewID() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }
