// Package wire is the language of launcher and workers on a link: frames, and the records inside
// them. ../PROTOCOL.md specifies it.
//
// A frame is a fixed header of HeaderLen bytes and a payload. DATA payloads are the user's bytes.
// All other payloads are JSON records, so that a newer side can add fields that an older one
// ignores. The package reads and writes. It keeps no state and knows no sockets.
//
// Input is hostile until parsed. The package checks lengths before it allocates memory, and returns
// an error for a frame of unknown type.
package wire
