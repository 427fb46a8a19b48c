// Package leg is one leg between a launcher and PID 1. It is a proxy over TCP or a unix socket, and can damage its
// connections as networks, load balancers and dying servers do.
//
// A Strike is armed on the newest connection, or on the next one. It passes an exact number of bytes in one
// direction, and strikes when one more byte arrives. So a fault hits before a frame, after it, or anywhere within
// it. Bytes that must not pass are peeked at, not read: they still belong to their sender, and a reset finds them
// there.
//
// A Tap watches the frames of exec/wire on legs without another protocol around them, and calls back before the
// first byte of a frame passes.
//
// A leg does not support TLS: it can insert a message between two others only if it can read them.
package leg
