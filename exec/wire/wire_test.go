package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestFramesRoundTrip(t *testing.T) {
	frames := []Frame{
		{Type: Ping},
		{Type: Data, Stream: Stdout, Channel: 7, Offset: 1 << 40, Payload: []byte("bytes\x00\xff")},
		{Type: Data, Stream: Stderr, Channel: 1<<32 - 1, Offset: 1<<64 - 1, Payload: make([]byte, MaxData)},
		{Type: EOF, Stream: Stdin, Channel: 7, Offset: 12},
	}
	var b []byte
	for _, f := range frames {
		var err error
		b, err = Append(b, f)
		require.NoError(t, err)
	}
	// Reads one byte at a time, because a frame may be cut anywhere.
	r := NewReader(iotest.OneByteReader(bytes.NewReader(b)))
	for _, want := range frames {
		got, err := r.Next()
		require.NoError(t, err)
		if len(want.Payload) == 0 {
			want.Payload, got.Payload = nil, nil
		}
		require.Equal(t, want, got)
	}
	_, err := r.Next()
	require.Equal(t, io.EOF, err)
}

func TestPutHeaderIsAppend(t *testing.T) {
	f := Frame{Type: Data, Stream: Stderr, Channel: 3, Offset: 99, Payload: []byte("abc")}
	want, err := Append(nil, f)
	require.NoError(t, err)
	got := append(make([]byte, HeaderLen), "abc"...)
	PutHeader(got, f, 3)
	require.Equal(t, want, got)
}

func TestReaderRefuses(t *testing.T) {
	head := func(typ, stream, r1, r2 byte, n int) []byte {
		return append([]byte{typ, stream, r1, r2, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, make([]byte, 8)...)
	}
	for name, b := range map[string][]byte{
		"type 0":          head(0, 0, 0, 0, 0),
		"unknown type":    head(byte(typeLimit), 0, 0, 0, 0),
		"stream 3":        head(byte(Data), 3, 0, 0, 0),
		"reserved":        head(byte(Data), 0, 1, 0, 0),
		"long data":       head(byte(Data), 0, 0, 0, MaxData+1),
		"long record":     head(byte(Hello), 0, 0, 0, MaxRecord+1),
		"long open":       head(byte(Open), 0, 0, 0, MaxOpen+1),
		"ping with bytes": head(byte(Ping), 0, 0, 0, 1),
		"4 GiB":           head(byte(Data), 0, 0, 0, -1),
	} {
		_, err := NewReader(bytes.NewReader(b)).Next()
		require.ErrorIs(t, err, ErrProtocol, name)
	}
	_, err := NewReader(strings.NewReader("short")).Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = NewReader(bytes.NewReader(head(byte(Data), 0, 0, 0, 5))).Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestTruncatedDataIsReturned(t *testing.T) {
	b, err := Append(nil, Frame{Type: Data, Channel: 2, Offset: 10, Payload: []byte("abcdef")})
	require.NoError(t, err)
	r := NewReader(bytes.NewReader(b[:len(b)-2]))
	f, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, Frame{Type: Data, Channel: 2, Offset: 10, Payload: []byte("abcd")}, f)
	_, err = r.Next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestSpecKeepsEveryByte(t *testing.T) {
	s := Spec{Argv: []string{"a", "", "\xff\xfe", "ü\n"}, Env: []string{"K=\x80"}, Dir: "/\xc3", Stdin: true}
	f, err := Record(Open, 1, OpenRecord{ID: "x", Hash: s.Hash(), Spec: &s})
	require.NoError(t, err)
	var rec OpenRecord
	require.NoError(t, f.Decode(&rec))
	require.Equal(t, s, *rec.Spec)
	require.Equal(t, rec.Hash, rec.Spec.Hash())
}

// TestPackedSpec checks that packed assignments come last and make no difference to the hash.
func TestPackedSpec(t *testing.T) {
	long := "ADDRESSES=" + strings.Repeat("198.18.0.1,", 1000)
	p, err := Pack(long)
	require.NoError(t, err)
	binary, err := Pack("BYTES=\xff\x00=\n")
	require.NoError(t, err)
	spec := Spec{Argv: []string{"x"}, Env: []string{"A=1"}, Packed: []*Packed{p, binary}}
	flat := Spec{Argv: []string{"x"}, Env: []string{"A=1", long, "BYTES=\xff\x00=\n"}}
	require.Equal(t, flat, spec.Unpacked())
	require.Equal(t, []string{"A=1"}, spec.Env)
	require.Equal(t, flat.Hash(), spec.Hash())
	f, err := Record(Open, 1, OpenRecord{Spec: &spec})
	require.NoError(t, err)
	require.Less(t, len(f.Payload), len(long)/10)
	var got OpenRecord
	require.NoError(t, f.Decode(&got))
	require.Equal(t, flat, *got.Spec)
}

func TestPackedIsBounded(t *testing.T) {
	p, err := Pack("A=" + strings.Repeat("x", MaxOpen/2))
	require.NoError(t, err)
	spec := Spec{Packed: []*Packed{p, p}}
	_, err = Record(Open, 1, OpenRecord{Spec: &spec})
	require.ErrorContains(t, err, "4194304 bytes")
	text, err := json.Marshal(specJSON{Zip: [][]byte{p.zip, p.zip}})
	require.NoError(t, err)
	for _, bad := range []string{string(text), `{"packed":["AAAA"]}`} {
		require.ErrorIs(t, Frame{Type: Open, Payload: []byte(`{"spec":` + bad + `}`)}.Decode(&OpenRecord{}), ErrProtocol)
	}
}

func TestHashDistinguishesSpecs(t *testing.T) {
	seen := map[string]Spec{}
	for _, s := range []Spec{
		{Argv: []string{"a", "b"}}, {Argv: []string{"a b"}}, {Argv: []string{"ab"}}, {Line: "a b"}, {Argv: []string{"a"}, Env: []string{"b"}},
		{Argv: []string{"a"}, Line: "b"}, {Argv: []string{"a"}, Dir: "b"}, {Argv: []string{"a", "b"}, Stdin: true}, {},
	} {
		h := s.Hash()
		require.NotContains(t, seen, h)
		seen[h] = s
	}
}

func TestEpochsAreTotallyOrdered(t *testing.T) {
	ascending := []Epoch{{1, 0, "b", 9}, {1, 1, "a", 2}, {1, 1, "b", 0}, {1, 1, "b", 1}, {2, 0, "a", 0}}
	for i, a := range ascending {
		for j, b := range ascending {
			require.Equal(t, i < j, a.Compare(b) < 0)
			require.Equal(t, i == j, a.Compare(b) == 0)
		}
	}
}

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		a, b    [2]int
		version int
		ok      bool
	}{
		{[2]int{1, 1}, [2]int{1, 1}, 1, true},
		{[2]int{1, 3}, [2]int{2, 5}, 3, true},
		{[2]int{3, 5}, [2]int{1, 3}, 3, true},
		{[2]int{1, 1}, [2]int{2, 2}, 1, false},
	} {
		v, ok := Negotiate(c.a[0], c.a[1], c.b[0], c.b[1])
		require.Equal(t, c.ok, ok)
		if ok {
			require.Equal(t, c.version, v)
		}
	}
}

func FuzzReader(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		b, _ := Append(nil, Frame{Type: Type(1 + rng.IntN(int(typeLimit)-1)), Channel: rng.Uint32(), Offset: rng.Uint64()})
		f.Add(b)
	}
	f.Add([]byte{byte(Hello), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		var again []byte
		for {
			fr, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, ErrProtocol) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("unexpected error %v", err)
				}
				break
			}
			for _, v := range []any{&HelloRecord{}, &WelcomeRecord{}, &OpenRecord{}, &ExitRecord{}, &ControlRecord{}, &AskRecord{}, &AnswerRecord{}} {
				_ = fr.Decode(v)
			}
			if r.err != nil {
				continue // a truncated frame, so its bytes are not those of a whole frame
			}
			if again, err = Append(again, fr); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(b, again) {
			t.Fatal("frames read are not the bytes given")
		}
	})
}
