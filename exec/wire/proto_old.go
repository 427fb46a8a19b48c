//go:build muster_proto_old

package wire

// The previous protocol, as in an older release. Tests of version skew build one side with it, and
// everything must work.
const (
	ProtoMin = 1
	ProtoMax = 1
)
