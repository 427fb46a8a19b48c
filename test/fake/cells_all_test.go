//go:build mpi && cells

package fake

// everyCell is true with the tag cells: each matrix is played completely.
const everyCell = true
