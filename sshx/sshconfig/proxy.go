package sshconfig

import (
	"fmt"
	"strings"
)

// proxy sets ProxyJump or ProxyCommand. A ProxyCommand that must not run refuses the host: a
// connection without it would reach another machine.
func (f *finisher) proxy() {
	c := f.c
	if spec := f.text("ProxyJump"); spec != "" && spec != "none" {
		origin := f.origin("ProxyJump")
		if jumps, err := ParseJump(spec); err == nil { // the kind has checked the value
			f.jump("ProxyJump", jumps, origin)
		}
		return
	}
	cmd, origin := f.text("ProxyCommand"), f.origin("ProxyCommand")
	if cmd == "" || strings.EqualFold(cmd, "none") {
		return
	}
	if jumps, ok := jumpFromCommand(cmd, origin); ok {
		f.jump("ProxyCommand", jumps, origin)
		return
	}
	if reason := f.execRefused(origin); reason != "" {
		f.refuse("ProxyCommand", origin, reason+"; use ProxyJump, or ProxyCommand ssh -W %h:%p")
		f.refusals[len(f.refusals)-1].Program = !origin.Caller()
		return
	}
	if f.text("ProxyUseFdpass") == "yes" {
		f.refuse(
			"ProxyUseFdpass",
			f.origin("ProxyUseFdpass"),
			"a ProxyCommand must carry the data itself: set it to no",
		)
	}
	expanded, err := f.expandCommand(cmd, f.t.only(tokensProxy))
	if err != nil {
		f.refuse("ProxyCommand", origin, err.Error())
		return
	}
	c.ProxyCommand = expanded
	c.note("ProxyCommand", expanded)
}

// execRefused returns the reason why a program named at origin must not run, or "".
func (f *finisher) execRefused(origin Origin) string {
	switch {
	case origin.Caller():
		return "what a caller supplies never runs a program"
	case !f.opt.AllowExec:
		return "programs named in ssh_config are not allowed to run here; the operator can allow them"
	}
	return ""
}

// jump expands the tokens of ProxyJump in every part of jumps.
func (f *finisher) jump(keyword string, jumps []Jump, origin Origin) {
	t := f.t.only(tokensProxy)
	var names []string
	for i := range jumps {
		j := &jumps[i]
		parts := []*string{&j.User, &j.Host}
		for n := range j.Overrides {
			parts = append(parts, &j.Overrides[n].Value)
		}
		for _, part := range parts {
			s, err := expand(*part, t, nil)
			if err != nil {
				f.refuse(keyword, origin, err.Error())
				return
			}
			*part = s
		}
		if err := j.validate(); err != nil {
			f.refuse(keyword, origin, err.Error())
			return
		}
		names = append(names, j.String())
	}
	// This error is common: "Host *" with a ProxyJump also matches the jump host. ssh(1) stops
	// there, too.
	if last := jumps[len(jumps)-1]; last.Host == f.c.HostName &&
		(last.Port == 0 && f.c.Port == 22 || last.Port == f.c.Port) &&
		(last.User == "" || last.User == f.c.User) && len(last.Overrides) == 0 {
		f.refuse(
			keyword,
			origin,
			fmt.Sprintf("the host would be reached through itself (%s): "+
				"exclude it, for example with Host !%s", last, f.c.Host),
		)
		return
	}
	f.c.ProxyJump = jumps
	f.c.noteValues("ProxyJump", []Value{{Text: strings.Join(names, ","), Origin: origin}})
}
