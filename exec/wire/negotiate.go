package wire

// Negotiate picks the highest protocol version that both ranges hold; ok is
// false when there is none.
func Negotiate(aMin, aMax, bMin, bMax int) (version int, ok bool) {
	version = min(aMax, bMax)
	return version, version >= max(aMin, bMin)
}
