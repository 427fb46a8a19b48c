package wire

import (
	"fmt"
	"math/rand/v2"
)

// NewID returns a new random word of 32 hexadecimal digits for a session or an instance. The
// runtime seeds the generator from the kernel. IDs must be unique but not secret: anyone who can
// open a link controls the worker anyway.
func NewID() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }
