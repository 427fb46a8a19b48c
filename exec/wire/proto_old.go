//go:build muster_proto_old

package wire

// The protocol before today's, as an older release spoke it: tests of version
// skew build one side with it, and everything must work.
const (
	ProtoMin = 1
	ProtoMax = 1
)
