// Package planted holds deliberately broken variants, for tests of the checks that must catch them.
package planted
