// Package fleethosts shows the hosts that an expression means, and where they are written down.
//
//	book := app.HostSources(cfg).Read(ctx)
//	sel, err := book.Select(expressions, most)
//	err = fleethosts.New(book, sel).Print(os.Stdout, width)
package fleethosts
