// Package conformance holds every variant to what its recipe promises and to what it claims to cost, on the embedded
// server in every `go test`, and on real ones in the live tests.
//
// It takes one position: a promise that no broken implementation fails is not tested. So each check here is run
// against a variant that breaks it, too.
package conformance
