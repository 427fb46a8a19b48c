// Package external says what a framework in a program of its own is, to those
// who must not link what speaks with it: gRPC alone takes a millisecond at every
// start. [Parse] reads a --plugin flag, [Config] says what is opened and how its
// process is started, [Plugin] is what is had then. Package plugin does it.
package external
