//go:build muster_proto_next

package wire

// A protocol that current builds do not support. Tests of version skew build one side with it, and
// expect a message that names both ranges.
const (
	ProtoMin = 3
	ProtoMax = 3
)
