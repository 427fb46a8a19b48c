package metrics_test

import (
	"fmt"
	"io"

	"github.com/musterhq/muster/agent/metrics"
)

func ExampleCollector() {
	specs, err := metrics.Parse([]string{"loss", "accuracy:PERCENTAGE"})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := metrics.New(specs)
	c.Line(0, []byte("epoch 1: loss=0.52 accuracy: 0.81"))
	c.Line(0, []byte("epoch 2: loss=0.31 accuracy: 0.9, val_loss=9"))
	c.Line(1, []byte("epoch 2: loss=0.29")) // ignored: the lowest rank that prints a metric counts

	entries, notes := metrics.Entries(c.Series())
	text, err := metrics.Encode(entries)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s%d notes\n", text, len(notes))
	// Output:
	// {"metrics":[{"name":"loss","numberValue":0.31,"format":"RAW"},{"name":"accuracy","numberValue":0.9,"format":"PERCENTAGE"}]}
	// 0 notes
}

// The output of mpirun --tag-output holds lines of several ranks.
func ExampleCollector_Mixed() {
	c := metrics.New([]metrics.Spec{{Name: "images/sec", Format: metrics.Raw}})
	w := c.Mixed(metrics.TagsSure)
	_, _ = io.WriteString(w, "[1,3]<stdout>: images/sec: 99.5\n[1,0]<stdout>: images/sec: 215.3\n")
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	for _, s := range c.Series() {
		fmt.Println("rank", s.Rank, s.Name, s.Last)
	}
	// Output:
	// rank 0 images/sec 215.3
}

// TagsSure does not take "[3]" for a tag, because an epoch may look like it.
func ExampleTags_Split() {
	rank, text, ok := metrics.TagsSure.Split([]byte("[rank3]: loss=0.31"))
	fmt.Printf("%d %q %v\n", rank, text, ok)
	_, _, ok = metrics.TagsSure.Split([]byte("[3] loss=0.31"))
	fmt.Println(ok)
	// Output:
	// 3 "loss=0.31" true
	// false
}
