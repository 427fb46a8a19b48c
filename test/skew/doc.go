// Package skew tests releases with different protocols against each other. The agent is built with the previous
// protocol (tag muster_proto_old), with today's, and with a future one that today's does not speak
// (muster_proto_next). The tests run real launchers and real workers with `agent run --fake`.
//
// If the releases have a protocol in common, everything works over connections that are cut repeatedly: bytes, exit
// codes, pings and the end. If they have none, the launcher exits with 76 and a message that names both releases
// and both ranges.
//
// The six builds take longer than the tests, so the package has a build tag:
//
//	go test -tags skew ./test/skew
//
// A release that adds a version to exec/wire/proto.go updates proto_old.go and proto_next.go too. See "Versions" in
// exec/PROTOCOL.md.
package skew
