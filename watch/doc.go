// Package watch serves the watch page: a person sees the terminals of running ptyctl processes in a browser, and steps
// in where the processes allow it.
//
//	s, err := watch.New(watch.Options{Processes: client.Options{...}})
//	l, err := net.Listen("tcp4", "127.0.0.1:0")
//	link := s.Link(l.Addr(), "")
//	err = s.Serve(ctx, l)
//
// A Portal is the same page for people who come over the network, at the HTTP server of the process that they watch.
//
// It is a client of the control sockets, as the commands for people are: it calls their tools, and reads their streams
// (package feed). Folder page has the files for the browser.
//
// Promises:
//
//   - A link works once, within a minute. The browser exchanges it, or a person's token over the network, for a token
//     that is in the memory of the page alone: no cookie, no storage, no address.
//   - A request for another host's name is refused, and one from another origin. No page of another port has an answer.
//   - The browser runs and draws only the files embedded here; the content of terminals is text to it.
//   - A person who has taken a terminal may type until another takes it: each input names its holder, and is refused
//     after that. A holder who goes away loses the terminal within half a minute.
//   - No input is kept, or in a log.
package watch
