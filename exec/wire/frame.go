package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Type says what a frame contains.
type Type uint8

// Frame types. L>W means from launcher to worker, W>L the other direction, = either direction.
const (
	Hello   Type = 1 + iota // L>W first frame of a connection: HelloRecord
	Welcome                 // W>L the worker's answer: WelcomeRecord
	Refuse                  // W>L instead of Welcome, then the connection closes: RefuseRecord
	Open                    // L>W create or attach to a session: OpenRecord
	Opened                  // W>L OpenedRecord
	Data                    // =   the user's bytes of Stream from Offset on
	EOF                     // =   Stream ends at Offset
	Ack                     // =   bytes of Stream before Offset reached the user's descriptor
	Close                   // =   nobody reads Stream any longer: stop sending it
	Control                 // L>W a signal or a stop for the session: ControlRecord
	Exit                    // W>L the session's first process ended: ExitRecord
	Forget                  // L>W the launcher has the ExitRecord and all bytes, or does not know the session: ForgetRecord
	Ping                    // L>W
	Pong                    // W>L
	Park                    // L>W the link closes on purpose: ParkRecord
	End                     // L>W the job is over: EndRecord
	Ended                   // W>L no process of the job is running any longer
	Report                  // W>L something happened to a session's processes: ReportRecord
	Ask                     // L>W asks what the processes do: AskRecord; only to workers that answer
	Answer                  // W>L AnswerRecord
	typeLimit
)

// Streams of a session. Their numbers are those of the descriptors.
const (
	Stdin  uint8 = 0
	Stdout uint8 = 1
	Stderr uint8 = 2
)

// Sizes in bytes.
const (
	HeaderLen = 20
	// MaxData is the longest DATA payload. Frames of 64 KiB reached 0.55 to 0.70 of kubectl's
	// throughput, frames of 256 KiB 0.81 to 1.15.
	MaxData = 256 << 10
	// MaxRecord limits every record except OPEN.
	MaxRecord = 64 << 10
	// MaxOpen limits OPEN: argv and environment may reach Linux's ARG_MAX of 2 MiB, and base64 adds
	// a third.
	MaxOpen = 4 << 20
)

// Windows in bytes: how much may be sent and not yet acknowledged. Through an API server, an
// acknowledgement takes milliseconds to arrive, and a window of 256 KiB kept a stream below
// kubectl's throughput.
const (
	// StreamWindow is for one stream, in either direction. It is smaller than LinkWindow, so that a
	// stalled reader leaves room for others.
	StreamWindow = 768 << 10
	// LinkWindow is for all output of a link's sessions together.
	LinkWindow = 1 << 20
	// StreamReserve may be in flight on any stream, however much of LinkWindow the others use, so
	// that stalled readers cannot stop an active one.
	StreamReserve = 64 << 10
)

// ErrProtocol is wrapped by every error about bytes that are not a valid frame.
var ErrProtocol = errors.New("protocol violation")

// Frame is one unit on the link. Channel is the number of the session within its link, or 0 for the
// link itself.
type Frame struct {
	Type    Type
	Stream  uint8
	Channel uint32
	Offset  uint64
	Payload []byte
}

func (t Type) limit() int {
	switch t {
	case Data:
		return MaxData
	case Open:
		return MaxOpen
	case EOF, Ack, Close, Ping, Pong, Ended:
		return 0
	default:
		return MaxRecord
	}
}

// Reader reads frames from a byte stream.
type Reader struct {
	src    io.Reader
	header [HeaderLen]byte
	buf    []byte
	err    error // set after a truncated DATA frame
}

// NewReader returns a Reader for src, which should be buffered.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// Next returns the next frame. Its payload is valid until the following call. If the end of the
// stream truncates a DATA frame, Next first returns the part that arrived. Its offset is valid as
// usual, so a link that dies every few kilobytes still makes progress. Next returns io.EOF between
// frames, io.ErrUnexpectedEOF within a frame, an error wrapping ErrProtocol for bytes that are not
// a frame, or the error of src.
func (r *Reader) Next() (Frame, error) {
	if r.err != nil {
		return Frame{}, r.err
	}
	if _, err := io.ReadFull(r.src, r.header[:]); err != nil {
		return Frame{}, err
	}
	h := r.header[:]
	f := Frame{
		Type:    Type(h[0]),
		Stream:  h[1],
		Channel: binary.BigEndian.Uint32(h[4:]),
		Offset:  binary.BigEndian.Uint64(h[12:]),
	}
	n := int64(binary.BigEndian.Uint32(h[8:]))
	if err := f.check(h[2], h[3], n); err != nil {
		return Frame{}, err
	}
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	f.Payload = r.buf[:n]
	if got, err := io.ReadFull(r.src, f.Payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if f.Type != Data || got == 0 {
			return Frame{}, err
		}
		r.err, f.Payload = err, f.Payload[:got]
	}
	if cap(r.buf) > MaxData {
		r.buf = nil // one large OPEN must not keep its memory for the life of the link
	}
	return f, nil
}

func (f Frame) check(reserved1, reserved2 byte, n int64) error {
	switch {
	case f.Type == 0 || f.Type >= typeLimit:
		return fmt.Errorf("%w: frame type %d", ErrProtocol, f.Type)
	case reserved1 != 0 || reserved2 != 0:
		return fmt.Errorf("%w: reserved bytes %d %d", ErrProtocol, reserved1, reserved2)
	case f.Stream > Stderr:
		return fmt.Errorf("%w: stream %d", ErrProtocol, f.Stream)
	case n > int64(f.Type.limit()):
		return fmt.Errorf("%w: frame type %d with %d bytes", ErrProtocol, f.Type, n)
	}
	return nil
}

// Append appends the frame to b. It returns an error wrapping ErrProtocol if the payload exceeds
// the limit of its type, which is a bug of the caller.
func Append(b []byte, f Frame) ([]byte, error) {
	if err := f.check(0, 0, int64(len(f.Payload))); err != nil {
		return b, err
	}
	b = append(b, byte(f.Type), f.Stream, 0, 0)
	b = binary.BigEndian.AppendUint32(b, f.Channel)
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Payload)))
	b = binary.BigEndian.AppendUint64(b, f.Offset)
	return append(b, f.Payload...), nil
}

// PutHeader writes the header of a frame whose payload of n bytes is already at b[HeaderLen:], so
// that large payloads are not copied.
func PutHeader(b []byte, f Frame, n int) {
	_ = b[HeaderLen-1]
	b[0], b[1], b[2], b[3] = byte(f.Type), f.Stream, 0, 0
	binary.BigEndian.PutUint32(b[4:], f.Channel)
	binary.BigEndian.PutUint32(b[8:], uint32(n))
	binary.BigEndian.PutUint64(b[12:], f.Offset)
}
