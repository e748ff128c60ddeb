// Package nodes finds the hosts that an expression means.
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
//	a,b  a!b  a&b                with b, without b, only those that are also in b
//
// An expression that begins with ! or & applies to all the other expressions of its list, wherever it is among them.
//
// Promises:
//   - A group that no source has, a pattern without a host and a group that contains itself are errors.
//   - An error of one source does not hide the others: it is in Selection.Notes.
//   - The result depends on the expressions and the sources alone: order and names are the same each time.
package nodes
