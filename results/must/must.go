// Package must ends a test at the first error of its preparations.
//
// It takes one position: an error in a preparation says nothing about the code under test, and ends the test at once.
package must

import "testing"

// Do ends the test if there was an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns a value, and ends the test if there was an error instead: d := must.Get(store.Read(path))(t).
func Get[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}
