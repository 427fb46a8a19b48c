// Package picture draws a table of test/lab/bench/report as SVG, with gonum/plot. Each drawn column
// has a panel with the median of each cell, and whiskers from its minimum to its maximum.
//
// If a contender has several sizes, a panel has a line for each contender over the sizes.
// Otherwise it has a mark for each row. Values that span more than a decade are drawn on a logarithmic
// scale, and the panel's title or label mentions it. The same table yields the same bytes.
package picture
