package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/musterhq/muster/test/suite/draw"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/hangs"
	"github.com/musterhq/muster/test/suite/man"
	"github.com/musterhq/muster/test/suite/messages"
	"github.com/musterhq/muster/test/suite/nightly"
	"github.com/musterhq/muster/test/suite/reference"
)

const usage = `usage:
  go run ./test/suite check [NAME...]   recompute every row; exit 1 if one differs or misses its bar, or a NAME has no row
  go run ./test/suite hangs             false hang reports in the runs of our suites so far; exit 1 if there is one, or no run
  go run ./test/suite draw --seed N --parts N BINARY
                                        a -run expression for one part of the tests of a compiled test
  go run ./test/suite nightly TARGET...  make the targets one after the other; skip those that passed on this commit
  go run ./test/suite pair --before DIR --after DIR [--workers N] [--rounds N]
                                        a launch with the agent of each DIR, in turns: seconds, and their ratio
  go run ./test/suite overhead --before DIR --after DIR [--workers N] [--rounds N]
                                        the same, with metrics and traces only in the second DIR: seconds and CPU time
  go run ./test/suite man --bin DIR --to DIR  write manual pages of the programs in DIR; $SOURCE_DATE_EPOCH is their date
  go run ./test/suite reference          write the generated parts of docs/reference, with the programs in bin
  go run ./test/suite messages [DIR...]  errors and warnings (of the product's DIRs) that docs/troubleshooting does not explain
  go run ./test/suite record --name N --log raw/FILE.json[#KEY] [--op '<=' --bar B] [--unit U] [--command C]`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "suite: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	switch {
	case len(args) > 0 && args[0] == "check":
		return check(dir, args[1:])
	case len(args) == 1 && args[0] == "hangs":
		return countHangs(dir)
	case len(args) > 0 && args[0] == "record":
		return record(dir, args[1:])
	case len(args) > 1 && args[0] == "nightly":
		return playNight(dir, args[1:])
	case len(args) > 0 && args[0] == "pair":
		return playPair(args[1:], false)
	case len(args) > 0 && args[0] == "overhead":
		return playPair(args[1:], true)
	case len(args) > 0 && args[0] == "man":
		return writeMan(args[1:])
	case len(args) == 1 && args[0] == "reference":
		return reference.Write(context.Background(), ".", "bin")
	case len(args) > 0 && args[0] == "messages":
		return unexplained(args[1:])
	case len(args) > 0 && args[0] == "draw":
		return drawPart(args[1:])
	}
	return errors.New(usage)
}

// unexplained prints the messages below dirs without an entry in the catalog, and the lines of the catalog that
// match no message.
func unexplained(dirs []string) error {
	all, err := messages.Collect(".")
	if err != nil {
		return err
	}
	catalog, err := messages.Catalog("docs/troubleshooting")
	if err != nil {
		return err
	}
	missing, stale := messages.Compare(all, catalog)
	for _, m := range missing {
		if len(dirs) == 0 || slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(m.At, dir) }) {
			fmt.Println(m.At + ": " + m.Text)
		}
	}
	for _, line := range stale {
		fmt.Println("no such message: " + line)
	}
	return nil
}

// writeMan writes the manual pages.
func writeMan(args []string) error {
	fs := flag.NewFlagSet("man", flag.ExitOnError)
	bin := fs.String("bin", "bin", "directory of agent and agent-launcher")
	to := fs.String("to", "out/man", "write the pages to this `DIR`")
	_ = fs.Parse(args) // ExitOnError
	at := time.Now()
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		at = time.Unix(seconds, 0)
	}
	pages, err := man.Write(context.Background(), *bin, *to, at)
	if err == nil {
		fmt.Printf("%d pages in %s; man -l %s\n", len(pages), *to, filepath.Join(*to, "agent.1"))
	}
	return err
}

// playNight plays the suites on the current checkout.
func playNight(dir string, suites []string) error {
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return fmt.Errorf("ask git for the commit: %w", err)
	}
	name := strings.TrimSpace(string(commit))
	if strings.HasSuffix(name, "-dirty") { // the changes have no name, so nothing that passed can be reused
		name += time.Now().UTC().Format("-150405")
	}
	night := nightly.Night{Dir: filepath.Join(dir, "nightly"), Commit: name, Suites: suites, Out: os.Stdout, Play: nightly.Make}
	return night.Run()
}

// drawPart prints a -run expression, and its seed and number of tests on stderr.
func drawPart(args []string) error {
	fs := flag.NewFlagSet("draw", flag.ExitOnError)
	seed := fs.Uint64("seed", 0, "consecutive seeds play all parts")
	parts := fs.Int("parts", 4, "number of parts")
	_ = fs.Parse(args) // ExitOnError
	if fs.NArg() != 1 {
		return errors.New("draw takes the path of a compiled test")
	}
	list, err := exec.Command(fs.Arg(0), "-test.list", "^Test").Output()
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w", fs.Arg(0), err)
	}
	all := strings.Fields(string(list))
	drawn, err := draw.Part(all, *seed, *parts)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "suite: seed %d: %d of %d tests\n", *seed, len(drawn), len(all))
	fmt.Println(draw.Regexp(drawn))
	return nil
}

func record(dir string, args []string) error {
	var row figure.Row
	fs := flag.NewFlagSet("record", flag.ExitOnError)
	fs.StringVar(&row.Name, "name", "", "of the row")
	fs.StringVar(&row.Log, "log", "", "raw numbers")
	fs.StringVar(&row.Op, "op", "", "<=, >= or ==")
	fs.Float64Var(&row.Bar, "bar", 0, "to compare with")
	fs.StringVar(&row.Unit, "unit", "", "of the value")
	fs.StringVar(&row.Command, "command", "", "that shows the figure")
	_ = fs.Parse(args) // ExitOnError
	if fs.NArg() > 0 {
		return fmt.Errorf("record: unexpected argument %q", fs.Arg(0))
	}
	row, err := figure.Record(dir, row)
	if err != nil {
		return err
	}
	if !row.Pass {
		return fmt.Errorf("%s: %s %s misses %s %s", row.Name, number(row.Value), row.Unit, row.Op, number(row.Bar))
	}
	return nil
}

func check(dir string, wanted []string) error {
	verdicts, err := figure.Check(dir, wanted)
	if err != nil {
		return err
	}
	bad := 0
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tvalue\tbar\tunit\tverdict\tcommand")
	for _, v := range verdicts {
		bar, verdict := "(shown)", "ok"
		if v.Op != "" {
			bar = v.Op + " " + number(v.Bar)
		}
		if len(v.Faults) > 0 {
			bad++
			verdict = "FAULT: " + strings.Join(v.Faults, "; ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Name, number(v.Value), bar, v.Unit, verdict, v.Command)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d figures at fault", bad, len(verdicts))
	}
	return nil
}

// countHangs prints the notes of the suites, and records their sum as a figure.
func countHangs(dir string) error {
	totals, err := hangs.Count(dir)
	if err != nil {
		return err
	}
	if len(totals) == 0 {
		return fmt.Errorf("no suite has noted a run below %s: make fake, care, conform, frameworks, heal or e2e does", dir)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "suite\truns\tlongest\tfalse hang reports")
	var said []string
	samples := figure.Series{Reduce: "sum"}
	for _, t := range totals {
		fmt.Fprintf(w, "%s\t%d\t%.0f s\t%d\n", t.Suite, t.Runs, t.Longest.Seconds(), len(t.Said))
		said = append(said, t.Said...)
		samples.Samples = append(samples.Samples, float64(len(t.Said)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	const name = "false hang reports with the default"
	if _, err := figure.Keep(dir, "make hangs", "hangs", map[string]figure.Series{name: samples}, figure.Row{Name: name, Op: "==", Bar: 0, Log: name}); err != nil {
		return err
	}
	if len(said) > 0 {
		return fmt.Errorf("false hang reports:\n%s", strings.Join(said, "\n"))
	}
	return nil
}

// number formats a fraction with at most four significant digits, and whole numbers without a fraction.
func number(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
