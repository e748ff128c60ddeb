package known

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/internal/locked"
	"ptyctl/secret/forms"
	"ptyctl/term"
)

const (
	// oneTime is how long a code is hidden.
	oneTime = 120 * time.Second
	// unused is how long the values of a host are kept that no session leads to.
	unused = 2 * time.Minute
)

// A Registry has the values that were given to sessions and hosts. It implements term.Redactor. Make it with NewRegistry.
type Registry struct {
	mu     sync.Mutex // guards the following, and the fields of views and hosts that say so
	views  map[string]*View
	hosts  map[string]*host // by place
	all    View             // of all values, for the log
	last   uint64           // number of a value
	sets   map[string]*set  // by the numbers of their values; some may be wiped
	timer  *time.Timer      // for the next value to forget; nil: none
	closed bool

	waits atomic.Int32 // long ones, under way or in vain; see inVain
}

// A host is a machine: the places where it is reached, which sessions have found out to be one.
type host struct {
	views  []*View
	values []*value
	since  time.Time // when the last view left, or the first value came without one
}

// A value is a secret that was given.
type value struct {
	number  uint64
	text    []byte
	oneTime bool
	until   time.Time // zero: as long as its host or session is kept
}

// A set finds the values that one or several views hide.
type set struct {
	m    *forms.Matcher
	refs atomic.Int64 // of views and present users; 0: it is wiped
}

// NewRegistry makes a Registry without values.
func NewRegistry() *Registry {
	r := &Registry{views: make(map[string]*View), hosts: make(map[string]*host), sets: make(map[string]*set)}
	r.all.r = r
	return r
}

// Redact implements term.Redactor.
func (r *Registry) Redact(v term.RedactedValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(v.Value) == 0 {
		return
	}
	r.last++
	now := time.Now()
	val := &value{number: r.last, text: locked.Clone(v.Value), oneTime: v.OneTime}
	if v.OneTime {
		val.until = now.Add(oneTime)
	}
	var of []*View
	had := []*value{val} // some may no longer be in any list
	view := r.views[v.Session]
	if view != nil {
		had = append(had, view.own...)
		view.own = withValue(view.own, val)
		of = append(of, view)
	}
	h := r.hosts[v.Host]
	switch {
	case h == nil && v.Host != "":
		h = &host{since: now}
		r.hosts[v.Host] = h
	case h == nil && view != nil && len(view.hosts) > 0:
		h = view.hosts[len(view.hosts)-1] // where its terminal is
	}
	if h != nil {
		had = append(had, h.values...)
		h.values = withValue(h.values, val)
		of = append(of, h.views...)
	}
	r.update(of)
	r.wipe(had)
	r.expect()
}

// withValue returns the values with v, which takes the place of an equal one unless that is hidden for longer.
func withValue(values []*value, v *value) []*value {
	i := slices.IndexFunc(values, func(o *value) bool { return bytes.Equal(o.text, v.text) })
	switch {
	case i < 0:
		return append(values, v)
	case !values[i].until.IsZero() && (v.until.IsZero() || v.until.After(values[i].until)):
		values[i] = v
	}
	return values
}

// join makes the places one host, to which the view leads.
func (r *Registry) join(view *View, places []string) {
	var h *host
	for _, place := range places {
		other := r.hosts[place]
		switch {
		case h == nil && other == nil:
			h = &host{}
		case h == nil:
			h = other
		case other != nil && other != h:
			r.merge(h, other)
		}
		r.hosts[place] = h
	}
	if h == nil || slices.Contains(view.hosts, h) {
		return
	}
	view.hosts, h.views = append(view.hosts, h), append(h.views, view)
}

// merge makes the other host one with h.
func (r *Registry) merge(h, other *host) {
	for place, is := range r.hosts {
		if is == other {
			r.hosts[place] = h
		}
	}
	had := slices.Concat(h.values, other.values)
	for _, v := range other.values {
		h.values = withValue(h.values, v)
	}
	r.wipe(had)
	for _, view := range other.views {
		view.hosts = slices.DeleteFunc(view.hosts, func(is *host) bool { return is == other })
		if !slices.Contains(view.hosts, h) {
			view.hosts, h.views = append(view.hosts, h), append(h.views, view)
		}
	}
}

// leave forgets a view, and the values that no other hides.
func (r *Registry) leave(view *View) {
	delete(r.views, view.session)
	for _, h := range view.hosts {
		h.since = time.Now()
		if h.views = slices.DeleteFunc(h.views, func(v *View) bool { return v == view }); len(h.views) == 0 {
			r.dropHost(h)
		}
	}
	own := view.own
	view.own, view.hosts = nil, nil
	r.wipe(own)
	r.update([]*View{view})
}

func (r *Registry) dropHost(h *host) {
	for place, is := range r.hosts {
		if is == h {
			delete(r.hosts, place)
		}
	}
	values := h.values
	h.values = nil
	r.wipe(values)
}

// wipe overwrites those of the values that no host and no view has. Sets have copies of their own.
func (r *Registry) wipe(values []*value) {
	for _, v := range values {
		used := false
		for _, h := range r.hosts {
			used = used || slices.Contains(h.values, v)
		}
		for _, view := range r.views {
			used = used || slices.Contains(view.own, v)
		}
		if !used {
			clear(v.text)
		}
	}
}

// update has the views hide the values that are known now.
func (r *Registry) update(views []*View) {
	for _, v := range views {
		list := slices.Clone(v.own)
		for _, h := range v.hosts {
			for _, val := range h.values {
				list = withValue(list, val)
			}
		}
		v.use(r.setOf(list))
	}
	var list []*value
	for _, h := range r.hosts {
		for _, val := range h.values {
			list = withValue(list, val)
		}
	}
	for _, v := range r.views {
		for _, val := range v.own {
			list = withValue(list, val)
		}
	}
	r.all.use(r.setOf(list))
}

// setOf returns the set of the values, with a reference for its caller; nil: of none.
func (r *Registry) setOf(values []*value) *set {
	if len(values) == 0 {
		return nil
	}
	slices.SortFunc(values, func(a, b *value) int { return int(a.number) - int(b.number) })
	var key []byte
	list := make([]forms.Value, 0, len(values))
	for _, v := range values {
		key = append(strconv.AppendUint(key, v.number, 36), ' ')
		list = append(list, forms.Value{Text: v.text, Word: v.oneTime || len(v.text) < forms.MinSecret})
	}
	if s := r.sets[string(key)]; s != nil && s.acquire() {
		return s
	}
	for k, s := range r.sets {
		if s.refs.Load() == 0 {
			delete(r.sets, k)
		}
	}
	s := &set{m: forms.New(list)}
	s.refs.Store(1)
	r.sets[string(key)] = s
	return s
}

// acquire takes a reference, unless the set is wiped.
func (s *set) acquire() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release gives a reference back.
func (s *set) release() {
	if s != nil && s.refs.Add(-1) == 0 {
		s.m.Wipe()
	}
}

// expect sets the timer for the next value to forget.
func (r *Registry) expect() {
	var next time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, h := range r.hosts {
		for _, v := range h.values {
			sooner(v.until)
		}
		if len(h.views) == 0 {
			sooner(h.since.Add(unused))
		}
	}
	for _, view := range r.views {
		for _, v := range view.own {
			sooner(v.until)
		}
	}
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if !next.IsZero() && !r.closed {
		r.timer = time.AfterFunc(time.Until(next), r.forget)
	}
}

// forget forgets the expired values.
func (r *Registry) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	drop := func(values []*value) []*value {
		return slices.DeleteFunc(values, func(v *value) bool {
			over := !v.until.IsZero() && !now.Before(v.until)
			if over {
				clear(v.text) // equal in all lists that have it
			}
			return over
		})
	}
	var of []*View
	for _, h := range r.hosts {
		if len(h.views) == 0 && now.Sub(h.since) >= unused {
			r.dropHost(h)
			continue
		}
		before := len(h.values)
		if h.values = drop(h.values); len(h.values) != before {
			of = append(of, h.views...)
		}
	}
	for _, view := range r.views {
		before := len(view.own)
		if view.own = drop(view.own); len(view.own) != before {
			of = append(of, view)
		}
	}
	r.update(of)
	r.expect()
}

// Close forgets all values. Nothing is hidden any more.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, view := range r.views {
		r.leave(view)
	}
	for _, h := range r.hosts {
		r.dropHost(h)
	}
	r.expect()
}
