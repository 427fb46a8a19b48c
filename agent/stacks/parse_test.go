package stacks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const twoThreads = `Thread 0x00007f363c1fa700 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait
  File "/usr/lib/python3.11/queue.py", line 171 in get

Current thread 0x00007f363c1fab80 [python3] (most recent call first):
  File "/app/train.py", line 31 in load_batch
  File "/app/train.py", line 50 in <module>
`

func TestParse(t *testing.T) {
	train := []Frame{{File: "/app/train.py", Line: 31, Func: "load_batch"}, {File: "/app/train.py", Line: 50, Func: "<module>"}}
	for name, c := range map[string]struct {
		text string
		want []Thread
	}{
		"nothing":      {"", nil},
		"two threads":  {twoThreads, []Thread{{Frames: []Frame{{File: "/usr/lib/python3.11/threading.py", Line: 324, Func: "wait"}, {File: "/usr/lib/python3.11/queue.py", Line: 171, Func: "get"}}}, {Current: true, Frames: train}}},
		"no frame":     {"Current thread 0x1 (most recent call first):\n  <no Python frame>\n", []Thread{{Current: true}}},
		"cut":          {"Current thread 0x1 (most recent call first):\n  File \"a.py\", line 3 in f\n  File \"a.p", []Thread{{Current: true, Frames: []Frame{{File: "a.py", Line: 3, Func: "f"}}}}},
		"unknown line": {"Thread 0x1 (most recent call first):\n  File \"a.py\", line ??? in f\n  ...\n", []Thread{{Frames: []Frame{{File: "a.py", Line: 0, Func: "f"}}}}},
		"odd names":    {"Thread 0x1 (most recent call first):\n  File \"a\", line 1 in b\", line 3 in f\x1b[31m\n", []Thread{{Frames: []Frame{{File: `a", line 1 in b`, Line: 3, Func: "f?[31m"}}}}},
		"no stack":     {"  File \"a.py\", line 3 in f\nhello (most recent call first):\n  File \"a.py\", line -3 in f\n", nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Parse([]byte(c.text))) })
	}
	require.Equal(t, train, main(Parse([]byte(twoThreads))), "the oldest thread comes last")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{twoThreads, "Thread 0x1 (most recent call first):\n  File \"", strings.Repeat("Current thread 0x (most recent call first):\n", 200)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		threads := Parse(text)
		require.LessOrEqual(t, len(threads), mostThreads)
		for _, one := range threads {
			require.LessOrEqual(t, len(one.Frames), mostFrames)
		}
		r := rank(0, "S futex", string(text))
		for _, line := range append(Lines([]Rank{r, r}, nil), OfHang([]Rank{r, rank(1, "S recvfrom", "")}).Sentence) {
			require.NotContains(t, line, "\x1b")
			require.NotContains(t, line, "\n")
		}
	})
}
