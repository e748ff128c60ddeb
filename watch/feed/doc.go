// Package feed is the source of the watch page in the process that has the sessions: a stream of their states, screens
// and calls, for any number of watchers.
//
//	f := feed.New(feed.Options{Mode: "readonly"})
//	manager := session.NewManager(session.Config{Observers: []term.Observer{f}})
//	f.Serve(manager)
//	http.Handle("/watch/stream", f)
//
// A stream is JSON, one object a line: "hello" once; "session", "screen" and "calls" when they have changed; "gone".
// The query session=ID asks for that session alone, with its calls in full.
//
// Promises:
//
//   - Nothing is queued for a watcher. The feed notes the changes since the watcher's last line. When that line is
//     written, the watcher gets the newest state: one that is late or slow skips frames, and costs no memory.
//   - A session never waits for a watcher. Without one, its output costs a look at a counter.
//   - Watching changes nothing: it is no read, no activity, and no version of the screen that a caller compares with.
//   - Frames come at most 30 times a second, and when the program has completed them (DECSET 2026). Secrets are masked
//     as for every caller.
package feed
