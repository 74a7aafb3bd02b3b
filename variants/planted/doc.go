// Package planted holds variants that are broken on purpose: the checks of a run with faults must catch each of them. Only tests
// import it.
//
// It takes one position: a broken variant is a correct one with one mistake, which does no harm as long as nothing fails. So a
// check that catches it has seen the failure.
package planted
