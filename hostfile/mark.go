package hostfile

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// markText begins the first line of a marked list: a comment in both dialects.
const markText = "# written by agent run, which replaces it while this sum fits: "

// Mark adds a first line to a list, by which [Marked] recognizes it.
func Mark(list []byte) []byte {
	return append(fmt.Appendf(nil, "%s%08x\n", markText, crc32.ChecksumIEEE(list)), list...)
}

// Marked reports whether text comes from Mark and was not changed since.
func Marked(text []byte) bool {
	line, list, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(line, []byte(markText)) && bytes.Equal(Mark(list), text)
}
