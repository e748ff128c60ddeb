// Package owners records the owner of each session, for a server with clients that come and go while its sessions
// stay.
//
//	r := owners.New(time.Hour)
//	defer r.Close()
//	shim := term.Principal{Transport: "stdio", Shim: "s-k3f9q2zd"}
//	err := r.Join(shim, owners.Place{Dir: "/srv/web", User: "1000"}) // a client has come
//	...
//	r.Gone(shim) // it is gone: its sessions are orphans from now on
//	...
//	r.Leave(shim) // and its calls have ended
//
// A client is a principal with Shim set. A session belongs to the client that has opened it, until its client is gone
// and another at the same place adopts it, or a person gives it to another. Sessions of other principals are never
// orphans.
//
// Guarantees:
//
//   - A session has one owner. Of two clients that adopt it at once, one gets it.
//   - A client that is present keeps its sessions; only a person can take one from it.
//   - No session changes hands by itself.
//   - An orphan ends at the end of its time to live. Close stops the timers, and waits for those that fire.
//   - Nothing polls, and no callback runs under a mutex.
package owners
