// Package remote reaches a worker's PID 1 through the Kubernetes API: it is a
// link.Dialer over pods/exec.
//
// # What it takes
//
// A rest.Config (LoadConfig finds one), a Target, and a Protocol that all
// dialers of the process share. The command it runs is always [Agent,
// "attach"]: the user's command, environment and input travel inside the
// stream, so they appear in no URL, audit log or process list.
//
// # What it promises
//
//   - Dial ends when its context ends, also against a server that accepts the
//     TCP connection, or completes TLS, and never answers.
//   - After Dial has returned, its context has no more say: the stream lives
//     until Close.
//   - Read and Write never return io.EOF or a bare error: always a
//     *link.DialError whose Kind says why. A stream that ends is Dropped,
//     whatever the server claims: "Success" of pods/exec proves nothing (an API
//     server writes it when the kubelet's leg breaks).
//   - A stream has no goroutine: the caller of Read takes the bytes off the
//     connection.
//   - The token file is read anew for each dial, so a rotated token counts at
//     the next one. Redirects are refused.
//
// # SPDY, then WebSocket
//
// SPDY/3.1 (v4.channel.k8s.io) is tried first: the API server hands its bytes on as
// they are, with 3 goroutines and less than 0.1 MB for a stream, where it takes a
// WebSocket apart and puts its messages together again, with 22 and 0.75 MB, at twice
// the CPU time for each byte. WebSocket (v5) is tried when the upgrade was refused by
// something that does not speak SPDY, and, until a first SPDY stream has come up, when
// SPDY has no answer within 5 s or its right (create) is missing; never because of
// another verdict on the request (401, 404, 429, 5xx). The one that worked is remembered.
//
// The streams are read off the connections here, not through client-go's
// executors: those keep goroutines for seconds after the stream is over, kill
// a WebSocket whose consumer pauses for a minute, hand each byte through two
// pipes, and turn a broken SPDY connection into success.
//
// # What it will not do
//
// It does not retry, wait, log, ping (the link above it does) or interpret the
// bytes. One goroutine may read while another writes; Close may be called from
// anywhere.
package remote
