// Package contract is the suite that every way to a worker must pass: sessions
// over a link, with the streams, ends, signals and losses that users meet.
//
// A way is a Dial function to the Worker's socket; exec/local has one, and
// exec/remote has one through a wire-level API server. The suite looks at what
// processes did and what bytes came out, not at calls.
package contract
