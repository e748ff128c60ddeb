// Package address reads the addresses to which connections may be forwarded, and the patterns that allow them.
//
//	to, err := address.Parse("DB1.example.net.:5432") // db1.example.net:5432
//	allow, err := address.ParsePattern("db*.example.net:5432")
//	allow.Matches(to)                                 // true
//
// An Address has one form, and the far side gets exactly this form: so an address cannot be judged in one spelling
// and mean something else in another. A text that a resolver may read as the number of an IPv4 address (127.1,
// 0x7f.1, 2130706433: inet_aton(3)) is refused, and so is every byte that is not printable ASCII.
//
// A name never matches a pattern for addresses, nor an address one for names: the owner of a name decides where it
// leads. The package resolves nothing and does no I/O.
package address
