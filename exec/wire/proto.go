//go:build !muster_proto_old && !muster_proto_next

package wire

// The range of protocol versions that this build supports.
const (
	ProtoMin = 1
	ProtoMax = 2
)
