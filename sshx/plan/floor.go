package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ptyctl/sshx/hostkeys"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// This file has the limits that a caller must not loosen. The caller may be a
// model that has read hostile text, so the limits apply to the evaluated
// configuration from any source: an argument, extra arguments, a configuration
// file of the caller, or one that it includes.

// The words for a host key policy, in Options and in ssh_config(5).
var (
	policies = map[string]hostkeys.Policy{
		"strict":     hostkeys.Strict,
		"ask":        hostkeys.Ask,
		"accept_new": hostkeys.AcceptNew,
		"disabled":   hostkeys.Disabled,
	}
	policyWords = map[string]string{
		"yes":        "strict",
		"ask":        "ask",
		"accept-new": "accept_new",
		"no":         "disabled",
		"off":        "disabled",
	}
	strictness = map[string]int{"strict": 3, "ask": 2, "accept_new": 1, "disabled": 0}
)

// floor returns the requested policy if the operator's floor allows it. A weaker
// request of the caller is refused; a weaker setting of the operator's own
// ssh_config is raised, with a warning.
func (p *Planning) floor(want string, from sshconfig.Origin) (hostkeys.Policy, error) {
	policy, ok := policies[want]
	if !ok {
		return 0, &term.Error{
			Kind: term.InvalidArgument,
			Msg:  fmt.Sprintf("host key policy %q does not exist; use strict, ask, accept_new or disabled", want),
			Facts: term.Facts{term.ArgumentFault{
				Field: term.FieldHostKeyPolicy, Allowed: []string{"strict", "ask", "accept_new", "disabled"},
			}},
		}
	}
	if strictness[want] >= strictness[p.o.HostKeyFloor] {
		return policy, nil
	}
	// The operator's own setting is no attack: raise it and say so.
	if from.Source == sshconfig.Default || !from.Caller() {
		p.Route.warn(
			fmt.Sprintf(
				"%s: host key policy %s is weaker than the operator allows%s; %s is used",
				from, want, p.o.named(term.SettingHostKeyFloor), p.o.HostKeyFloor,
			),
		)
		return policies[p.o.HostKeyFloor], nil
	}
	advice, reason := "have the operator record the host's key", term.Reason("")
	if p.o.HostKeyFloor == "accept_new" {
		reason = term.ReasonPinOrRecord
		advice = "for a host that is not on record, set SSHOptions.HostKeyFingerprint; " +
			"where the recorded key has changed, have the operator record the new one"
	}
	return 0, &term.Error{
		Kind:   term.PolicyDenied,
		Reason: reason,
		Msg: fmt.Sprintf(
			"host key policy %s (from %s) is weaker than the operator allows, %s", want, from, p.o.HostKeyFloor,
		),
		Advice: advice,
		Facts: term.Facts{
			term.ArgumentFault{Field: term.FieldHostKeyPolicy}, term.Denial{Setting: term.SettingHostKeyFloor},
		},
	}
}

// operatorOnly has the keywords that only the operator's own files may set: each
// of them can make one host pass for another.
var operatorOnly = []string{"HostKeyAlias", "RevokedHostKeys", "NoHostAuthenticationForLocalhost"}

// checkCaller refuses keywords that a caller must not set, and a caller's paths
// outside the allowed folders.
func (p *Planning) checkCaller(cfg *sshconfig.Config) error {
	for _, k := range operatorOnly {
		if at := cfg.Origin(k); at.Caller() {
			return operatorsOwn(
				"%s (from %s) may be set only in the operator's own ssh_config; leave it out",
				k,
				at,
			)
		}
	}
	var paths []sshconfig.Value
	add := func(keyword string, files ...string) {
		if at := cfg.Origin(keyword); at.Caller() {
			for _, f := range files {
				paths = append(paths, sshconfig.Value{Text: f, Origin: at})
			}
			if keyword == "UserKnownHostsFile" || keyword == "GlobalKnownHostsFile" {
				p.Route.warn(
					fmt.Sprintf(
						"host keys were compared with %s (from %s) as well as with the operator's known_hosts",
						keyword,
						at,
					),
				)
			}
		}
	}
	add("UserKnownHostsFile", cfg.UserKnownHostsFiles...)
	add("GlobalKnownHostsFile", cfg.GlobalKnownHostsFiles...)
	add("IdentityAgent", cfg.IdentityAgent)
	add("ForwardAgent", cfg.ForwardAgentSocket)
	for _, v := range append(slices.Clip(cfg.IdentityFiles), cfg.CertificateFiles...) {
		if v.Origin.Caller() {
			paths = append(paths, v)
		}
	}
	for _, v := range paths {
		if err := p.checkPath(term.FieldSSH, v.Text+" (from "+v.Origin.String()+")", v.Text); err != nil {
			return err
		}
	}
	if at := cfg.Origin("IdentityAgent"); (p.o.IdentityAgent != "" || p.o.Agent != nil) && at.Caller() {
		return denied(
			term.FieldSSH,
			term.SettingIdentityAgent,
			"IdentityAgent (from %s) may not be changed: the operator has set it",
			at,
		)
	}
	return nil
}

// checkPaths checks the paths that are fields of the target.
func (p *Planning) checkPaths() error {
	if err := p.checkPath(term.FieldKnownHosts, p.t.SSH.KnownHostsPath, p.t.SSH.KnownHostsPath); err != nil {
		return err
	}
	return p.checkPath(term.FieldConfigPath, p.configPath, p.configPath)
}

// checkPath refuses a path outside CallerPaths. shown is its form in the message.
func (p *Planning) checkPath(field term.Field, shown, path string) error {
	if len(p.o.CallerPaths) == 0 || path == "" || path == "none" || within(path, p.o.CallerPaths) {
		return nil
	}
	return denied(
		field,
		term.SettingCallerPaths,
		"the path %s is outside the folders that the operator allows",
		shown,
	)
}

// denied returns a PolicyDenied error about a field.
func denied(field term.Field, by term.Setting, format string, args ...any) error {
	return &term.Error{
		Kind:  term.PolicyDenied,
		Msg:   fmt.Sprintf(format, args...),
		Facts: term.Facts{term.ArgumentFault{Field: field}, term.Denial{Setting: by}},
	}
}

// operatorsOwn is the refusal of a setting that only the operator's ssh_config may have.
func operatorsOwn(format string, args ...any) error {
	return &term.Error{
		Kind:  term.PolicyDenied,
		Msg:   fmt.Sprintf(format, args...),
		Facts: term.Facts{term.ArgumentFault{Field: term.FieldSSH}, term.Denial{Rule: "operator's ssh_config"}},
	}
}

// within reports whether path, with symbolic links resolved, is in one of the
// folders. The path itself need not exist.
func within(path string, folders []string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		if _, err := os.Lstat(path); err == nil {
			return false // a dangling link: a write through it would create its target
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return false
		}
		real = filepath.Join(dir, filepath.Base(path))
	}
	// Both sides are resolved, so that a symbolic link cannot lead out of a
	// folder.
	for _, f := range folders {
		folder, err := filepath.EvalSymlinks(f)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(folder, real); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
