package hostfile

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// markText begins the first line of a marked list: a comment in both dialects.
const markText = "# written by agent run, which replaces it while this sum fits: "

// Mark puts a line before a list by which [Marked] knows it again.
func Mark(list []byte) []byte {
	return append(fmt.Appendf(nil, "%s%08x\n", markText, crc32.ChecksumIEEE(list)), list...)
}

// Marked reports whether text is what Mark made. A list that somebody has
// changed since then is not.
func Marked(text []byte) bool {
	line, list, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(line, []byte(markText)) && bytes.Equal(Mark(list), text)
}
