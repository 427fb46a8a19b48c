// Command suite shows and checks the figures of the tests:
//
//	go run ./test/suite check
//
// The folders below it are packages that suites share:
//   - figure: rows and their raw numbers
//   - hangs: notes of hang reports
//   - kube: kubectl and objects
//   - audit: requests to the API server
//   - program: other projects' programs
//   - care: programs that write checkpoints
//   - hosts: names that ranks resolve
//   - page: generated parts of docs
//   - events: the invented events of a large run
//   - pipelines: the component, compiled with each SDK
package main
