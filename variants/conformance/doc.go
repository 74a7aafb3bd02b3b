// Package conformance checks every variant against its recipe's promises to callers, on the embedded server and in
// virtual time: each check has a bubble of its own. The checks of two recipes run on real servers, too.
//
// It takes one position: faults that show in the ordinary course of a recipe, or by a random fault at a random time, are
// left to package simulation, which must find variants that are broken on purpose. Costs are left to lockstep runs. The
// checks here need one exact interleaving, a lagging server, an exact count, a real server, or the answer to one call:
// its error, or what a cancelled context leaves behind.
package conformance
