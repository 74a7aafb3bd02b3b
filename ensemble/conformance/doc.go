// Package conformance holds the embedded server to what real ones do.
//
// It takes one position: where the two differ, the real one is right. So every case in the table runs on both: on the
// embedded server in every `go test`, on real ones in the live tests. And what nobody thought of is looked for by a
// comparison that has both execute the same random operations from several sessions.
package conformance
