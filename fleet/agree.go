package fleet

import (
	"context"
	"fmt"
	"strings"

	"ptyctl/term"
)

// The most hosts that one question to a person is about, and the longest list of their names in bytes: a person must
// read all of them.
const (
	maxAsked      = 30
	maxAskedBytes = 1500
)

// agree settles the verdicts that require a person's consent. If ctx carries the consent to this very run, these
// hosts may run. Otherwise it returns one refusal for all of them, which asks for the consent.
func (r *Run) agree(ctx context.Context, verdicts []error) error {
	var asked []int
	var all *term.Consent
	var names []string
	var first error
	for i, err := range verdicts {
		wanted := term.FactOf[term.Denial](err).Consent
		if wanted == nil || term.KindOf(err) != term.PolicyDenied {
			continue
		}
		if all == nil {
			one := *wanted
			all, first = &one, err
		}
		if wanted.Text != all.Text || wanted.Person != all.Person {
			verdicts[i] = r.tooMany(err, "the rules ask about it in another form than on other hosts")
			continue
		}
		asked = append(asked, i)
		names = append(names, r.hosts[i].Label)
	}
	if len(asked) == 0 {
		return nil
	}
	all.Host, all.User = strings.Join(names, ", "), ""
	if len(asked) > maxAsked || len(all.Host) > maxAskedBytes {
		for _, i := range asked {
			verdicts[i] = r.tooMany(verdicts[i], fmt.Sprintf(
				"a person is asked about %d hosts at most, and this is about %d", maxAsked, len(asked)))
		}
		return nil
	}
	given := term.ConsentFrom(ctx)
	if given == nil || given.Protocol != all.Protocol || given.Host != all.Host || given.Text != all.Text ||
		given.Dir != all.Dir || given.Env != all.Env {
		if !r.r.SkipRefused {
			if err := r.others(verdicts, asked); err != nil { // no person is asked about a run that will not begin
				return err
			}
		}
		return &term.Error{
			Op: "fleet", Kind: term.PolicyDenied, Err: first,
			Msg:   fmt.Sprintf("nothing was %s: %s (on %s)", r.what(), reasonOf(first), plural(len(asked), "host")),
			Facts: term.Facts{withConsent(first, all)},
		}
	}
	for _, i := range asked {
		r.hosts[i].consent = term.FactOf[term.Denial](verdicts[i]).Consent
		verdicts[i] = nil
	}
	return nil
}

// others returns the failure for the hosts that are refused for good, or nil.
func (r *Run) others(verdicts []error, asked []int) error {
	may := make(map[int]bool, len(asked))
	for _, i := range asked {
		may[i] = true
	}
	refusals := Refusals{All: len(r.hosts), what: r.what()}
	for i, err := range verdicts {
		if err != nil && !may[i] {
			refusals.Hosts = append(refusals.Hosts, Refusal{r.hosts[i].Label, err})
		}
	}
	if len(refusals.Hosts) == 0 {
		return nil
	}
	return refusals.failure()
}

// tooMany is a refusal that no consent lifts.
func (r *Run) tooMany(err error, why string) error {
	d := term.FactOf[term.Denial](err)
	d.Consent = nil
	return &term.Error{
		Op: "fleet", Kind: term.PolicyDenied, Err: err, Msg: why + ": " + reasonOf(err), Facts: term.Facts{d},
	}
}

// withConsent is the denial of err with another consent.
func withConsent(err error, wanted *term.Consent) term.Denial {
	d := term.FactOf[term.Denial](err)
	d.Consent = wanted
	return d
}
