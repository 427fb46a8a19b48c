package timeline

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/test/suite/events"
)

// mostPage is the limit for the page of 1,000 workers in bytes.
const mostPage = 3 << 20

// dataOf returns the JSON in a page.
func dataOf(t *testing.T, page []byte) (d struct {
	Wall     int64
	Phases   []string
	Kinds    []string
	Texts    []string
	Nodes    []string
	Attempts [][6]int64
	Run      []int64
	Workers  [][4]any
}) {
	t.Helper()
	found := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindSubmatch(page)
	require.NotNil(t, found)
	require.NoError(t, json.Unmarshal(found[1], &d))
	return d
}

func page(t *testing.T, line *Timeline) []byte {
	t.Helper()
	text, err := line.HTML("bert", "93.1%")
	require.NoError(t, err)
	return text
}

// has checks that a page has some text. A failure does not print the page.
func has(t *testing.T, page, want string) {
	t.Helper()
	require.True(t, strings.Contains(page, want), "the page does not have %s", want)
}

// hasNot checks that a page does not have some text.
func hasNot(t *testing.T, page, bad string) {
	t.Helper()
	require.False(t, strings.Contains(page, bad), "the page has %q", bad)
}

// TestSameEventsMakeTheSamePage checks that nothing in the page depends on the order of a map.
func TestSameEventsMakeTheSamePage(t *testing.T) {
	want := page(t, Build(events.Run(50, 2), time.Time{}))
	for range 5 {
		require.True(t, bytes.Equal(want, page(t, Build(events.Run(50, 2), time.Time{}))))
	}
}

// TestPageIsSmall checks the size of large pages.
func TestPageIsSmall(t *testing.T) {
	for _, restarts := range []int{0, 20} {
		line := Build(events.Run(1000, restarts), time.Time{})
		require.Len(t, line.Workers, 1000)
		require.Len(t, line.Attempts, restarts+1)
		text := page(t, line)
		t.Logf("1,000 workers, %d restarts: %d KiB", restarts, len(text)>>10)
		require.Less(t, len(text), mostPage)
		hasNot(t, string(text), "are drawn as one")
		hasNot(t, string(text), "left out")
		hasNot(t, string(text), "{{")
	}
}

// TestPageHasEverySpan checks that the page's data has the spans, the attempts and the events.
func TestPageHasEverySpan(t *testing.T) {
	line := Build(launch(), time.Time{})
	text := page(t, line)
	d := dataOf(t, text)
	require.EqualValues(t, 95_000, d.Wall)
	for i, w := range d.Workers {
		require.Equal(t, line.Workers[i].Name, w[0])
		require.Equal(t, line.Workers[i].Node, d.Nodes[int(w[1].(float64))])
		require.Equal(t, line.Workers[i].Spans, spansIn(t, line, w[2].(string), d.Phases))
	}
	require.Equal(t, [][6]int64{{0, 36_000, 62_000, 1, 76, 0}, {1, 64_000, 94_000, 1, 0, -1}}, d.Attempts)
	require.Equal(t, "worker w-1 lost: gone", d.Texts[0])
	require.Len(t, d.Run, numbers)
	require.Equal(t, "restart", d.Kinds[d.Run[0]])
	require.Equal(t, []any{1.0, 40_000.0, -1.0, 1.0, -1.0, 2.0, 1000.0, -1.0, 1.0, -1.0}, d.Workers[0][3], "a link was lost, and is back")
	require.Equal(t, []string{"restart", "link-lost", "link-back"}, d.Kinds[:3])
	for _, want := range []string{"exit code 0", "<dd>95 s</dd>", "Unschedulable: Insufficient nvidia.com/gpu", "Pulling image &#34;big&#34;", `data-worker="1"`, "2026-03-01 12:01:35 UTC"} {
		has(t, string(text), want)
	}
}

// spansIn returns the spans that the page's data has as text. The attempt of a running span follows from its time,
// and that of others is not in the data, so both are taken from the timeline.
func spansIn(t *testing.T, line *Timeline, text string, phases []string) (all []Span) {
	t.Helper()
	now := line.From
	for _, one := range regexp.MustCompile(`[A-Z][0-9a-z]+`).FindAllString(text, -1) {
		took, err := strconv.ParseInt(one[1:], 36, 64)
		require.NoError(t, err)
		s := Span{Phase: Phase(phases[one[0]-'A']), From: now, To: now.Add(time.Duration(took) * time.Millisecond)}
		if now = s.To; len(line.Attempts) > 1 && !s.From.Before(line.Attempts[1].From) {
			s.Attempt = 1
		}
		all = append(all, s)
	}
	return all
}

// hostile is text that would run in a page, or break it, if it was not escaped.
const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{data}}\u202e\x00\x1b[2J]]>\xff"

// TestHostileNamesDoNotRun puts markup into every text that comes from others.
func TestHostileNamesDoNotRun(t *testing.T) {
	line := Build(hostileRun(), time.Time{})
	text, err := line.HTML(hostile, hostile)
	require.NoError(t, err)
	got := string(text)
	require.Equal(t, 2, strings.Count(got, "<script"), "the data and the script of the page")
	require.Equal(t, 2, strings.Count(got, "</script"))
	hasNot(t, got, "<img")
	hasNot(t, got, `"'&`)
	for _, r := range []string{"\u202e", "\x00", "\x1b", `\u0000`, `\u001b`} {
		hasNot(t, got, r)
	}
	require.Equal(t, 1, strings.Count(got, `id="data">{"from"`), "a placeholder in a name stays as it is")
	d := dataOf(t, text)
	require.Contains(t, d.Workers[0][0], "</script><script>alert(1)</script>", "the script shows the name as it is")
	require.Contains(t, d.Kinds, plain(hostile))

	for _, inline := range []string{"<script>", "<style>"} { // what the policy allows is what the page has
		_, rest, _ := strings.Cut(got, inline)
		body, _, _ := strings.Cut(rest, "</"+inline[1:])
		has(t, got[:strings.Index(got, "<title>")], hashed(body))
	}
	ours := string(page(t, Build(launch(), time.Time{})))
	require.Empty(t, regexp.MustCompile(`(src|href)="[^d]|url\(|@import|\son[a-z]+=|\sstyle=`).FindAllString(ours, -1), "the page loads nothing, and its policy allows no attributes with code")
	require.NotContains(t, pageJS+chartJS, "innerHTML")
}

// hostileRun is a run in which every text is hostile.
func hostileRun() []event.Event {
	var all []event.Event
	for _, e := range launch() {
		e.Detail = hostile
		if e.Worker != "" {
			e.Worker += hostile
			e.Node = hostile
		}
		all = append(all, e)
	}
	odd := at(50, hostile, "")
	odd.Detail = hostile
	return append(all, odd)
}

// TestPictureIsXML checks that the picture is well formed and has no script, whatever the names are.
func TestPictureIsXML(t *testing.T) {
	for name, line := range map[string]*Timeline{
		"launch": Build(launch(), time.Time{}), "hostile": Build(hostileRun(), time.Time{}),
		"large": Build(events.Run(1000, 2), time.Time{}), "empty": Build(nil, noon), "no length": Build([]event.Event{at(0, event.Linked, "w-0")}, time.Time{}),
	} {
		t.Run(name, func(t *testing.T) {
			text := line.SVG(hostile)
			require.True(t, bytes.Equal(text, line.SVG(hostile)))
			require.Less(t, len(text), 256<<10)
			elements := map[string]int{}
			decoder := xml.NewDecoder(bytes.NewReader(text))
			for {
				token, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				if start, ok := token.(xml.StartElement); ok {
					elements[start.Name.Local]++
				}
			}
			require.Equal(t, 1, elements["svg"])
			require.Zero(t, elements["script"]+elements["img"])
			hasNot(t, string(text), "\u202e")
		})
	}
}

// TestPictureFitsAScreen checks that the picture shows the slowest workers and counts the others.
func TestPictureFitsAScreen(t *testing.T) {
	text := string(Build(events.Run(1000, 2), time.Time{}).SVG("bert"))
	require.Contains(t, text, ">and 990 more workers, which started sooner<")
	require.Contains(t, text, ">1000 workers, ")
	var width, height int
	_, err := fmt.Sscanf(text, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"`, &width, &height)
	require.NoError(t, err)
	require.LessOrEqual(t, width, 1000)
	require.LessOrEqual(t, height, 640)
	text = string(Build(launch(), time.Time{}).SVG("bert"))
	for _, want := range []string{">bert<", ">3 workers, 95 s, 2 attempts, exit code 0<", ">w-1<", `class="lost"`, ">slowest: w-1 on n-2 20 s, median 0.00 s: Pulling image &#34;big&#34;<"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "more worker")
}

// TestEmptyRunHasAPage checks that a record without workers makes a page.
func TestEmptyRunHasAPage(t *testing.T) {
	for _, line := range []*Timeline{Build(nil, noon), Build([]event.Event{at(0, event.RunStarted, "")}, time.Time{})} {
		text := page(t, line)
		has(t, string(text), "not ended")
		d := dataOf(t, text)
		require.NotNil(t, d.Run)
		require.NotNil(t, d.Workers)
		require.Empty(t, d.Workers)
	}
}

// TestFirstLinesShareAMark checks that the first lines of a worker's ranks in one attempt are one mark.
func TestFirstLinesShareAMark(t *testing.T) {
	var notes []event.Event
	for attempt := range 2 {
		for rank := range 8 {
			e := at(float64(10*attempt+rank), event.FirstLine, "w-0")
			e.Attempt, e.Rank = attempt, rank
			notes = append(notes, e)
		}
	}
	line := &Timeline{From: noon, To: noon.Add(time.Minute)}
	marks := line.shown(notes)
	require.Len(t, marks, 2)
	require.Equal(t, 8, marks[1].times)
	require.Equal(t, 10*time.Second, marks[1].Time.Sub(noon))
}

// TestColorsAreDistinct checks that each phase has a color with a contrast of 3 to the ground. People who lack one
// kind of cones can tell solid colors apart: their distance in CIELAB is at least 18.
func TestColorsAreDistinct(t *testing.T) {
	const leastContrast, leastDistance = 3, 18
	require.Len(t, colors(), len(Table()))
	for _, dark := range []bool{false, true} {
		ground, of := groundLight, func(c color) string { return c.light }
		if dark {
			ground, of = groundDark, func(c color) string { return c.dark }
		}
		for i, c := range colors() {
			require.GreaterOrEqual(t, contrast(linear(t, of(c)), linear(t, ground)), float64(leastContrast), "%s, dark %t", c.phase, dark)
			for _, other := range colors()[:i] {
				if c.fill != solid || other.fill != solid {
					require.True(t, c.fill != other.fill, "%s and %s", c.phase, other.phase)
					continue
				}
				for eyes, matrix := range eyes() {
					a, b := lab(seen(matrix, linear(t, of(c)))), lab(seen(matrix, linear(t, of(other))))
					distance := math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
					require.GreaterOrEqual(t, distance, float64(leastDistance), "%s and %s, %s, dark %t", c.phase, other.phase, eyes, dark)
				}
			}
		}
	}
}
