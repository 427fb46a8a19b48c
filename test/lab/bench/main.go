package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/test/lab/bench/picture"
	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/page"
)

func main() {
	readme := flag.String("readme", "", "`FILE` with the table that is compared; default: none")
	docs := flag.String("docs", "", "`DIR` of the pictures; default: docs/bench of the module")
	flag.Parse()
	if err := run(*readme, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

func run(readme, docs string) error {
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	if docs == "" {
		root, err := figure.Root()
		if err != nil {
			return err
		}
		docs = filepath.Join(root, "docs", "bench")
	}
	all, err := report.Read(out)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; nothing is changed (make bench measures)", err)
	}
	if err != nil {
		return err
	}
	for _, t := range all {
		fmt.Println(t.Text())
	}
	if err := report.Write(out, all); err != nil {
		return err
	}
	bars, err := figure.Read(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeDocs(docs, all, bars); err != nil {
		return err
	}
	if readme == "" {
		return nil
	}
	table, ok := compared(all)
	if !ok {
		fmt.Fprintln(os.Stderr, "bench: no table of the comparison was measured; "+readme+" stays as it is")
		return nil
	}
	return page.Put(readme, "compared", table)
}

// writeDocs writes the page and a picture for each table. Pictures of tables that
// are no more go.
func writeDocs(dir string, all []report.Table, bars []figure.Row) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	drawn := map[string]bool{}
	for _, t := range all {
		svg, err := picture.Draw(t)
		if err != nil {
			return err
		}
		if svg == nil {
			continue
		}
		drawn[t.Name] = true
		if err := os.WriteFile(filepath.Join(dir, t.Name+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(docsPage(all, bars, drawn)), 0o644)
}
