// Package wire is the language that launcher and workers speak over a link:
// frames, and the records inside them. ../PROTOCOL.md specifies it.
//
// A frame is a fixed header of HeaderLen bytes and a payload. DATA payloads
// are the user's bytes; all others are JSON records, so that a newer side may
// add fields which an older one passes over. The package reads and writes; it
// keeps no state and knows no sockets.
//
// Whatever arrives is hostile until parsed: lengths are checked before
// anything is allocated, and a frame of an unknown type is an error.
package wire
