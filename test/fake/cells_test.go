//go:build mpi && !cells

package fake

// everyCell is for the matrices: without the tag cells only a part of them is played.
const everyCell = false
