// Package nodes finds the hosts that an expression selects.
//
//	book := nodes.Sources{
//		Groups:      map[string]string{"web": "web[01-20].example.net", "front": "@web,lb[1-2]"},
//		Inventories: []string{"/etc/ansible/hosts"},
//	}.Read(ctx)
//	sel, err := book.Select([]string{"@front", "!web07.example.net"}, nodes.DefaultMost)
//	for _, h := range sel.Hosts {
//		fmt.Println(h.Label, h.Target(), h.User, h.Port, h.From)
//	}
//
// An expression is a list of terms, from left to right:
//
//	web[01-20,25].example.net    a nodeset, see package nodeset
//	admin@web[1-3]:2222          with a user and a port; brackets are possible in the port, too
//	@web, @hosts:web             a group of any source, or of one source
//	@*, @hosts:*                 all hosts of all sources, or of one
//	web*, db?                    the known hosts with such names
//	a,b  a!b  a&b                with b, without b, only those that are also in b; a space is a comma
//
// An expression that begins with ! excludes all its terms from the whole list of expressions, wherever it is in it. One
// that begins with & leaves only its hosts of the whole list.
//
// Two hosts are the same for ! and & if their names or addresses are equal, and no user and no port of them differ.
// Of the sources with a group or a host of the same name, the first has it: own groups, inventories in their order,
// genders. Groups of groups are possible in all of them.
//
// Promises:
//   - A group that no source has, a pattern without a host and a group that contains itself are errors. So is a host
//     with an address in a form that cannot be read here.
//   - A source that could not be read is in Selection.Notes, and hides no other source.
//   - The result depends on the expressions and the sources alone: order and names are the same each time.
//   - The cost is bounded: no expression makes more than 100,000 names, also in between.
package nodes
