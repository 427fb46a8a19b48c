// Package network reaches a worker's PID 1 by TCP, without the Kubernetes API. It is a link.Dialer.
// Both sides prove who they are, and all bytes are sealed: see package secure. Package listener is
// the worker's side.
//
// # What it promises
//
//   - Dial ends when its context ends. After Dial has returned, its context has no effect.
//   - A Dialer accepts only the process that answered its first dial. Another process that answers
//     later is refused, although it holds the worker's key.
//   - Every error of Dial is a *link.DialError.
//
// # What it does not do
//
// It does not retry, wait, log, or choose between this way and pods/exec (agent/launch/fleet does).
// It does not interpret the bytes. It looks up no names: the caller has the address of the pod.
package network
