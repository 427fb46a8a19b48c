//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/agent/timeline"
	"github.com/musterhq/muster/test/suite/events"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// The run of the page.
const (
	workers  = 1000
	restarts = 2
	many     = 20 // restarts of the second page
)

// mostLines is the number of findings that are printed for a page.
const mostLines = 10

// The bars of the figures.
const (
	mostSize  = 3 << 10 // KiB
	mostPaint = 2000    // ms
	mostShift = 0.01
)

func main() { program.Main("timeline", run) }

// sizes returns the screens on which the page is looked at.
func sizes() []size {
	return []size{
		{name: "desktop-light", width: 1280, height: 900}, {name: "desktop-dark", width: 1280, height: 900, dark: true},
		{name: "phone-light", width: 390, height: 844, phone: true}, {name: "phone-dark", width: 390, height: 844, phone: true, dark: true},
	}
}

// raw holds the numbers behind the figures.
type raw struct {
	Size     figure.Series `json:"size"`
	SizeMany figure.Series `json:"size_many"`
	Paint    figure.Series `json:"paint"`
	Chart    figure.Series `json:"chart"`
	Shift    figure.Series `json:"shift"`
	Faults   int           `json:"faults"`
	Views    int           `json:"views"`
}

func run(ctx context.Context) error {
	shots := flag.String("shots", "", "write pictures of each view to `DIR`")
	flag.Parse()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	b, err := open(ctx)
	if err != nil {
		return err
	}
	defer b.close()
	if *shots != "" {
		if err := os.MkdirAll(*shots, 0o755); err != nil {
			return err
		}
	}
	found, err := look(ctx, b, *shots)
	if err != nil {
		return err
	}
	const command = "test/lab/run timeline"
	return figure.Report(command, "timeline", found,
		figure.Row{Name: "timeline page, 1,000 workers: size", Log: "size", Op: "<=", Bar: mostSize},
		figure.Row{Name: "timeline page, 1,000 workers and 20 restarts: size", Log: "size_many", Op: "<=", Bar: mostSize},
		figure.Row{Name: "timeline page, 1,000 workers: first paint", Log: "paint", Op: "<=", Bar: mostPaint},
		figure.Row{Name: "timeline page, 1,000 workers: time until the chart is drawn", Log: "chart"},
		figure.Row{Name: "timeline page: layout shift", Log: "shift", Op: "<=", Bar: mostShift},
		figure.Row{Name: "timeline page: findings in a browser", Log: "faults", Op: "==", Bar: 0},
	)
}

// look opens the pages on each screen, and prints what is wrong with them.
func look(ctx context.Context, b *browser, shots string) (*raw, error) {
	found := &raw{Size: figure.Series{Unit: "KiB", Reduce: "max"}, SizeMany: figure.Series{Unit: "KiB", Reduce: "max"},
		Paint: figure.Series{Unit: "ms", Reduce: "max"}, Chart: figure.Series{Unit: "ms", Reduce: "max"}, Shift: figure.Series{Reduce: "max"}}
	usual, large, hostile := filepath.Join(b.dir, "page.html"), filepath.Join(b.dir, "large.html"), filepath.Join(b.dir, "hostile.html")
	if err := errors.Join(
		write(usual, events.Run(workers, restarts), &found.Size),
		write(large, events.Run(workers, many), &found.SizeMany),
		write(hostile, markup(), &figure.Series{}),
		os.WriteFile(filepath.Join(b.dir, "run.svg"), timeline.Build(events.Run(workers, restarts), time.Time{}).SVG("bert-large"), 0o644),
	); err != nil {
		return nil, err
	}
	for _, s := range sizes() {
		for _, one := range []struct {
			path string
			play func(*view)
		}{{usual, (*view).all}, {large, (*view).restarts}, {hostile, (*view).hostile}} {
			v := &view{ctx: ctx, size: s, shots: shots, page: filepath.Base(one.path), found: found}
			if err := v.visit(b, one.path, one.play); err != nil {
				return nil, err
			}
			found.Views++
			found.Faults += len(v.faults)
			for i, fault := range v.faults {
				if i == mostLines {
					fmt.Printf("%s, %s: and %d more\n", v.page, s.name, len(v.faults)-i)
					break
				}
				fmt.Printf("%s, %s: %s\n", v.page, s.name, fault)
			}
		}
		if err := picture(ctx, b, s, shots); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// write writes the page of a run, and notes its size.
func write(path string, all []event.Event, sizes *figure.Series) error {
	t := timeline.Build(all, time.Time{})
	text, err := t.HTML("bert-large", goodput.Of(t).Percent())
	if err != nil {
		return err
	}
	sizes.Samples = append(sizes.Samples, float64(len(text))/1024)
	return os.WriteFile(path, text, 0o644)
}

// evil is a name that runs in a page that does not escape it.
const evil = `</script><script>window.pwned=1</script><img src=x onerror="window.pwned=2">`

// markup returns the events of a run whose names and details are hostile.
func markup() []event.Event {
	all := events.Run(20, 1)
	for i := range all {
		if all[i].Worker != "" {
			all[i].Worker += evil
			all[i].Node += evil
		}
		if all[i].Detail != "" {
			all[i].Detail += evil
		}
	}
	return all
}

// picture takes a picture of the SVG.
func picture(ctx context.Context, b *browser, s size, shots string) error {
	if shots == "" || s.phone {
		return nil
	}
	t, err := b.tab(ctx, s)
	if err != nil {
		return err
	}
	if err := t.call(ctx, "Page.navigate", map[string]any{"url": "file://" + filepath.Join(b.dir, "run.svg")}); err != nil {
		return err
	}
	return errors.Join(t.until(ctx, `document.readyState === "complete" && !!document.querySelector("svg")`), t.shot(ctx, filepath.Join(shots, "svg-"+s.name+".png"), false), t.close(ctx))
}
