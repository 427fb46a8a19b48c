package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "plan: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	sizes := flag.String("workers", "1000,10000,100000", "`SIZES` to simulate")
	fanout := flag.Int("fanout", 64, "a tree's relay links `N` others")
	seed := flag.Uint64("seed", 10, "`N` for the luck of the work's costs; 0: none")
	flag.Parse()
	if *fanout < 2 {
		return fmt.Errorf("-fanout=%d: a tree needs 2 at least", *fanout)
	}
	var ns []int
	for word := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("-workers: %q is no number of workers", word)
		}
		ns = append(ns, n)
	}
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	tables, err := report.Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	costs, list, err := readCosts(costsFile, tables)
	if err != nil {
		return err
	}
	printCosts(list)
	checks := compare(costs, tables, *seed)
	fmt.Println("\nagainst what was measured (table scale):\n" + checks + fmt.Sprintf("\nseed %d", *seed))
	t := play(costs, large(), ns, *fanout, *seed)
	t.Notes = append(t.Notes, fmt.Sprintf("%d of %d costs are assumed, the others measured: test/lab/bench/plan/costs.json has the list", assumed(list), len(list)))
	fmt.Println(t.Text())
	return report.Save(t)
}

func printCosts(list []Cost) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, c := range list {
		fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\t%s\n", c.Name, report.Number(c.Value), c.Unit, c.Known, c.What, c.Where)
	}
	_ = w.Flush() // as good as the terminal
}
