// Package contract is the suite that every way to a worker must pass. It tests sessions over a link: streams, ends,
// signals and losses.
//
// A way is a Dial function to the Worker's socket. exec/local has one, and exec/remote has one through a wire-level
// API server. The suite checks what processes did and which bytes arrived, not which functions were called.
package contract
