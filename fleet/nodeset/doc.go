// Package nodeset reads and writes sets of host names in the notation of ClusterShell.
//
//	names, err := nodeset.Expand("web[01-03,07].example.net", 1000)
//	// web01.example.net web02.example.net web03.example.net web07.example.net
//	nodeset.Fold(names) // web[01-03,07].example.net
//
// A bracket holds numbers and ranges: [1-5], [01-05] with the width of the numbers kept, [0-10/2] with a step. A
// name may have several brackets. Names are separated by commas or spaces.
//
// Promises:
//   - Expand counts the names before it makes one: web[1-999999999] is an error, and costs nothing.
//   - Expand(Fold(names)) has the same names as names, whatever they are.
//   - Fold writes what nodeset -f of ClusterShell 1.9 writes where names differ in one number, and the same set
//     where they differ in several.
package nodeset
