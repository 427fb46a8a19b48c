// Package flow moves one direction of one stream over connections that come
// and go, without losing or doubling a byte.
//
// Out is the sending half: it keeps every byte until the far side has
// acknowledged it, in memory and then in files, and never has more than a
// window of them under way. While acknowledgements come in, a writer that is
// too quick waits for memory, as for a full pipe; once they have stopped it goes
// on into files. Where neither has room it waits: a full or read-only directory
// costs speed, never bytes, and is said once it matters. In
// is the receiving half: it takes bytes by their absolute offset, drops what it
// has seen, hands the rest to a writer, and acknowledges what that writer took.
// The acknowledgement is the flow control; there are no credits.
//
// Two Ins may be in order (Order): what arrives on one is written behind what arrived on the
// other before.
//
// Both halves know neither frames nor sockets: their owner moves the bytes
// between them. The worker uses Out for stdout and stderr and In for stdin,
// the launcher the other way round.
package flow
