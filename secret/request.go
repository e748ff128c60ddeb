package secret

import (
	"context"
	"regexp"
	"slices"

	"ptyctl/secret/source"
	"ptyctl/term"
)

// Check implements term.Secrets.
func (s *Store) Check(ctx context.Context, r term.SecretRequest) (term.Ruling, error) {
	d := s.find(r.Name)
	if d == nil {
		return term.Ruling{}, errUnknown
	}
	ruling, refused := d.releases(ctx, r)
	if err := d.mayUse(term.ActorFrom(ctx)); err != nil {
		refused = err
	}
	if refused != nil {
		return term.Ruling{}, s.record(ctx, d, r, refused)
	}
	return ruling, nil
}

// List implements term.Secrets.
func (s *Store) List(ctx context.Context) []term.SecretInfo {
	var list []term.SecretInfo
	for i := range s.list {
		if d := &s.list[i]; d.mayUse(term.ActorFrom(ctx)) == nil {
			list = append(list, d.info())
		}
	}
	return list
}

// find returns the secret with that name, or nil.
func (s *Store) find(name string) *Definition {
	for i := range s.list {
		if s.list[i].Name == name {
			return &s.list[i]
		}
	}
	return nil
}

// errUnknown repeats no name: a caller may have taken a value for one.
var errUnknown = term.Errorf(term.NotFound, "the operator has no secret of that name")

// info is the public description of the secret.
func (d *Definition) info() term.SecretInfo {
	i := term.SecretInfo{
		Name: d.Name, Hint: d.Hint, Uses: slices.Clone(d.Uses), Hosts: d.Hosts, Devices: d.Devices, Local: d.Local,
		Users: d.Users, Commands: d.Listed, Auto: d.Auto, OneTime: d.OneTime,
		Person: source.IsPerson(d.Source) || d.Confirm == ConfirmFirst || d.Confirm == ConfirmAlways,
	}
	for _, p := range d.Prompts {
		i.Prompts = append(i.Prompts, p.String())
	}
	return i
}

// answersNamed is answers for a secret that the caller has named: also for the passphrase of a key, which stays here.
func (d *Definition) answersNamed(q term.Prompt) bool {
	return d.answers(q) || q.Kind == term.PromptPassphrase && !d.OneTime &&
		(len(d.Prompts) == 0 || slices.ContainsFunc(d.Prompts, func(r *regexp.Regexp) bool { return r.MatchString(q.Text) }))
}
