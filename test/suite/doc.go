// Command suite shows and checks the figures of the tests:
//
//	go run ./test/suite check
//
// The folders below it are what suites share, one package each: figure (rows and their raw
// numbers), hangs (notes of hang reports), kube (kubectl and objects), audit (what the API server
// was asked), program (other projects' programs), care (programs that write checkpoints), hosts
// (names that ranks resolve), page (what programs write into docs), pipelines (the component, as
// each SDK compiles it).
package main
