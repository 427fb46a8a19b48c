//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// inTime is how long the page may take to do what it was asked for.
const inTime = 2 * time.Second

// view is one page on one screen.
type view struct {
	ctx    context.Context
	tab    *tab
	size   size
	shots  string // directory for pictures, or ""
	page   string
	url    string
	found  *raw
	faults []string
	err    error // the browser failed
}

// visit opens a page, plays with it, and closes it.
func (v *view) visit(b *browser, path string, play func(*view)) (err error) {
	if v.tab, err = b.tab(v.ctx, v.size); err != nil {
		return err
	}
	v.url = "file://" + path
	b.drain(v.url)
	if err := v.tab.open(v.ctx, v.url); err != nil {
		return err
	}
	v.measure()
	v.want("the page is not wider than the screen", `document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth`)
	v.want("targets have at least 24 pixels", `[...document.querySelectorAll("button, input, select, summary")].filter(e => e.offsetHeight < 24 || e.offsetWidth < 24).map(e => e.outerHTML).join(" ")`, "")
	play(v)
	v.faults = append(v.faults, b.drain(v.url)...)
	return errors.Join(v.err, v.tab.close(v.ctx))
}

// do notes an error of the browser.
func (v *view) do(err error) {
	if v.err == nil {
		v.err = err
	}
}

// want evaluates an expression until it has the value want, or without one true. If it does not have it in time,
// that is a fault. A browser may need a while for a tap.
func (v *view) want(what, expression string, want ...any) {
	if v.err != nil {
		return
	}
	wanted := any(true)
	if len(want) > 0 {
		wanted = want[0]
	}
	for began := time.Now(); ; {
		var got any
		v.do(v.tab.eval(v.ctx, expression, &got))
		if v.err != nil || fmt.Sprint(got) == fmt.Sprint(wanted) {
			return
		}
		if time.Since(began) > inTime {
			v.faults = append(v.faults, fmt.Sprintf("not so: %s: %v, not %v", what, got, wanted))
			return
		}
		v.do(v.tab.frame(v.ctx))
	}
}

// shot takes a picture, if pictures are wanted.
func (v *view) shot(name string, whole bool) {
	if v.shots != "" && v.err == nil {
		v.do(v.tab.shot(v.ctx, filepath.Join(v.shots, v.size.name+"-"+name+".png"), whole))
	}
}

// measure notes how fast the page was there. Only the usual page counts.
func (v *view) measure() {
	var paint, chart, shift float64
	v.do(v.tab.until(v.ctx, `performance.getEntriesByName("first-contentful-paint").length > 0`))
	v.do(v.tab.eval(v.ctx, `performance.getEntriesByName("first-contentful-paint")[0].startTime`, &paint))
	v.do(v.tab.eval(v.ctx, `performance.getEntriesByName("chart")[0].startTime`, &chart))
	v.do(v.tab.eval(v.ctx, `new Promise(done => {
		let sum = 0;
		new PerformanceObserver(list => { for (const e of list.getEntries()) sum += e.value; }).observe({ type: "layout-shift", buffered: true });
		setTimeout(() => done(sum), 300);
	})`, &shift))
	if v.page == "page.html" {
		v.found.Paint.Samples = append(v.found.Paint.Samples, paint)
		v.found.Chart.Samples = append(v.found.Chart.Samples, chart)
	}
	v.found.Shift.Samples = append(v.found.Shift.Samples, shift)
}

// place returns a place in an element, from 0 to 1 in each direction.
func (v *view) place(selector string, right, down float64) (x, y float64) {
	b, err := v.tab.box(v.ctx, selector)
	v.do(err)
	return b.X + right*b.Width, b.Y + down*b.Height
}

// click clicks an element.
func (v *view) click(selector string, right, down float64) {
	x, y := v.place(selector, right, down)
	v.do(v.tab.click(v.ctx, v.size, x, y))
}

// typed replaces the text of the search.
func (v *view) typed(text string) {
	v.do(v.tab.eval(v.ctx, `(e => { e.focus(); e.select(); })(document.getElementById("search"))`, nil))
	if text == "" {
		v.do(v.tab.call(v.ctx, "Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Delete", "windowsVirtualKeyCode": 46}))
	} else {
		v.do(v.tab.call(v.ctx, "Input.insertText", map[string]any{"text": text}))
	}
	v.do(v.tab.frame(v.ctx))
}

// sorted chooses an order by its value.
func (v *view) sorted(value string) {
	v.do(v.tab.eval(v.ctx, fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event("change")); })(document.getElementById("sort"))`, value), nil))
	v.do(v.tab.frame(v.ctx))
}

// Expressions about the page.
const (
	names     = `[...document.querySelectorAll("#names div:not([hidden]) bdi")].map(e => e.textContent)`
	length    = `(view.to - view.from)`
	whole     = length + ` === doc.wall`
	detail    = `document.getElementById("detail").innerText`
	pixel     = `((canvas, right, down) => { const c = canvas.getContext("2d"); const d = c.getImageData(Math.floor(canvas.width * right), Math.floor(down * devicePixelRatio), 1, 1).data; return "#" + [0, 1, 2].map(i => d[i].toString(16).padStart(2, "0")).join(""); })`
	inRunning = `getComputedStyle(document.documentElement).getPropertyValue("--running").trim()`
)

// all plays with everything that the page has.
func (v *view) all() {
	v.shot("whole", true)
	v.want("the count", `document.getElementById("count").textContent`, "1,000 workers")
	v.want("names are visible", names+`.length >= 7`)
	short := "bert-large-worker-"
	if v.size.phone {
		short = "worker-"
	}
	v.want("a narrow screen leaves out what all names share", fmt.Sprintf(names+`.every(n => n.startsWith(%q))`, short))
	v.want("bars have the color of running", pixel+`(document.getElementById("bars"), .6, 6) === `+inRunning)
	v.want("the overview has it too", pixel+`(document.getElementById("overview"), .6, 50) === `+inRunning)
	v.want("the slowest worker is first", names+`[0].endsWith(view.order[0].name.slice(11)) && (own => workers.every(w => own(w) <= own(view.order[0])))
		(w => ["queued", "pulling", "starting", "linking", "lost"].reduce((sum, p) => sum + w.spent[doc.phases.indexOf(p)], 0))`)
	v.zoom()
	v.search()
	v.choose()
	v.keys()
	v.do(v.tab.eval(v.ctx, `document.querySelector("#totals summary").click()`, nil))
	v.do(v.tab.until(v.ctx, `document.querySelectorAll("#worker-table tbody tr").length > 0`))
	v.want("the table has every worker", `document.querySelectorAll("#worker-table tbody tr").length`, 1000)
	v.want("its times add up", `[...document.querySelector("#worker-table tbody tr").querySelectorAll(".number")].reduce((s, e) => s + Number(e.textContent) * 1000, 0) - doc.wall < 50`)
	v.do(v.tab.eval(v.ctx, `document.getElementById("meanings").open = true; document.getElementById("meanings").scrollIntoView()`, nil))
	v.want("the page with all tables is not wider than the screen", `document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth`)
	v.shot("tables", false)
}

// zoom uses the buttons, the brush, the wheel and a drag.
func (v *view) zoom() {
	v.want("the whole run is shown", whole+` && document.getElementById("all").disabled`)
	v.click("#in", .5, .5)
	v.want("the button zooms in", `Math.abs(`+length+` * 1.5 - doc.wall) < 2`)
	v.click("#all", .5, .5)
	v.want("the button shows the whole run", whole)
	x1, y := v.place("#overview-track", .25, .5)
	x2, _ := v.place("#overview-track", .5, .5)
	v.do(v.tab.drag(v.ctx, x1, y, x2, y))
	v.want("the brush zooms to a quarter", `Math.abs(view.from / doc.wall - .25) < .02 && Math.abs(view.to / doc.wall - .5) < .02`)
	v.want("the brush is visible", `!document.getElementById("brush").hidden`)
	v.want("the range is written", `/^Shown: 8m\d+s to 16m\d+s$/.test(document.getElementById("range").textContent)`)
	v.shot("brush", false)
	x1, y = v.place("#bars", .7, .5)
	x2, _ = v.place("#bars", .3, .5)
	v.do(v.tab.drag(v.ctx, x1, y, x2, y))
	v.want("a drag moves in time", `view.from / doc.wall > .33`)
	if v.size.phone {
		v.do(v.tab.touch(v.ctx, [][]float64{{x2}, {x2 - 20}, {x2 - 40}, {x2 - 60}}, y))
		v.want("a finger moves in time", `view.from / doc.wall > .37`)
		v.do(v.tab.touch(v.ctx, [][]float64{{x2 - 10, x2 + 30}, {x2 - 20, x2 + 50}, {x2 - 30, x2 + 90}}, y))
		v.want("a pinch zooms in", length+` / doc.wall < .15`)
	} else {
		v.do(v.tab.mouse(v.ctx, "mouseWheel", x1, y, map[string]any{"deltaX": 0, "deltaY": -200, "modifiers": 2}))
		v.do(v.tab.until(v.ctx, length+` / doc.wall < .2`))
		v.do(v.tab.mouse(v.ctx, "mouseWheel", x1, y, map[string]any{"deltaX": 0, "deltaY": 600}))
		v.do(v.tab.until(v.ctx, `document.getElementById("rows").scrollTop > 0`))
		v.want("the wheel alone does not zoom", length+` / doc.wall > .05`)
	}
	v.click("#all", .5, .5)
	v.want("the button shows the whole run", whole)
}

// search searches and orders.
func (v *view) search() {
	v.typed("worker-77")
	v.want("a worker is found", `document.getElementById("count").textContent`, "11 of 1,000 workers")
	v.want("only those are visible", names+`.every(n => n.includes("worker-77"))`)
	v.shot("search", false)
	v.typed("NODE-0042")
	v.want("a node is found", names+`.join().endsWith("worker-42")`)
	v.typed("no such worker")
	v.want("nothing is found", names+`.length`, 0)
	v.typed("")
	v.want("all are back", `document.getElementById("count").textContent`, "1,000 workers")
	v.sorted("name")
	v.want("the order by name", names+`.slice(0, 3).map(n => n.replace("bert-large-", "")).join()`, "worker-0,worker-1,worker-2")
	v.sorted("1")
	v.want("the order by a phase is that of the table", `document.querySelector("button.go[data-phase='1']").textContent.endsWith(`+names+`[0])`)
	v.sorted("slow")
}

// choose chooses bars.
func (v *view) choose() {
	v.click("#bars", .6, .1)
	v.want("a bar is chosen", detail+`.includes("running") && `+detail+`.includes("attempt 1")`)
	v.want("its worker is marked", `document.querySelectorAll("#names .chosen").length`, 1)
	v.shot("chosen", false)
	if !v.size.phone {
		x, y := v.place("#bars", .02, .1)
		v.do(v.tab.mouse(v.ctx, "mouseMoved", x, y, nil))
		v.do(v.tab.frame(v.ctx))
		v.want("the tip is inside of the window", `(r => r.width > 50 && r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight)(document.getElementById("tip").getBoundingClientRect())`)
		v.shot("tip", false)
		x, y = v.place("#run", .35, .7)
		v.do(v.tab.mouse(v.ctx, "mouseMoved", x, y, nil))
		v.want("an attempt has a tip", `document.getElementById("tip").innerText.includes("attempt 0, exit code 76")`)
	}
	v.do(v.tab.eval(v.ctx, `document.querySelector("button.go[data-phase='1']").click()`, nil))
	v.do(v.tab.frame(v.ctx))
	v.want("the slowest worker of a phase is chosen with its cause", detail+`.includes("pulling") && `+detail+`.includes("Pulling image")`)
	v.want("and its row is visible", `document.querySelectorAll("#names .chosen:not([hidden])").length`, 1)
	v.shot("slowest", false)
}

// keys uses the keyboard in the chart.
func (v *view) keys() {
	v.do(v.tab.eval(v.ctx, `document.getElementById("rows").focus()`, nil))
	var before string
	v.do(v.tab.eval(v.ctx, detail, &before))
	v.do(v.tab.press(v.ctx, "ArrowDown"))
	v.want("the next worker is chosen", fmt.Sprintf("%s !== %q", detail, before))
	v.do(v.tab.press(v.ctx, "Home"))
	v.want("the first worker is chosen", `view.chosen.worker === view.order[0]`)
	v.do(v.tab.press(v.ctx, "End"))
	v.want("the last worker is chosen, and visible", `view.chosen.worker === view.order.at(-1) && document.querySelectorAll("#names .chosen:not([hidden])").length === 1`)
	v.do(v.tab.press(v.ctx, "ArrowRight"))
	v.want("the next phase is chosen", `view.chosen.span > 0`)
	v.do(v.tab.press(v.ctx, "+"))
	v.want("a key zooms in", length+` < doc.wall`)
	v.do(v.tab.press(v.ctx, "0"))
	v.want("a key shows the whole run", whole)
}

// restarts looks at the page of many attempts.
func (v *view) restarts() {
	v.want("the attempts", `attempts.length`, many+1)
	v.shot("restarts", false)
	v.do(v.tab.eval(v.ctx, `show(doc.wall * .4, doc.wall * .5)`, nil))
	v.do(v.tab.frame(v.ctx))
	v.do(v.tab.eval(v.ctx, `document.querySelector(".tools").scrollIntoView()`, nil))
	v.shot("restarts-zoomed", false)
}

// hostile looks at the page whose names are markup.
func (v *view) hostile() {
	v.want("no text runs", `window.pwned === undefined`)
	v.want("names are shown as they are", names+`[0].includes("<script>window.pwned=1</script>")`)
	v.click("#bars", .6, .1)
	v.do(v.tab.eval(v.ctx, `document.querySelector("button.go").click(); document.querySelector("#totals summary").click()`, nil))
	v.do(v.tab.frame(v.ctx))
	v.want("nor after a choice", `window.pwned === undefined && !document.querySelector("main img")`)
	v.shot("hostile", false)
	v.faults = append(v.faults, v.tab.b.drain(v.url)...)
	v.do(v.tab.eval(v.ctx, `document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.pwned=3'>")`, nil))
	v.do(v.tab.frame(v.ctx))
	v.want("the policy forbids markup to run", `window.pwned === undefined`)
	v.tab.b.drain(v.url) // the browser reports the breach
}
