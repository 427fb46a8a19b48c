package timeline

import (
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The page, and its style and script. They are files of their own, so that editors and linters know them.
var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed chart.js
	chartJS string
	//go:embed page.js
	pageJS string
)

// HTML returns the timeline as a page that needs no other file and no network. name is that of the
// job or of the file. goodput is the share of productive time, as in "93.1%"; "": it is not shown.
//
// Names and details come from programs that may be hostile. The page has them as escaped text and as
// JSON without "<". Its policy allows only its own script and style, by their hashes.
func (t *Timeline) HTML(name, goodput string) ([]byte, error) {
	data := t.pageData()
	text, err := data.JSON()
	if err != nil {
		return nil, fmt.Errorf("make page: %w", err)
	}
	// The height of the chart depends on the number of workers. The policy forbids style attributes.
	style := fmt.Sprintf("%s%s:root{--workers:%d}\n", pageCSS, rules(), max(1, len(t.Workers)))
	script := chartJS + pageJS
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", hashed(script), hashed(style))
	page := strings.NewReplacer(
		"{{policy}}", policy,
		"{{style}}", style,
		"{{script}}", script,
		"{{data}}", string(text),
		"{{name}}", escaped(name),
		"{{result}}", t.result(),
		"{{facts}}", t.facts(goodput),
		"{{notes}}", t.pageNotes(data),
		"{{phases}}", t.phaseRows(),
		"{{sorts}}", t.sorts(),
		"{{range}}", "Shown: 0 to "+t.end(),
		"{{count}}", counted(len(t.Workers)),
		"{{legend}}", t.keys(),
		"{{meanings}}", meanings(),
	)
	return []byte(page.Replace(pageHTML)), nil
}

// hashed returns the source in a content security policy that allows this script or style.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// result returns how the run has ended, as an element.
func (t *Timeline) result() string {
	class, text := "good", "exit code 0"
	switch {
	case !t.Over:
		class, text = "open", "not ended"
	case t.Exit != 0:
		class, text = "bad", fmt.Sprintf("exit code %d", t.Exit)
	}
	text = fmt.Sprintf(`<p class="result %s">%s</p>`, class, text)
	if t.Over && t.Why != "" {
		text += fmt.Sprintf(`<p class="why">%s</p>`, escaped(t.Why))
	}
	return text
}

// facts returns what is known of the whole run, as entries of a list.
func (t *Timeline) facts(goodput string) string {
	all := [][2]string{
		{"Wall time", seconds(t.Wall())},
		{"Workers", grouped(t.size())},
		{"Attempts", grouped(len(t.Attempts))},
		{"Began", moment(t.From)},
		{"Ended", moment(t.To)},
	}
	if !t.Over {
		all[4][0] = "Last event"
	}
	if goodput != "" {
		all = slices.Insert(all, 1, [2]string{"Goodput", goodput})
	}
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "<div><dt>%s</dt><dd>%s</dd></div>\n", f[0], escaped(f[1]))
	}
	return b.String()
}

// moment returns a time for people.
func moment(at time.Time) string {
	if at.IsZero() {
		return "unknown"
	}
	return at.UTC().Format("2006-01-02 15:04:05 UTC")
}

// grouped returns a number with separators: 1,000.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// end returns the wall time as the script writes it, so that nothing moves when the script has run.
func (t *Timeline) end() string {
	switch {
	case t.millis(t.To) == 0:
		return "0"
	case t.Wall() < 10*time.Minute:
		return seconds(t.Wall())
	}
	return t.Wall().Round(time.Second).String()
}

// counted returns a number of workers.
func counted(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return grouped(n) + " workers"
}

// pageNotes returns what the page does not show, as paragraphs.
func (t *Timeline) pageNotes(d *pageData) string {
	var all []string
	if t.Dropped > 0 {
		all = append(all, grouped(t.Dropped)+" events could not be written in time, so this page is not complete.")
	}
	if d.least > 0 {
		all = append(all, "Neighboring phases of a worker that are shorter than "+seconds(d.least)+" are drawn as one. The table of phases is exact.")
	}
	if d.left > 0 {
		all = append(all, grouped(d.left)+" less important events are left out.")
	}
	if d.leftText > 0 {
		all = append(all, grouped(d.leftText)+" events are shown without their detail.")
	}
	var b strings.Builder
	for _, text := range all {
		fmt.Fprintf(&b, "<p class=\"note\">%s</p>\n", text)
	}
	return b.String()
}

// leastTime is the time in a phase that would be written as 0.00 s.
const leastTime = 5 * time.Millisecond

// notable returns the phases that the page and the picture name.
func (t *Timeline) notable() []share {
	return slices.DeleteFunc(t.shares(1<<62), func(s share) bool { return s.longest < leastTime })
}

// phaseRows returns the table of the phases: for each its share, and its slowest worker with the cause.
func (t *Timeline) phaseRows() string {
	index := map[string]int{}
	for i := range t.Workers {
		index[t.Workers[i].Name] = i
	}
	order := map[Phase]int{}
	for i, a := range Table() {
		order[a.Phase] = i
	}
	var b strings.Builder
	for _, s := range t.notable() {
		worker, cause := `<span class="none">all workers together</span>`, ""
		if s.slowest != nil {
			node := ""
			if s.slowest.Node != "" {
				node = fmt.Sprintf(` <span class="on">on <bdi>%s</bdi></span>`, escaped(s.slowest.Node))
			}
			worker = fmt.Sprintf(`<button type="button" class="go" data-worker="%d" data-phase="%d"><bdi>%s</bdi></button>%s`,
				index[s.slowest.Worker], order[s.Phase], escaped(s.slowest.Worker), node)
			cause = escaped(s.slowest.Cause)
		}
		fmt.Fprintf(&b, `<tr role="row"><th role="rowheader" scope="row"><span class="swatch %[1]s"></span>%[1]s</th>`+
			`<td role="cell" class="number share">%[2]s</td><td role="cell" class="number">%[3]s</td>`+
			`<td role="cell" class="number">%[4]s</td><td role="cell" class="worker">%[5]s</td><td role="cell" class="cause">%[6]s</td></tr>`+"\n",
			s.Phase, escaped(percentage(s.percent)), seconds(s.median), seconds(s.longest), worker, cause)
	}
	return b.String()
}

// percentage returns a share for people.
func percentage(share float64) string {
	if share < 0.05 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", share)
}

// sorts returns the orders of the workers, as options.
func (t *Timeline) sorts() string {
	var b strings.Builder
	order := map[Phase]int{}
	for i, a := range Table() {
		order[a.Phase] = i
	}
	for _, s := range t.notable() {
		fmt.Fprintf(&b, "<option value=\"%d\">longest %s</option>\n", order[s.Phase], s.Phase)
	}
	return b.String()
}

// keys returns the legend of the chart, as entries of a list.
func (t *Timeline) keys() string {
	var b strings.Builder
	for _, s := range t.notable() {
		fmt.Fprintf(&b, "<li><span class=\"swatch %[1]s\"></span>%[1]s</li>\n", s.Phase)
	}
	return b.String()
}

// meanings returns what the phases mean, as entries of a list.
func meanings() string {
	var b strings.Builder
	for _, a := range Table() {
		fmt.Fprintf(&b, "<div><dt><span class=\"swatch %[1]s\"></span>%[1]s</dt><dd>%[2]s</dd></div>\n", a.Phase, escaped(a.Means))
	}
	return b.String()
}
