// Package relay carries connections from a launcher to workers through another worker, the relay.
// A launcher of thousands of workers so holds tens of connections.
//
// A trunk is one connection between launcher and relay. It carries lanes, each of which is a stream
// of bytes to one address. The relay dials the address and copies bytes in both directions. It does
// not interpret them: each lane carries a connection that launcher and worker have sealed for
// themselves (exec/secure), so a relay can neither read nor change what passes. It can only cut a
// lane, and a link survives that.
//
// A lane has a window of its own, so that a worker that does not read stops no other lane. A trunk
// can run inside a lane of another trunk; that makes a tree.
//
//	launcher: NewTrunk -> Dial(address) -> net.Conn
//	relay:    Serve(trunk) -> dial(address) -> net.Conn
//
// Streams in one connection are those of hashicorp/yamux. A lane begins with the address, in two
// bytes of length and its text. The relay answers with two bytes of length and the error of its
// dial, which is empty if it has succeeded.
//
// Both ends notice a trunk that has fallen silent: nothing comes, and a ping has no answer. life.go decides it.
//
// The package proves nothing about either side: the caller passes a connection that is
// authenticated. It does not dial again, and does not choose which worker is a relay (exec/tree).
package relay
