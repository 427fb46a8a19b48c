//go:build mpi && !cells

package fake

// everyCell is false without the tag cells: only a part of each matrix is played.
const everyCell = false
