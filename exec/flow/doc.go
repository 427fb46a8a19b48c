// Package flow moves one direction of a stream over connections that come and go. It loses and
// duplicates no byte.
//
// Out is the sending half. It keeps every byte until the receiver has acknowledged it, in memory
// and then in files. It never has more than one window of bytes in flight. While acknowledgements
// arrive, a writer that is too fast waits for memory, as for a full pipe. Once they stop, it
// continues into files. If neither has room, the writer waits: a full or read-only directory costs
// speed but never bytes, and is reported once it matters.
//
// In is the receiving half. It takes bytes by their absolute offset, drops duplicates, passes the
// rest to a writer, and acknowledges what the writer took. The acknowledgement is the flow control.
// There are no credits.
//
// Order puts two Ins in order: bytes that arrive on one are written after those that arrived
// earlier on the other.
//
// Neither half knows about frames or sockets: their owner moves the bytes between them. The worker
// uses Out for stdout and stderr and In for stdin. The launcher does the opposite.
package flow
