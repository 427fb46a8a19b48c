//go:build muster_proto_next

package wire

// A protocol that today's builds do not speak: tests of version skew build
// one side with it and expect a sentence that names both ranges.
const (
	ProtoMin = 3
	ProtoMax = 3
)
