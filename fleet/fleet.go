package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"time"

	"ptyctl/fleet/batch"
	"ptyctl/fleet/groups"
	"ptyctl/session/known"
	"ptyctl/session/transfer"
	"ptyctl/term"
)

// A Config configures all runs. Dial and Judge are required.
type Config struct {
	Dial term.Dialer
	// Judge submits the plan for a target to approve, as Dial does before it sends the first byte, and checks that the
	// host keys can be verified. It sends nothing to any host.
	Judge func(ctx context.Context, t term.Target, approve term.Approve) (term.Plan, error)

	Gate      term.Gate
	Journal   term.Journal
	Observers []term.Observer
	Known     *known.Registry // the secrets given to hosts, which no output may show; nil: no secrets
	Room      func() error    // refuses a run for which the system has no room; nil: none is refused

	Here      term.Files       // of this machine, which copies read and write; nil: they are not offered
	FarFiles  transfer.Connect // to the files of hosts; nil: they are not offered
	CopyBytes int64            // of a file that is copied, and of all files that one run collects; 0: 1 GiB

	MaxHosts       int           // in all runs that go on; 0: 1000
	MaxParallel    int           // hosts of a run at a time, if its request names no number; 0: 16
	MaxPerJump     int           // of them behind one jump host; 0: 8
	OutputBytes    int           // kept of all runs; 0: 64 MiB
	ConnectTimeout time.Duration // of a target without one; 0: that of Dial
	Retention      time.Duration // how long a run that has ended is kept; 0: 10 min
	Node           string        // of a cluster, in the ids of runs; empty: there are no other nodes
	Logger         *slog.Logger  // nil: silent
}

// maxRuns is the most runs that are kept, those that go on included.
const maxRuns = 100

// Fleets are the runs of one process. Make them with New.
type Fleets struct {
	c    Config
	life context.Context
	end  context.CancelCauseFunc
	wg   sync.WaitGroup // the runs
	idle idleSet

	mu      sync.Mutex // guards the following
	runs    map[string]*Run
	order   []*Run // oldest first
	hosts   int    // of runs that go on
	closing bool
}

// New makes Fleets without runs.
func New(c Config) *Fleets {
	c.MaxHosts = cmp.Or(c.MaxHosts, 1000)
	c.MaxParallel = cmp.Or(c.MaxParallel, batch.DefaultParallel)
	c.MaxPerJump = cmp.Or(c.MaxPerJump, batch.DefaultPerGate)
	c.CopyBytes = cmp.Or(c.CopyBytes, 1<<30)
	c.OutputBytes = cmp.Or(c.OutputBytes, 64<<20)
	c.Retention = cmp.Or(c.Retention, 10*time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Fleets{c: c, runs: make(map[string]*Run)}
	f.life, f.end = context.WithCancelCause(context.Background())
	return f
}

// MaxHosts returns the most hosts of all runs at a time.
func (f *Fleets) MaxHosts() int { return f.c.MaxHosts }

// MaxParallel returns the number of hosts of a run at a time where its request names none.
func (f *Fleets) MaxParallel() int { return f.c.MaxParallel }

// A Host is one host of a run.
type Host struct {
	Label  string // in answers, unique in a run
	Target term.Target
	Names  []string // further names and addresses of it, which groups.Volatile masks
}

// A Request is a command for many hosts, or a copy. Hosts are required, and one of Command, Argv and Copy.
type Request struct {
	Hosts   []Host
	Command string   // a line for the shell of each host
	Argv    []string // in its place: a program and its arguments, quoted so that no shell changes them
	Copy    *Copy    // in their place: a file

	Rules       batch.Rules
	SkipRefused bool          // leave out hosts that the operator's rules refuse; otherwise one of them stops the run
	Timeout     time.Duration // of the command or the copy on each host; 0: a minute, of a copy 10
	Deadline    time.Duration // of the whole run; 0: an hour
	Normalize   groups.Normalize
}

// Run judges all hosts, and begins the run. It returns before the first host is connected to. If the caller gives up
// before, nothing has been done.
//
// An error is a *term.Error: PolicyDenied if a host is refused, with the facts of that refusal and Refused. The run acts
// for the caller, and does not end with ctx.
func (f *Fleets) Run(ctx context.Context, r Request) (*Run, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if f.c.Room != nil {
		if err := f.c.Room(); err != nil {
			return nil, err
		}
	}
	if r.Copy != nil && f.c.FarFiles == nil {
		return nil, notOffered(term.SettingRemoteFiles)
	}
	run := f.newRun(ctx, r)
	if err := run.judge(ctx); err != nil {
		return nil, err
	}
	err := run.prepare(ctx)
	if err == nil {
		err = f.add(run)
	}
	if err != nil {
		run.cancel(nil)
		run.drop()
		return nil, err
	}
	f.wg.Go(run.work)
	return run, nil
}

// add makes run one of the process's, if there is room for it.
func (f *Fleets) add(run *Run) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return &term.Error{Op: "fleet", Kind: term.Canceled, Err: term.ErrStopping, Msg: "ptyctl is stopping"}
	}
	if n := f.hosts + len(run.hosts); n > f.c.MaxHosts {
		return &term.Error{
			Op: "fleet", Kind: term.LimitExceeded, Facts: term.Facts{
				term.LimitReached{Limit: term.LimitFleetHosts, Value: int64(f.c.MaxHosts)},
			},
			Msg: "too many hosts: " + plural(len(run.hosts), "host") + " beside the " + plural(f.hosts, "host") +
				" of runs that go on",
			Advice: "wait for them, or run on fewer hosts",
		}
	}
	f.runs[run.id] = run
	f.order = append(f.order, run)
	f.hosts += len(run.hosts)
	f.shedLocked()
	return nil
}

// ended lets go of the places of a run, and of its results after a while.
func (f *Fleets) ended(run *Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts -= len(run.hosts)
	f.shedLocked()
	if !f.closing {
		time.AfterFunc(f.c.Retention, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.forgetLocked(run)
		})
	}
}

// shedLocked forgets the oldest runs that have ended while there are too many, or while they keep too much output. The
// last of them stays. Requires f.mu.
func (f *Fleets) shedLocked() {
	held := 0
	for _, run := range f.order {
		held += run.held()
	}
	for i := 0; i < len(f.order)-1; {
		run := f.order[i]
		if !run.isOver() || held <= f.c.OutputBytes && len(f.order) <= maxRuns {
			i++
			continue
		}
		held -= run.held()
		f.forgetLocked(run)
	}
}

// forgetLocked drops a run. Requires f.mu.
func (f *Fleets) forgetLocked(run *Run) {
	delete(f.runs, run.id)
	for i, one := range f.order {
		if one == run {
			f.order = append(f.order[:i:i], f.order[i+1:]...)
			return
		}
	}
}

// Get returns a run of the caller. Runs of other principals do not exist for it, unless it is the operator.
func (f *Fleets) Get(ctx context.Context, id string) (*Run, error) {
	f.mu.Lock()
	run := f.runs[id]
	f.mu.Unlock()
	if run == nil || !run.visible(term.ActorFrom(ctx)) {
		return nil, &term.Error{
			Op: "fleet", Kind: term.NotFound, Reason: term.ReasonNoFleet,
			Msg: "there is no run " + term.ForeignLine(id, 64) + ", or no longer: its results are kept for " +
				f.c.Retention.String(),
		}
	}
	return run, nil
}

// List returns the runs of the caller, oldest first.
func (f *Fleets) List(ctx context.Context) (list []*Run) {
	by := term.ActorFrom(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, run := range f.order {
		if run.visible(by) {
			list = append(list, run)
		}
	}
	return list
}

// Close ends all runs, and waits for that.
func (f *Fleets) Close() {
	f.mu.Lock()
	f.closing = true
	f.mu.Unlock()
	f.end(term.ErrStopping)
	f.wg.Wait()
	f.idle.close()
}

// newID returns the id of a run: random characters, and the name of the node that has it, if there are others.
func newID(node string) string {
	id := "f-" + strings.ToLower(rand.Text()[:8])
	if node != "" {
		id += "@" + node
	}
	return id
}
