package sim

import (
	"fmt"
	"slices"
	"time"
)

// A judge sees all leases, in true time.
type judge struct {
	w       *world
	devices map[string][]*held // acquired and perhaps not over, in this order
	last    map[string]uint64  // the greatest token
}

func newJudge(w *world) *judge {
	return &judge{w: w, devices: make(map[string][]*held), last: make(map[string]uint64)}
}

// A Violation is a promise that was broken.
type Violation struct {
	Seed uint64
	At   time.Duration // true time
	What string
}

func (j *judge) fault(format string, args ...any) {
	j.w.result.Violations = append(j.w.result.Violations, Violation{j.w.c.Seed, j.w.now, fmt.Sprintf(format, args...)})
}

// acquired takes a lease that has just begun.
func (j *judge) acquired(h *held) {
	j.w.result.Acquired++
	former := slices.DeleteFunc(j.devices[h.device], func(f *held) bool {
		return f.over || f.n.clock() >= f.until && j.w.c.Break&NoEnd == 0
	})
	for _, f := range former {
		if left := f.until - f.n.clock(); !f.over && left > 0 {
			j.fault("%s: %s has it %v before the end of the lease of %s", h.device, h.id, left.Round(time.Millisecond), f.id)
		}
	}
	if h.Token <= j.last[h.device] {
		j.fault("%s: token %d comes after token %d", h.device, h.Token, j.last[h.device])
	}
	j.last[h.device] = max(j.last[h.device], h.Token)
	j.devices[h.device] = append(former, h)
	j.look(h.device, "is acquired")
}

// look counts the leases of a device that pass their check. Between two events a check can only begin to fail, so it is
// enough to look after each event that could make one pass.
func (j *judge) look(device, event string) {
	var pass []string
	for _, h := range j.devices[device] {
		if h.runs() && h.check() {
			pass = append(pass, h.id)
		}
	}
	if len(pass) > 1 {
		j.fault("%s %s, and the checks of %q pass", device, event, pass)
	}
}

// thawed looks at the leases of a machine that goes on.
func (j *judge) thawed(n *node) {
	for _, d := range j.w.devices() {
		for _, h := range j.devices[d] {
			if h.n == n {
				j.look(d, "has an owner that goes on")
				break
			}
		}
	}
}

// promise returns done for a call that has just begun, and watches that it is called once and in time.
func (j *judge) promise(n *node, what string, done func(*held, outcome)) func(*held, outcome) {
	began, life, answered := n.monotonic(), n.life, false
	j.w.result.Calls++
	late := func() bool { return n.monotonic()-began > timeout+n.w.c.slack() }
	waited := n.stops
	n.after(timeout+n.w.c.slack(), func() {
		if !answered && !n.dead && n.life == life && n.stops == waited {
			j.fault("%s of %s has no answer after %v", what, n.name, timeout)
		}
	})
	return func(h *held, o outcome) {
		switch {
		case answered:
			j.fault("%s of %s has two answers", what, n.name)
		case late() && n.stops == waited:
			j.fault("%s of %s is answered after %v", what, n.name, n.monotonic()-began)
		}
		answered = true
		if o == unavailable {
			j.w.result.Unavailable++
		}
		done(h, o)
	}
}

// free acquires each console that has no owner, after all faults are over.
func (j *judge) free() {
	for _, d := range j.w.devices() {
		n := j.w.nodes[j.w.random.IntN(len(j.w.nodes))]
		n.acquire(d, func(_ *held, o outcome) {
			if o == unavailable {
				j.fault("%s can be acquired by nobody, after all faults are over", d)
			}
		})
	}
}
