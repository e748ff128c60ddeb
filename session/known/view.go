package known

import (
	"errors"
	"slices"
	"strconv"
	"sync/atomic"

	"ptyctl/secret/forms"
	"ptyctl/term"
)

// A View is the set of values that one session hides. Its registry makes it.
type View struct {
	r       *Registry
	session string
	set     atomic.Pointer[set] // nil: no value is known

	// Guarded by r.mu:
	hosts   []*host // on the way of the session, the last one where it leads
	own     []*value
	writers int  // that have not ended
	dropped bool // it is forgotten when they have
}

// View returns the View of the session with that id. A nil Registry has nil views.
func (r *Registry) View(session string) *View {
	if r == nil {
		return nil
	}
	return &View{r: r, session: session}
}

// Visit returns a View for the output of a call about a host. Call leave to end it.
func (r *Registry) Visit(place string) (v *View, leave func()) {
	if r == nil {
		return nil, func() {}
	}
	r.mu.Lock()
	r.last++
	v = r.View("visit " + strconv.FormatUint(r.last, 36))
	r.mu.Unlock()
	v.Keep()
	v.At(place)
	return v, v.Drop
}

// Keep lets the registry know of the view: values for its session are hidden from now on, until Drop.
func (v *View) Keep() {
	if v == nil {
		return
	}
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	v.r.views[v.session] = v
}

// Drop forgets the view, once its Writers have ended: a command may still have output after its session has left the
// list. The session's kept output must be gone.
func (v *View) Drop() { v.count(0, true) }

// count adds to the number of the view's writers, and drops it if that is 0 and wanted, or was wanted before.
func (v *View) count(writers int, drop bool) {
	if v == nil {
		return
	}
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	v.writers += writers
	v.dropped = v.dropped || drop
	if v.dropped && v.writers == 0 && v.r.views[v.session] == v {
		v.r.leave(v)
		v.r.expect()
	}
}

// At says that the session leads over a host, or to it, which has these places: see term.Place. The host where it leads
// comes last.
func (v *View) At(places ...string) {
	if v == nil || len(places) == 0 {
		return
	}
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	if v.r.views[v.session] != v {
		return
	}
	v.r.join(v, places)
	var of []*View
	for _, h := range v.hosts {
		if len(h.values) > 0 {
			of = append(of, h.views...)
		}
	}
	v.r.update(of)
}

// Redact is that of the registry.
func (v *View) Redact(value term.RedactedValue) {
	if v != nil {
		v.r.Redact(value)
	}
}

// use replaces the set. v takes over the reference to s.
func (v *View) use(s *set) { v.set.Swap(s).release() }

// acquire returns the set for a moment; nil: no value is known. Its user releases it.
func (v *View) acquire() *set {
	for v != nil {
		s := v.set.Load()
		if s == nil || s.acquire() {
			return s
		}
	}
	return nil
}

// Any reports whether a value is known.
func (v *View) Any() bool { return v != nil && v.set.Load() != nil }

// with calls f with the forms to hide, if there are any.
func (v *View) with(f func(m *forms.Matcher)) {
	if s := v.acquire(); s != nil {
		defer s.release()
		f(s.m)
	}
}

// Bytes returns p, which is complete, with masks. If it shows no value, it is p itself.
func (v *View) Bytes(p []byte) []byte {
	v.with(func(m *forms.Matcher) { p = m.Mask(p) })
	return p
}

// Part is Bytes for p[from:to], which is a part of the text p.
func (v *View) Part(p []byte, from, to int) []byte {
	part := p[from:to]
	v.with(func(m *forms.Matcher) { part = m.MaskPart(p, from, to) })
	return part
}

// Find returns where p, which is complete, shows values, as pairs of a beginning and an end.
func (v *View) Find(p []byte) (parts [][2]int) {
	v.with(func(m *forms.Matcher) { parts = m.Find(p) })
	return parts
}

// String is Bytes for a string.
func (v *View) String(s string) string {
	v.with(func(m *forms.Matcher) { s = m.MaskString(s) })
	return s
}

// Strings is String for each of a list, which is not changed.
func (v *View) Strings(list []string) []string {
	v.with(func(m *forms.Matcher) {
		for i, s := range list {
			if hidden := m.MaskString(s); hidden != s {
				list = slices.Clone(list)
				list[i] = hidden
			}
		}
	})
	return list
}

// Error returns err with masks in its text. It is the same error for errors.Is and errors.As, except that an *Error is a
// copy with masks.
func (v *View) Error(err error) error {
	if err == nil || !v.Any() {
		return err
	}
	text := v.String(err.Error())
	if text == err.Error() {
		return err
	}
	if e, ok := err.(*term.Error); ok { //nolint:errorlint // one that is wrapped stays so
		hidden := *e
		hidden.Msg, hidden.Advice, hidden.Err = v.String(e.Msg), v.String(e.Advice), v.Error(e.Err)
		hidden.Facts = slices.Clone(e.Facts)
		for i, f := range hidden.Facts {
			if q, ok := f.(term.Prompt); ok {
				hidden.Facts[i] = v.Prompt(q)
			}
		}
		return &hidden
	}
	hidden := &hiddenError{text: text, err: err}
	if own, ok := errors.AsType[*term.Error](err); ok {
		hidden.own = v.Error(own).(*term.Error) //nolint:errorlint // Error returns what it got
	}
	return hidden
}

// A hiddenError is an error that shows no value. The wrapped error is only for errors.Is.
type hiddenError struct {
	text string
	err  error
	own  *term.Error // with masks; nil: err has none
}

func (e *hiddenError) Error() string        { return e.text }
func (e *hiddenError) Is(target error) bool { return errors.Is(e.err, target) }

// As finds an *Error with masks, and hides nothing of others: they are compared, not shown.
func (e *hiddenError) As(target any) bool {
	if own, ok := target.(**term.Error); ok && e.own != nil {
		*own = e.own
		return true
	}
	return errors.As(e.err, target)
}

// Prompt returns the question with masks.
func (v *View) Prompt(q term.Prompt) term.Prompt {
	q.Text = v.String(q.Text)
	return q
}

// Event returns the event of an action with masks for the values of all hosts, as the log has them: an action names a host
// before its session is known to lead there. Output has the masks of its session already.
func (v *View) Event(e term.Event) term.Event {
	if v == nil || e.Verb == term.VerbOutput || e.Verb == term.VerbExecOutput {
		return e
	}
	all := &v.r.all
	if !all.Any() {
		return e
	}
	e.Data, e.Detail, e.Command, e.Path = all.Bytes(e.Data), all.String(e.Detail), all.String(e.Command), all.String(e.Path)
	e.Host, e.Plan = all.String(e.Host), all.plan(e.Plan)
	e.Reported, e.Refused, e.Err = all.Error(e.Reported), all.Error(e.Refused), all.Error(e.Err)
	return e
}

// plan returns a copy of the plan with masks. p itself stays unmasked: the connection is made from it.
func (v *View) plan(p *term.Plan) *term.Plan {
	if p == nil {
		return nil
	}
	hidden := *p
	hop := func(h term.PlannedHop) term.PlannedHop {
		h.Alias, h.Host, h.User = v.String(h.Alias), v.String(h.Host), v.String(h.User)
		h.Vouched, h.Names, h.Credentials = v.Strings(h.Vouched), v.Strings(h.Names), v.Strings(h.Credentials)
		return h
	}
	variables := func(list []term.EnvVar) []term.EnvVar {
		list = slices.Clone(list)
		for i, e := range list {
			list[i] = term.EnvVar{Name: v.String(e.Name), Value: v.String(e.Value)}
		}
		return list
	}
	if p.Proxy != nil {
		proxy := hop(*p.Proxy)
		hidden.Proxy = &proxy
	}
	hidden.Hops = slices.Clone(p.Hops)
	for i, h := range hidden.Hops {
		hidden.Hops[i] = hop(h)
	}
	hidden.Env, hidden.CallerEnv = variables(p.Env), variables(p.CallerEnv)
	hidden.RemoteCommand = v.String(p.RemoteCommand)
	return &hidden
}

// Description returns a transport's description of its connection, with masks.
func (v *View) Description(d term.Description) term.Description {
	if !v.Any() {
		return d
	}
	d.ServerBanner, d.ServerVersion = v.String(d.ServerBanner), v.String(d.ServerVersion)
	d.Security, d.NoTerminal, d.Warnings = v.String(d.Security), v.String(d.NoTerminal), v.Strings(d.Warnings)
	return d
}
