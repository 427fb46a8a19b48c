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
//   - No goroutine outlives Close. A WebSocket stream has none at all: the
//     caller of Read takes the bytes off the connection.
//   - The token file is read anew for each dial, so a rotated token counts at
//     the next one. Redirects are refused.
//
// # WebSocket, then SPDY
//
// WebSocket (v5.channel.k8s.io) is tried first; SPDY when the upgrade was
// refused by something that does not speak it, and never because of a verdict
// on the request (401, 403, 404, 429, 5xx). The one that worked is remembered.
//
// A link through which more than 32 MiB flow within a second is dialled again by
// SPDY (Change): the API server passes that on as it is, and takes WebSocket apart
// and puts it together, at twice the CPU time. A SPDY stream takes half a
// megabyte here, so that links of which there may be a thousand begin without. It
// is done once for a worker; after that stream, or when such a dial fails for whatever
// reason, WebSocket it is, and a failure is remembered for all workers.
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
