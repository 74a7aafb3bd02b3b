// Package conformance holds every variant to what its recipe promises and to what it claims to cost, on the embedded
// server and in virtual time: each check has a bubble of its own. The checks of two recipes run on real servers, too.
//
// It takes one position: what a random fault at a random time shows is left to package simulation, which must find variants that are
// broken on purpose. What is checked here needs one exact interleaving, a lagging server, an exact count, a real server, or the answer
// to one call: its error, or what a cancelled context leaves behind.
package conformance
