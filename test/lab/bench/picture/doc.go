// Package picture draws a table of test/lab/bench/report as SVG: a panel for each drawn
// column, the median of each cell, and whiskers from the least sample to the most.
//
// Where a contender has several sizes, a panel has a line for each contender over the
// sizes; else a bar for each row. Values that span more than a decade stand on a
// logarithmic scale, and the panel says so. The same table gives the same bytes.
//
// Colours follow the reader's scheme, light or dark; contenders differ by their marks
// too. Widths of texts are guessed on the wide side, so that none runs into another.
package picture
