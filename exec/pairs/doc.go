// Package pairs measures the network between two workers: whether a connection opens, its round
// trip, and its throughput. PID 1 of one worker listens ([Listen]) and PID 1 of another dials
// ([Dial]), both for the launcher, before the ranks start.
//
// # What travels
//
// The dialer sends the token of the job's launcher, 16 bytes; the listener answers with one byte.
// Then the dialer sends requests: a round trip is one byte there and back. A transfer is a sequence
// of chunks, each with its length in 4 bytes (big-endian) before it. Length 0 ends it, and the
// listener answers with the number of bytes that it has read, in 8 bytes.
//
// # Limits
//
// The listener's port is open to everything that reaches the pod. A peer that does not send the token
// within 2 s is dropped, 256 connections are served at a time, and each ends after 10 s. A
// connection may send [wire.MostTransfer] bytes, and the bytes are dropped as they come. Listening
// ends with its context, at the latest when preflight is over.
package pairs
