package remote

import "encoding/binary"

// The part of SPDY/3.1 that pods/exec needs: four streams are opened once, and carry data. Numbers
// and layouts are those of "SPDY Protocol - Draft 3.1".
const (
	spdyHeaderLen = 8
	spdyReset     = 3 // RST_STREAM
	spdyReply     = 2 // SYN_REPLY
	spdyOpen      = 1 // SYN_STREAM
	spdyPing      = 6
	spdyFin       = 1 // flag: the last frame of a direction
	spdyVersion   = 3
)

// IDs of the four streams. Those of the dialing side are odd.
const (
	streamError  = 1
	streamStdin  = 3
	streamStdout = 5
	streamStderr = 7
)

// spdyStreams are the names of the streams for their headers, in the order of their ids.
var spdyStreams = [...]string{"error", "stdin", "stdout", "stderr"}

// spdyFrame is the header of a frame. length bytes follow it.
type spdyFrame struct {
	control bool
	kind    uint16 // of a control frame
	stream  uint32 // of a data frame
	fin     bool
	length  int
}

func parseSPDY(head [spdyHeaderLen]byte) spdyFrame {
	first, second := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
	f := spdyFrame{control: first>>31 == 1, fin: second>>24&spdyFin != 0, length: int(second & 0xffffff)}
	if f.control {
		f.kind = uint16(first)
	} else {
		f.stream = first
	}
	return f
}

func appendControl(b []byte, kind uint16, length int) []byte {
	b = binary.BigEndian.AppendUint32(b, 1<<31|spdyVersion<<16|uint32(kind))
	return binary.BigEndian.AppendUint32(b, uint32(length))
}

func appendData(b []byte, stream uint32, p []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, stream)
	b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
	return append(b, p...)
}

// openFrames returns the frames that open all four streams. The header blocks of a connection are
// one zlib stream with a dictionary, which is named and not used: blocks may be stored uncompressed
// (RFC 1950, RFC 1951). A compressor for these few words would take half a megabyte per connection.
func openFrames() (b []byte) {
	zip := []byte{0x78, 0x20, 0xe3, 0xc6, 0xa7, 0xc2} // the zlib header, the dictionary's Adler-32
	for i, kind := range spdyStreams {
		text := binary.BigEndian.AppendUint32(nil, 1)
		for _, word := range []string{headerStream, kind} {
			text = binary.BigEndian.AppendUint32(text, uint32(len(word)))
			text = append(text, word...)
		}
		zip = append(zip, 0) // stored, not the last
		zip = binary.LittleEndian.AppendUint16(zip, uint16(len(text)))
		zip = binary.LittleEndian.AppendUint16(zip, ^uint16(len(text)))
		zip = append(append(zip, text...), 0, 0, 0, 0xff, 0xff) // an empty block, which makes the decompressor output what it has
		b = appendControl(b, spdyOpen, 10+len(zip))
		b = binary.BigEndian.AppendUint32(b, uint32(2*i+1))
		b = append(b, make([]byte, 6)...) // no associated stream, the highest priority, no slot
		b = append(b, zip...)
		zip = nil
	}
	return b
}
