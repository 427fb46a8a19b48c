package progress

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fed writes texts to a stream and returns the lines that matched a fail-on rule.
func fed(t testing.TB, pattern string, split func([]byte) (int, []byte), texts ...string) (lines []string) {
	set, err := Compile([]Rule{{FailOn: pattern}})
	require.NoError(t, err)
	w := set.Begin(time.Now(), 0)
	take := func() {
		for _, v := range w.Look(time.Now()) {
			lines = append(lines, fmt.Sprint(v.From, " ", v.Line))
		}
		w.Reset(time.Now())
	}
	out := w.Writer(4, take)
	if split != nil {
		out = w.Mixed(split, take)
	}
	for _, text := range texts {
		n, err := out.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	require.NoError(t, out.Close())
	return lines
}

func TestLinesOfAStream(t *testing.T) {
	tagged := func(line []byte) (int, []byte) {
		var rank int
		if _, err := fmt.Sscanf(string(line), "[%d]", &rank); err != nil {
			return NoRank, line
		}
		return rank, line[bytes.IndexByte(line, ']')+1:]
	}
	for name, row := range map[string]struct {
		split func([]byte) (int, []byte)
		texts []string
		want  []string
	}{
		"a whole line":               {texts: []string{"loss nan\n"}, want: []string{"4 loss nan"}},
		"two pieces":                 {texts: []string{"loss n", "an\nloss 3\n"}, want: []string{"4 loss nan"}},
		"byte by byte":               {texts: strings.Split("loss 1\nloss nan\nx", ""), want: []string{"4 loss nan"}},
		"no newline at the end":      {texts: []string{"a\nloss nan"}, want: []string{"4 loss nan"}},
		"a carriage return":          {texts: []string{"10%\r20% nan\r30%"}, want: []string{"4 20% nan"}},
		"CRLF lines":                 {texts: []string{"nan\r\nloss\r\n"}, want: []string{"4 nan"}},
		"not across lines":           {texts: []string{"n\nan\nn", "\ran"}},
		"after many other lines":     {texts: []string{strings.Repeat("x\n", 1<<16) + "na", "n\n"}, want: []string{"4 nan"}},
		"beyond 64 KiB":              {texts: []string{strings.Repeat("x", maxLine), "nan\n", "nan\n"}, want: []string{"4 nan"}},
		"beyond 64 KiB, one piece":   {texts: []string{strings.Repeat("x", maxLine) + "nan\n"}},
		"tags":                       {split: tagged, texts: []string{"[1]loss\n[7]nan\n"}, want: []string{"7 nan"}},
		"no tag":                     {split: tagged, texts: []string{"[7]loss\nnan\n"}, want: []string{"-1 nan"}},
		"a progress bar after a tag": {split: tagged, texts: []string{"[7]10%\r2", "0%nan\r"}, want: []string{"7 20%nan"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, fed(t, "nan", row.split, row.texts...))
		})
	}
}

// FuzzPieces checks that the same lines match in whatever pieces a stream arrives: exactly the
// lines that match the expression.
func FuzzPieces(f *testing.F) {
	f.Add("a nan\nb\rnan", uint8(1))
	f.Add("\x1b[1mna\x1b[0mn\r\nnan", uint8(3))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		if len(text) >= maxLine {
			return
		}
		var pieces []string
		for rest := text; rest != ""; {
			n := min(len(rest), int(size)+1)
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		var want []string
		for _, line := range strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
			if p := plain([]byte(line)); bytes.Contains(p, []byte("nan")) {
				want = append(want, fmt.Sprint("4 ", string(p[:min(len(p), maxKept)])))
			}
		}
		require.Equal(t, want, fed(t, "nan", nil, pieces...))
	})
}

// FuzzLiteral checks that the search for literal text, which comes first, never hides a match.
func FuzzLiteral(f *testing.F) {
	for _, pattern := range []string{step, "loss.*nan", "(?i)loss.*nan", "(?i)kiss", "(a|b)c+", "a{2,3}b", "x*", "(?i)ſtep", "[Ss]tep", "a|"} {
		f.Add(pattern, "step step x step 12 step 3")
		f.Add(pattern, "STEP 1 loss is NaN Kiſſ aabc")
	}
	f.Fuzz(func(t *testing.T, pattern, line string) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		if re.MatchString(line) && !literalsOf(pattern).in([]byte(line)) {
			t.Fatalf("%q matches %q, which lacks one of %v", pattern, line, literalsOf(pattern))
		}
		if text := numberAfter(pattern); text != nil {
			require.Equal(t, re.FindSubmatchIndex([]byte(line)), findNumber([]byte(line), text, nil))
		}
	})
}

func TestLiteralsOf(t *testing.T) {
	for pattern, want := range map[string]literals{
		step:                {{[]byte("step "), false}},
		"loss.*nan":         {{[]byte("loss"), false}, {[]byte("nan"), false}},
		"(?i)loss.*nan":     {{[]byte("nan"), true}, {[]byte("lo"), true}},
		"(?i)step":          {{[]byte("tep"), true}},
		"(?i)ks":            {},
		"(nan|inf)":         {},
		`loss=(nan|inf)\b`:  {{[]byte("loss="), false}},
		`(saved )+to (\S+)`: {{[]byte("saved "), false}, {[]byte("to "), false}},
		`(\d+)/(\d+)`:       {{[]byte("/"), false}},
		`a.b.c.d`:           {{[]byte("a"), false}, {[]byte("b"), false}, {[]byte("c"), false}},
	} {
		require.ElementsMatch(t, want, literalsOf(pattern), pattern)
	}
}
