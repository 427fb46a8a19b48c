package wire

// Versions since which something is so; a side does it when the version that
// the link negotiated is at least that.
const (
	// ProtoEcho: a PING has a number in its offset, and its PONG repeats it.
	ProtoEcho = 2
)

// Negotiate picks the highest protocol version that both ranges hold; ok is
// false when there is none.
func Negotiate(aMin, aMax, bMin, bMax int) (version int, ok bool) {
	version = min(aMax, bMax)
	return version, version >= max(aMin, bMin)
}
