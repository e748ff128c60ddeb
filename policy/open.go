package policy

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ptyctl/term"
)

// local is the protocol of sessions on this machine.
const local = "local"

// open judges where a caller wants to go, and what is started there.
func (p *Policy) open(ctx context.Context, a term.Action) (term.Ruling, error) {
	t := a.Target
	if t == nil {
		return allowed, &denial{rule: Rule{Name: "policy"}, why: "it is not said what to open"}
	}
	if len(p.rules.Protocols) > 0 && !slices.ContainsFunc(p.rules.Protocols, func(r Rule) bool { return r.Text == t.Protocol }) {
		return allowed, &denial{rule: whole(p.rules.Protocols), part: t.Protocol, why: "this protocol is not allowed", allowed: p.rules.Protocols}
	}
	if t.Protocol == local {
		a.Protocol = local
		return p.run(ctx, a, !t.PTY.Disabled)
	}
	if len(p.rules.Hosts)+len(p.rules.DenyHosts)+len(p.rules.ReadOnlyHosts)+len(p.rules.ExecOnlyHosts) == 0 {
		return allowed, nil
	}
	if err := p.host(t.Host); err != nil {
		return allowed, err
	}
	return allowed, p.way(t)
}

// host judges the name of one host.
func (p *Policy) host(name string) error {
	if rule, ok := host(p.rules.DenyHosts, name); ok {
		return &denial{rule: rule, part: name, why: "this host is denied", allowed: p.rules.Hosts}
	}
	if _, ok := host(p.rules.Hosts, name); !ok && len(p.rules.Hosts) > 0 {
		return &denial{rule: whole(p.rules.Hosts), part: name, why: "no entry allows this host", allowed: p.rules.Hosts}
	}
	return nil
}

// way refuses what would make an allowed name mean another host, and judges the hosts between. The operator's own
// ssh_config is trusted to name the right ones.
func (p *Policy) way(t *term.Target) error {
	rules := slices.Concat(p.rules.Hosts, p.rules.DenyHosts, p.rules.ReadOnlyHosts, p.rules.ExecOnlyHosts)
	refuse := func(field, instead string) error {
		return &denial{rule: whole(rules), part: field, why: "it can lead to another host than the rules were asked about", instead: instead}
	}
	if t.SSH.ConfigPath != "" {
		return refuse("ssh_options.config_path", "leave it out")
	}
	jumps := []string{t.SSH.ProxyJump}
	for i := 0; i < len(t.SSH.ExtraArgs); i++ {
		arg := t.SSH.ExtraArgs[i]
		if len(arg) < 2 || arg[0] != '-' {
			return refuse("ssh_options.extra_args "+cut(arg), "leave it out")
		}
		letters := strings.TrimLeft(arg[1:], "46AaCtTqv")
		if letters == "" {
			continue
		}
		value := letters[1:]
		if value == "" {
			if i++; i == len(t.SSH.ExtraArgs) {
				return nil // which is refused later
			}
			value = t.SSH.ExtraArgs[i]
		}
		switch letters[0] {
		case 'l', 'p', 'i', 'c', 'm', 'b':
		case 'J':
			jumps = append(jumps, value)
		case 'o':
			keyword, argument, _ := strings.Cut(strings.TrimSpace(value), "=")
			if fields := strings.Fields(value); !strings.Contains(value, "=") && len(fields) > 1 {
				keyword, argument = fields[0], fields[1]
			}
			switch keyword = strings.ToLower(strings.TrimSpace(strings.Fields(keyword + " x")[0])); {
			case keyword == "proxyjump":
				jumps = append(jumps, strings.Trim(argument, `" `))
			case harmlessOptions[keyword]:
			default:
				return refuse("ssh_options.extra_args -o "+cut(keyword), "leave it out")
			}
		default:
			return refuse("ssh_options.extra_args -"+letters[:1], "leave it out")
		}
	}
	for _, list := range jumps {
		for hop := range strings.SplitSeq(list, ",") {
			if hop = strings.TrimSpace(hop); hop == "" || hop == "none" {
				continue
			}
			if err := p.host(hopName(hop)); err != nil {
				return err
			}
		}
	}
	if t.SSH.ProxyURL != "" {
		u, err := url.Parse(t.SSH.ProxyURL)
		if err != nil {
			return refuse("ssh_options.proxy_url", "give a valid URL")
		}
		return p.host(u.Hostname())
	}
	return nil
}

// harmlessOptions of ssh_config(5) do not change where a connection leads.
var harmlessOptions = set("addkeystoagent addressfamily batchmode bindaddress bindinterface casignaturealgorithms certificatefile ciphers compression connecttimeout connectionattempts forwardagent hashknownhosts hostbasedauthentication hostkeyalgorithms identitiesonly identityagent identityfile kbdinteractiveauthentication kexalgorithms loglevel macs numberofpasswordprompts passwordauthentication port preferredauthentications pubkeyacceptedalgorithms pubkeyauthentication rekeylimit requesttty sendenv serveralivecountmax serveraliveinterval setenv stricthostkeychecking tcpkeepalive updatehostkeys user userknownhostsfile globalknownhostsfile visualhostkey checkhostip")

// hopName takes the host out of a jump: [user@]host[:port] or ssh://[user@]host[:port].
func hopName(hop string) string {
	hop = strings.TrimPrefix(hop, "ssh://")
	hop = hop[strings.LastIndexByte(hop, '@')+1:]
	if inner, _, ok := strings.Cut(strings.TrimPrefix(hop, "["), "]"); ok && strings.HasPrefix(hop, "[") {
		return inner
	}
	if name, _, ok := strings.Cut(hop, ":"); ok && strings.Count(hop, ":") == 1 {
		return name
	}
	return hop
}

// host returns the first rule that a host's name matches, without regard to case or a last dot.
func host(rules []Rule, name string) (Rule, bool) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	i := slices.IndexFunc(rules, func(r Rule) bool { return newPart(strings.ToLower(r.Text)).must(name) })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// whole names a list of rules, none of which has matched.
func whole(rules []Rule) Rule { return Rule{Name: rules[0].Name, Where: rules[0].Where} }

// A place is a folder or a file on this machine.
type place struct {
	Rule
	path string
}

func places(rules []Rule) []place {
	out := make([]place, len(rules))
	for i, r := range rules {
		out[i] = place{r, identity(r.Text)}
	}
	return out
}

// resolved follows symbolic links, as far as the path exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

// identity is the path by which a program is judged: where symbolic links lead, or, if that is a program that is many by the
// names of its links, the last of those.
func identity(path string) string {
	real := resolved(path)
	switch filepath.Base(real) {
	case "busybox", "toybox", "coreutils":
		return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
	}
	return real
}

// within reports whether path is a place or lies below it.
func within(path, place string) bool {
	rel, err := filepath.Rel(place, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func inside(list []place, path string) (Rule, bool) {
	for _, p := range list {
		if within(path, p.path) {
			return p.Rule, true
		}
	}
	return Rule{}, false
}

// folder judges the working directory of a local session; empty is ptyctl's own.
func (p *Policy) folder(dir string) error {
	if len(p.workDirs) == 0 && p.commands.permissions == nil {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.own, dir)
	}
	real := resolved(dir)
	if _, ok := inside(p.workDirs, real); !ok && len(p.workDirs) > 0 {
		return &denial{rule: whole(p.rules.WorkDirs), part: real, why: "no entry allows this folder", allowed: p.rules.WorkDirs}
	}
	if within(real, resolved(p.own)) {
		return nil
	}
	return p.commands.permissions.folder(real)
}

// program judges where a program of a local session lies. What is no file is a word of the shell that gets it.
// The folder is dir; if that is empty, it is ptyctl's own where known says so.
func (p *Policy) program(name, dir string, known bool) error {
	path := name
	switch {
	case filepath.IsAbs(name):
	case strings.ContainsRune(name, filepath.Separator) && dir == "" && !known:
		return &denial{rule: p.programRule(), part: name, why: "where this path begins is not known", instead: "give the whole path"}
	case strings.ContainsRune(name, filepath.Separator) && filepath.IsAbs(dir):
		path = filepath.Join(dir, name)
	case strings.ContainsRune(name, filepath.Separator):
		path = filepath.Join(p.own, dir, name)
	default:
		found, err := exec.LookPath(name)
		if err != nil && builtins[name] {
			return nil
		}
		if err != nil {
			return &denial{rule: p.programRule(), part: name, why: fmt.Sprintf("there is no such program (%v)", err)}
		}
		path = found
	}
	path = identity(path)
	if rule, ok := inside(p.denyPrograms, path); ok {
		return &denial{rule: rule, part: path, why: "this program is denied", allowed: p.rules.Programs}
	}
	if len(p.programs) == 0 {
		return nil
	}
	if _, ok := inside(p.programs, path); !ok {
		return &denial{rule: whole(p.rules.Programs), part: path, why: "no entry allows this program", allowed: p.rules.Programs}
	}
	if _, err := os.Stat(path); err != nil {
		return &denial{rule: p.programRule(), part: path, why: "there is no such program"}
	}
	return nil
}

func (p *Policy) programRule() Rule {
	if len(p.programs) > 0 {
		return whole(p.rules.Programs)
	}
	return whole(p.rules.DenyPrograms)
}

// builtins are words that shells know by themselves and that run nothing else.
var builtins = set(": alias bg break cd continue declare dirs disown exit export false fg getopts jobs local popd pushd read readonly return set shift shopt times trap true type typeset ulimit umask unalias unset wait")
