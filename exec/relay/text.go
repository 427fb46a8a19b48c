package relay

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// maxAddress is the longest address of a lane: a DNS name and a port fit.
	maxAddress = 260
	// maxMessage is the longest error of a relay's dial. Longer ones are cut.
	maxMessage = 1 << 10
)

func writeText(w io.Writer, text string) error {
	all := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(text)), uint16(len(text)))
	_, err := w.Write(append(all, text...))
	return err
}

func readText(r io.Reader, most int) (string, error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return "", err
	}
	n := int(binary.BigEndian.Uint16(size[:]))
	if n > most {
		return "", fmt.Errorf("%d bytes of text: at most %d", n, most)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", err
	}
	return string(text), nil
}
