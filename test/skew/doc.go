// Package skew runs releases of different protocols against each other: the
// agent built with the protocol before today's (tag muster_proto_old), with
// today's, and with one that today's does not speak (muster_proto_next), as real
// launchers and real workers of `agent run --fake`.
//
// Within the window everything works over connections that are cut again and
// again: bytes, exit codes, signs of life, the end. Beyond it the launcher ends
// with 76 and a sentence that names both releases and both ranges.
//
// Six builds take longer than the tests, so these have a build tag:
//
//	go test -tags skew ./test/skew
//
// A release that adds a version to exec/wire/proto.go moves proto_old.go and
// proto_next.go along; see "Versions" in exec/PROTOCOL.md.
package skew
