package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/musterhq/muster/exec/wire"
)

// A launcher sends a record that requests SIGTERM in the session of channel 7. The worker reads it.
func ExampleRecord() {
	frame, err := wire.Record(wire.Control, 7, wire.ControlRecord{Seq: 1, Signal: 15})
	if err != nil {
		fmt.Println(err)
		return
	}
	stream, err := wire.Append(nil, frame)
	if err != nil {
		fmt.Println(err)
		return
	}

	got, err := wire.NewReader(bytes.NewReader(stream)).Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	var control wire.ControlRecord
	if err := got.Decode(&control); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("channel", got.Channel, "signal", control.Signal)
	fmt.Println(len(stream)-wire.HeaderLen, "bytes of payload")
	// Output:
	// channel 7 signal 15
	// 21 bytes of payload
}

// A DATA frame carries its offset in the stream. At the end of the input, between frames, Next
// returns io.EOF.
func ExampleReader() {
	stream, err := wire.Append(nil, wire.Frame{Type: wire.Data, Stream: wire.Stdout, Channel: 1, Offset: 4096, Payload: []byte("loss=0.31\n")})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := wire.NewReader(bytes.NewReader(stream))
	for {
		f, err := r.Next()
		if err != nil {
			fmt.Println(errors.Is(err, io.EOF))
			return
		}
		fmt.Printf("%d %q\n", f.Offset, f.Payload)
	}
	// Output:
	// 4096 "loss=0.31\n"
	// true
}

// Next returns an error that wraps ErrProtocol if the input is not a frame.
func ExampleReader_Next_hostile() {
	_, err := wire.NewReader(bytes.NewReader(bytes.Repeat([]byte{0xff}, wire.HeaderLen))).Next()
	fmt.Println(errors.Is(err, wire.ErrProtocol))
	// Output: true
}

func ExampleNegotiate() {
	fmt.Println(wire.Negotiate(1, 2, 1, 1))
	_, ok := wire.Negotiate(1, 2, 3, 4)
	fmt.Println(ok)
	// Output:
	// 1 true
	// false
}

// A launcher's container was restarted. The restarted launcher is the newer one.
func ExampleEpoch_Compare() {
	first := wire.Epoch{Created: 1700000000, UID: "a", Restarts: 0}
	second := wire.Epoch{Created: 1700000000, UID: "a", Restarts: 1}
	fmt.Println(second.Compare(first) > 0)
	// Output: true
}
