// Package remote reaches a worker's PID 1 through the Kubernetes API. It is a link.Dialer over
// pods/exec.
//
// # What it takes
//
// It takes a rest.Config (LoadConfig finds one), a Target, and a Protocol that all dialers of the
// process share. It always runs the command [Agent, "attach"]. The user's command, environment and
// input travel inside the stream, so they do not appear in a URL, audit log or process list.
//
// # What it promises
//
//   - Dial ends when its context ends, even if the server accepts the TCP connection,
//     or completes TLS, and never answers.
//   - After Dial has returned, its context has no effect: the stream lives until Close.
//   - Read and Write never return io.EOF or a bare error, but always a *link.DialError
//     whose Kind says why. A stream that ends is Dropped, whatever the server reports:
//     "Success" of pods/exec proves nothing, because an API server writes it when the
//     connection to the kubelet breaks.
//   - A stream has no goroutine: the caller of Read reads from the connection.
//   - Each dial reads the token file, so the next dial uses a rotated token. Redirects
//     are refused.
//
// # SPDY and WebSocket
//
// SPDY/3.1 (v4.channel.k8s.io) is tried first, because it costs less on each version of Kubernetes
// (docs/explanation/bench/streams.md). API server and kubelet pass its bytes on unchanged, with 3
// goroutines each. WebSocket messages are taken apart by the API server until 1.35, and by the kubelet
// from 1.36 on, with 22 goroutines, 1 MB and twice the CPU time per byte.
//
// The other one is tried in the same dial (race.go) if something refused the upgrade, or accepted the
// connection and closed it. So it is after an error of a gateway (502, 503 or 504 without a Status).
// It is also tried if there is no answer after 5 s, or after half of the dial's time. Until a first
// stream has been opened, a missing permission (create) is a reason, too. Other verdicts on the
// request (401, 404, 429, 5xx) are not.
//
// A transport is given up by all dialers (protocol.go) after a refusal, and after one dial if it has
// never worked. Otherwise an outage looks the same: that worker changes at once, and the others do
// when three dials in a row have got through by the other transport only.
//
// The package reads streams from the connections itself and does not use client-go's executors.
// Those keep goroutines for seconds after the end of the stream, and kill a WebSocket whose
// consumer pauses for a minute. They also copy each byte through two pipes, and report a broken
// SPDY connection as success.
//
// # What it does not do
//
// It does not retry, wait, log, ping (the link does), or interpret the bytes. One goroutine may
// read while another writes. Any goroutine may call Close.
package remote
