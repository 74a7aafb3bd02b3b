// Package conformance compares the embedded server with real ones.
//
// It takes one position: where the two differ, the embedded server is wrong. One table of cases and one comparison with random
// operations run on the embedded server in each `go test`, and on real ones in the live tests. While a server is paused, answers are
// not determined: clients of embedded and of real servers must then see what ZooKeeper promises.
package conformance
