// Package nodeset reads and writes sets of host names in the notation of ClusterShell.
//
//	names, err := nodeset.Expand("web[01-03,07].example.net", 1000)
//	// web01.example.net web02.example.net web03.example.net web07.example.net
//	nodeset.Fold(names) // web[01-03,07].example.net
//
// A bracket holds numbers and ranges: [1-5], [01-05] where the numbers keep their width, [0-10/2] with a step. A name
// may have several brackets. Names are separated by commas or spaces. An IPv6 address in brackets is
// no range: [2001:db8::1]:22.
//
// Promises:
//   - Expand counts the names before it makes one: web[1-999999999] costs no more than its error.
//   - Expand(Fold(names)) is the same set as names, if each of them is a Name.
//   - If names differ in one number, Fold writes the same as nodeset -f of ClusterShell 1.9.1. If they differ in
//     several, it writes the same set.
package nodeset
