// Package picture draws a table of test/lab/bench/report as SVG, with gonum/plot: a panel for
// each drawn column, with the median of each cell, and whiskers from its least sample to its most.
//
// Where a contender has several sizes, a panel has a line for each contender over the sizes.
// Otherwise it has a mark for each row. Values that span more than a decade stand on a logarithmic
// scale, and the panel says so. The same table gives the same bytes.
package picture
