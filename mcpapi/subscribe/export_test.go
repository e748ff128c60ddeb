package subscribe

// GatherState is how long changes of a session's state are gathered.
const GatherState = gatherState

// Kept returns the state that a Watch of one server keeps: the changed sessions, the watchers, and whether any
// client watches.
func Kept(w *Watch) (changed, watchers int, watching bool) {
	f := (*w.feeds.Load())[0]
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.changed), len(f.watchers), f.watching.Load()
}

// Watched reports whether a client watches a resource; an empty URI means the list of all.
func Watched(w *Watch, uri string) bool {
	f := (*w.feeds.Load())[0]
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.watchers {
		if uri == "" && w.list || w.uris[uri] {
			return true
		}
	}
	return false
}
