// Package lazyregexp has regular expressions that are compiled when they are first used. A variable of a package would
// otherwise be compiled at each start of the program, which uses few of them:
//
//	var clock = lazyregexp.New(`\d{1,2}:\d{2}`)
//
// The test TestExpressionsAreLazy of the module finds variables that are not.
package lazyregexp
