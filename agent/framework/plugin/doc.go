// Package plugin is [framework.Framework] over a process boundary: it starts a foreign program,
// asks it to prepare the launch, and ends it. It is the only package that imports
// hashicorp/go-plugin, which provides the handshake (cookie, versions), mutual TLS and gRPC.
// docs/guides/plugins.md is the manual for plugin authors; sample is an example.
//
// The main function of a plugin is one call:
//
//	func main() { plugin.Serve(myFramework{}) }
//
// The launcher's side is [Open], [Plugin.Prepare] and [Plugin.Close].
//
// # What it promises
//
// The program that runs is the file with the given SHA-256: the file is opened once, then hashed
// and executed through that descriptor. Its path is absolute. Only root and the launcher's user may
// write to the file or replace it in its directory.
//
// The plugin gets nothing of the launcher's environment. It is told the cluster, and the user's
// variables whose names do not look like a secret's. Its standard input ends when the launcher
// does. The launcher connects to it over a socket in a private directory, with certificates that
// are made for this one start.
//
// Start and Prepare each have 5 s. The first 64 KiB of standard error go to the log at debug; the
// rest is discarded. [framework.Validate] judges its answer. Every failure is one error in one
// sentence that begins with "plugin NAME:", and leaves no process and no goroutine behind. Close
// kills the plugin and all processes that it started, and waits.
//
// # What it does not do
//
// It starts no process itself: an [external.Starter] does. A launcher that is PID 1 has one owner
// of wait4, and os/exec, which go-plugin uses, would lose exit codes to it. It uses only the
// handshake of go-plugin's client: its Kill calls the plugin without a deadline, and leaks the
// connection if the plugin ends early.
//
// The protocol is gRPC: service muster.framework.v1.Framework, method Prepare,
// google.protobuf.BytesValue both ways. The bytes are JSON with the names of the Go fields.
// testdata has an example of each.
package plugin
