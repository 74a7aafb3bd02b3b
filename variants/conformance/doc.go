// Package conformance holds every variant to what its recipe promises and to what it claims to cost, on the embedded
// server and in virtual time: each check has a bubble of its own. The checks of two recipes run on real servers, too.
//
// It takes one position: a promise that no broken implementation fails is not tested. So each check here is run
// against a variant that breaks it, too.
package conformance
