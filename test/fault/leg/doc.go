// Package leg is one leg of the way between a launcher and PID 1: a proxy over
// TCP or a unix socket that can do to its connections what networks, load
// balancers and dying servers do.
//
// A Strike is armed on the newest connection, or on the next one. It lets an
// exact number of bytes of one direction pass, and strikes when a further byte
// is there: so a fault lands before a frame, after it, or anywhere within.
// Bytes that shall not pass are peeked at, not read; they are with their sender
// still, and a reset finds them there.
//
// A Tap watches the frames of exec/wire where they stand bare, and calls back
// before the first byte of one passes.
//
// What it will not do: TLS. A message can be slipped in between two others only
// where these can be read.
package leg
