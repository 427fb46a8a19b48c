package wire

// Protocol versions that introduced a feature. A side uses the feature if the negotiated version of
// the link is at least that.
const (
	// With ProtoEcho, a PING has a number in its offset, and its PONG repeats it.
	ProtoEcho = 2
)

// Negotiate returns the highest protocol version in both ranges. ok is false if there is none.
func Negotiate(aMin, aMax, bMin, bMax int) (version int, ok bool) {
	version = min(aMax, bMax)
	return version, version >= max(aMin, bMin)
}
