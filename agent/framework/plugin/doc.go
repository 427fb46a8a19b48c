// Package plugin is [framework.Framework] over a process boundary: a program of
// somebody else's prepares the launch, and is started, asked and ended here. It
// is the only package that imports hashicorp/go-plugin, from which come the
// handshake (cookie, versions), the mutual TLS and gRPC. docs/plugins.md is the
// manual for people who write one; sample is one.
//
// A plugin's main is one call:
//
//	func main() { plugin.Serve(myFramework{}) }
//
// The launcher's side is [Open], [Plugin.Prepare], [Plugin.Close].
//
// # What it promises
//
// The program that runs is the file whose SHA-256 was given: it is opened once,
// hashed through that descriptor and executed through it. Its path is absolute,
// nobody but root and the launcher's own user can write it, and nobody else can
// replace it in its directory.
//
// The plugin gets nothing of the launcher's environment; it is told the cluster,
// and of the user's variables those whose names do not look like a secret's. Its
// standard input ends when the launcher does. It is connected to by a socket in
// a private directory, with certificates that are made for this one time.
//
// Start and Prepare have 5 s each. What it writes to standard error goes to the
// log at debug, the first 64 KiB of it; the rest is read and dropped. What it
// answers is judged by [framework.Validate]. Each way to go wrong is one error
// in one sentence that begins with "plugin NAME:", and leaves no process and no
// goroutine behind. Close kills it, with all that it started, and waits.
//
// # What it does not do
//
// It starts no process itself: an [external.Starter] does. In a launcher that is PID 1
// there is one owner of wait4, and go-plugin's own way, os/exec, would lose exit
// statuses to it. It uses of go-plugin's client only the handshake: its Kill
// speaks with the plugin without a deadline, and its connection is left open
// where the plugin ends early.
//
// The protocol is gRPC, service muster.framework.v1.Framework, method Prepare,
// google.protobuf.BytesValue both ways; the bytes are JSON, with the names of the
// Go fields. testdata has an example of both.
package plugin
